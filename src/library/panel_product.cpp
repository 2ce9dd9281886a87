#include "library/panel_product.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "support/erf_table.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <unistd.h>

#include "library/panel_pack.h"

#define TK_AVX512 [[gnu::target("avx512f")]]

namespace tokamak::library {

namespace {

// For a second cache of 1 MiB:
constexpr int64_t kBlockRows = 512;            // of a that are packed at once,
constexpr int64_t kBlockElements = 192 << 10;  // and how many of their elements: most of that cache
constexpr int64_t kBlockTerms = 1152;      // of a panel of b, which is to lie there too; where it is packed on the way
                                           // a third of them and half the elements, for the next one is fetched there
constexpr int64_t kFewColumns = 256;       // of b, for which rows of a are read where they lie
constexpr int64_t kLeastWork = 1 << 18;    // multiplications for which a thread more is worth while
constexpr int64_t kLeastPacked = 1 << 15;  // elements of b for which it is to pack them
constexpr int64_t kMostPacked = 1 << 20;   // and those that are packed before a product at most

/// 0.5 x (1 + erf(x / sqrt 2)), the error function by a polynomial for each sixteenth of its arguments.
TK_AVX512 inline __m512 gelu(__m512 x) {
  const auto all = [](double value)
                       __attribute__((target("avx512f"))) { return _mm512_set1_ps(static_cast<float>(value)); };
  const __m512 y = _mm512_mul_ps(x, all(0.70710678118654752)), big = all(0x1.8p23);
  const __m512 a = _mm512_min_ps(all(erfIsOne), _mm512_abs_ps(y));  // the second where one is NaN
  const __m512 sum = _mm512_fmadd_ps(a, all(1 / erfSpacing), big);
  const __m512 t = _mm512_fnmadd_ps(_mm512_sub_ps(sum, big), all(erfSpacing), a);
  const auto coefficients = [&](int power) __attribute__((target("avx512f"))) {
    return _mm512_permutexvar_ps(_mm512_castps_si512(sum), _mm512_loadu_ps(erfTable[power]));
  };
  __m512 p = coefficients(5);
#pragma GCC unroll 5
  for (int power = 4; power >= 0; --power) p = _mm512_fmadd_ps(p, t, coefficients(power));
  const __m512 size = _mm512_min_ps(all(1), _mm512_mul_ps(p, a));
  const __m512i sign = _mm512_set1_epi32(INT32_MIN);  // bits of y where it is set, of the size elsewhere
  const __m512 erf =
      _mm512_castsi512_ps(_mm512_ternarylogic_epi32(sign, _mm512_castps_si512(y), _mm512_castps_si512(size), 0xca));
  return _mm512_mul_ps(_mm512_mul_ps(x, all(0.5)), _mm512_add_ps(all(1), erf));
}

/// What becomes of the sums of a tile. They are added to those so far, `between`, or the first of them to `old`; the
/// last of them are then scaled, shifted, added to and cut off below `least`, and go to c. Rows of `old` are
/// `oldStride` apart, those of `added` and c `stride`; null pointers are not there. Of the last vector only the lanes
/// of `last`.
struct TileEnd {
  float* between = nullptr;  // by vectors
  bool begins = true, ends = false;
  const float* old = nullptr;
  const float* scale = nullptr;
  const float* shift = nullptr;
  const float* added = nullptr;
  float* c = nullptr;
  int64_t oldStride = 0, stride = 0;
  float least = -INFINITY;
  __mmask16 last = 0xffff;
};

/// a[Rows, length] by b[length, 16 * Vectors]. a: where each of its rows begins or, if it is packed, where all do.
template <bool Packed, int Rows, int Vectors>
TK_AVX512 void tile(const float* const* a, const float* b, int64_t length, const TileEnd& end) {
  __m512 sums[Rows][Vectors];
  const float* from[Rows];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) from[r] = a[Packed ? 0 : r];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) sums[r][v] = _mm512_setzero_ps();
  for (const float* wanted : std::array<const float*, 2>{end.ends ? end.c : nullptr, end.ends ? end.added : nullptr})
    if (wanted)
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 3
        for (int v = 0; v < Vectors; ++v)
          _mm_prefetch(reinterpret_cast<const char*>(wanted + r * end.stride + int64_t{v} * kLanes), _MM_HINT_T0);
#pragma GCC unroll 2
  for (int64_t p = 0; p < length; ++p, b += kPanelB) {
    __m512 columns[Vectors];
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) columns[v] = _mm512_load_ps(b + int64_t{v} * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const __m512 x = _mm512_set1_ps(Packed ? from[0][p * kPanelA + r] : from[r][p]);
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v) sums[r][v] = _mm512_fmadd_ps(x, columns[v], sums[r][v]);
    }
  }
  if (!end.begins) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v)
        sums[r][v] = _mm512_add_ps(_mm512_load_ps(end.between + int64_t{r * Vectors + v} * kLanes), sums[r][v]);
  } else if (end.old) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v)
        sums[r][v] = _mm512_add_ps(_mm512_maskz_loadu_ps(v + 1 < Vectors ? 0xffff : end.last,
                                                         end.old + r * end.oldStride + int64_t{v} * kLanes),
                                   sums[r][v]);
  }
  if (!end.ends) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v) _mm512_store_ps(end.between + int64_t{r * Vectors + v} * kLanes, sums[r][v]);
    return;
  }
  if (end.scale || end.shift) {
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) {
      const auto column = [&](const float* from, float absent) __attribute__((target("avx512f"))) {
        const __mmask16 mask = v + 1 < Vectors ? 0xffff : end.last;
        return from ? _mm512_maskz_loadu_ps(mask, from + int64_t{v} * kLanes) : _mm512_set1_ps(absent);
      };
      const __m512 scale = column(end.scale, 1), shift = column(end.shift, -0.0F);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) sums[r][v] = _mm512_fmadd_ps(sums[r][v], scale, shift);
    }
  }
  if (end.added) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v)
        sums[r][v] = _mm512_add_ps(sums[r][v], _mm512_maskz_loadu_ps(v + 1 < Vectors ? 0xffff : end.last,
                                                                     end.added + r * end.stride + int64_t{v} * kLanes));
  }
  const __m512 least = _mm512_set1_ps(end.least);
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v)
      _mm512_mask_storeu_ps(end.c + r * end.stride + int64_t{v} * kLanes, v + 1 < Vectors ? 0xffff : end.last,
                            _mm512_max_ps(least, sums[r][v]));  // the second where one is NaN
}

/// gelu of a tile that has just been written.
TK_AVX512 void applyGelu(int64_t rows, int64_t vectors, const TileEnd& end) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v) {
      float* const at = end.c + r * end.stride + v * kLanes;
      const __mmask16 mask = v + 1 < vectors ? 0xffff : end.last;
      _mm512_mask_storeu_ps(at, mask, gelu(_mm512_maskz_loadu_ps(mask, at)));
    }
}

using Tile = void (*)(const float* const*, const float*, int64_t, const TileEnd&);

template <bool Packed, int... Index>
constexpr auto makeTiles(std::integer_sequence<int, Index...>) {
  return std::array<Tile, sizeof...(Index)>{&tile<Packed, Index / kTileVectors + 1, Index % kTileVectors + 1>...};
}
using Tiles = std::make_integer_sequence<int, kTileRows * kTileVectors>;
constexpr std::array kTiles = {makeTiles<false>(Tiles{}), makeTiles<true>(Tiles{})};

/// How the result is shared out: each thread takes `rows` by the columns of `panels`.
struct Grid {
  int64_t down = 1, across = 1, rows = 0, panels = 0;
};

int64_t roundUp(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

/// MiB of the second cache of a core; one where nobody knows.
int64_t secondCache() {
  static const int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return std::clamp<int64_t>(bytes >> 20, 1, 4);
}

int64_t panelCount(int64_t n) { return (n + kPanelB - 1) / kPanelB; }

/// The columns of a panel begin here; those of one that would have few at the end share theirs with the one before.
int64_t panelStart(int64_t n, int64_t panel) {
  const int64_t last = panelCount(n) - 1, two = n - (last - 1) * kPanelB;
  if (panel > last) return n;
  return panel == last && last > 0 && two <= int64_t{4} * kLanes ? n - two + int64_t{2} * kLanes : panel * kPanelB;
}
int64_t panelWidth(int64_t n, int64_t panel) { return panelStart(n, panel + 1) - panelStart(n, panel); }

/// As even as can be, with the least copying.
Grid planGrid(const PanelProduct& x, int64_t threads) {
  Grid best;
  double least = INFINITY;
  for (int64_t down = 1; down <= threads; ++down) {
    Grid grid{.down = down, .across = threads / down};
    grid.rows = roundUp((x.m + grid.down - 1) / grid.down, kPanelA);
    grid.panels = (panelCount(x.n) + grid.across - 1) / grid.across;
    const auto columns = static_cast<double>(std::min(x.n, grid.panels * kPanelB));
    const double cost = double(grid.rows) * columns + 8.0 * (double(grid.rows) + (x.packedB ? 0 : columns));
    if (cost < least) best = grid, least = cost;
  }
  return best;
}

/// Terms [begin, end) of a panel of b.
Panel panelOf(const PanelProduct& x, int64_t panel, int64_t begin, int64_t end) {
  const int64_t column = panelStart(x.n, panel);
  const int64_t at = x.transposeB ? column * x.strideB + begin : begin * x.strideB + column;
  return {x.b + at, x.strideB, panelWidth(x.n, panel), end - begin, x.transposeB};
}

/// Where packB puts it: term after term.
int64_t packedAt(const PanelProduct& x, int64_t panel) { return panel * kPanelB * x.k; }

/// Whether rows of a are read where they lie: packed, they are read faster, which few columns do not make up for.
bool readsRows(const PanelProduct& x) {
  if (x.transposeA || x.n > kFewColumns) return false;
  return !x.image || (!takesRuns(*x.image) && x.image->channels >= kLanes);
}

struct Job {
  PanelProduct product;
  Grid grid;
  bool rowsInPlace = readsRows(product);

  int64_t blockRows() const {
    return std::min(secondCache() * (product.packedB ? kBlockRows / 2 : kBlockRows), grid.rows);
  }
  /// Blocks end where sums do, whatever their size.
  int64_t unit() const { return rowsInPlace && product.image ? product.image->channels : product.length; }
  int64_t blockTerms() const {
    const int64_t terms = product.packedB ? kBlockTerms : kBlockTerms / 3;
    const int64_t elements = secondCache() * (product.packedB ? kBlockElements : kBlockElements / 2);
    const int64_t most = std::min(terms, elements / blockRows());
    return std::min(product.k, std::max<int64_t>(1, most / unit()) * unit());
  }
  int64_t blockTiles() const { return (blockRows() + kTileRows - 1) / kTileRows; }
  /// Elements between the rows of an image that are there and those that are not, and pointers to rows.
  int64_t zeros() const { return roundUp(product.length, kLanes); }
  int64_t scratchBytes() const {
    int64_t bytes = static_cast<int64_t>(sizeof(float)) * blockTerms() * kPanelB;
    if (!rowsInPlace)
      bytes += static_cast<int64_t>(sizeof(float)) * blockTerms() * blockTiles() * kPanelA;
    else if (product.image)
      bytes += static_cast<int64_t>(sizeof(float)) * zeros() +
               static_cast<int64_t>(sizeof(RowPointers)) * blockTerms() / unit() * blockTiles();
    return bytes;
  }
  /// Where the sum ends that begins with this term.
  int64_t sumEnd(int64_t begin) const {
    const int64_t end = std::min(begin + product.length, product.k);
    return unit() == product.length ? end : std::min(end, (begin / unit() + 1) * unit());
  }

  /// Rows [row, rowEnd) by panels [panel, panelEnd) over terms [begin, end).
  void runBlock(int64_t row, int64_t rowEnd, int64_t panel, int64_t panelEnd, int64_t begin, int64_t end,
                float* scratch) const {
    float *const panelB = scratch, *const a = scratch + kPanelB * blockTerms();
    prepareA(row, rowEnd, begin, end, a);
    for (int64_t c = panel; c < panelEnd; ++c) {
      const float* b = panelB;
      if (product.packedB)
        b = product.packedB + packedAt(product, c) + begin * kPanelB;
      else
        panelOf(product, c, begin, end).pack(panelB, kPanelB, {});
      const bool fetches = c + 1 < panelEnd;
      const Panel following = !fetches          ? Panel{}
                              : product.packedB ? Panel{b + kPanelB * product.k, kPanelB, kPanelB, end - begin, false}
                                                : panelOf(product, c + 1, begin, end);
      const int64_t tiles = (rowEnd - row + kTileRows - 1) / kTileRows;
      for (int64_t t = 0; t < tiles; ++t) {
        if (fetches) following.fetch(t, tiles);
        runTile(row, t, rowEnd, c, begin, end, a, b);
      }
    }
  }

  /// What tiles read of a, into `to`.
  void prepareA(int64_t row, int64_t rowEnd, int64_t begin, int64_t end, float* to) const {
    const PanelProduct& x = product;
    if (rowsInPlace && !x.image) return;
    if (rowsInPlace) std::fill_n(to, zeros(), 0.0F);
    for (int64_t i = row; i < rowEnd; i += kPanelA) {
      const int64_t width = std::min<int64_t>(kPanelA, rowEnd - i);
      float* const panelTo = to + (i - row) * (end - begin);
      if (rowsInPlace) {
        RowPointers* at = rowPointers(to) + (i - row) / kPanelA * ((end - begin) / unit());
        ImageRows rows(*x.image, x.a, i, width);
        for (int64_t p = begin; p < end; p += unit()) *at++ = rows.at(p / unit(), 0);
      } else if (x.image) {
        ImageRows(*x.image, x.a, i, width).pack(begin, end, panelTo);
      } else {
        const float* from = x.transposeA ? x.a + begin * x.strideA + i : x.a + i * x.strideA + begin;
        Panel{from, x.strideA, width, end - begin, !x.transposeA}.pack(panelTo, kPanelA, {});
      }
    }
  }
  RowPointers* rowPointers(float* prepared) const { return reinterpret_cast<RowPointers*>(prepared + zeros()); }

  /// Rows of tile `t`, from term p of [begin, end) on.
  RowPointers rowsAt(int64_t row, int64_t t, int64_t rowEnd, int64_t begin, int64_t end, int64_t p, float* a) const {
    const PanelProduct& x = product;
    if (!rowsInPlace) return {a + t * kPanelA * (end - begin) + (p - begin) * kPanelA};
    RowPointers out{};
    if (x.image) {
      out = rowPointers(a)[t * ((end - begin) / unit()) + (p - begin) / unit()];
      for (const float*& from : out) from = from ? from + p % unit() : a;
    } else {
      const int64_t first = row + t * kTileRows;
      for (int64_t i = 0; i < std::min<int64_t>(kTileRows, rowEnd - first); ++i)
        out[i] = x.a + (first + i) * x.strideA + p;
    }
    return out;
  }

  /// One tile over all of the terms: what one part of them gives waits in the cache for the next.
  void runTile(int64_t blockRow, int64_t t, int64_t rowEnd, int64_t panel, int64_t begin, int64_t end, float* a,
               const float* b) const {
    const PanelProduct& x = product;
    const int64_t row = blockRow + t * kTileRows, column = panelStart(x.n, panel);
    const int64_t rows = std::min<int64_t>(kTileRows, rowEnd - row), width = panelWidth(x.n, panel);
    const int64_t vectors = (width + kLanes - 1) / kLanes, to = row * x.n + column;
    alignas(64) float between[kTileRows * kPanelB];
    TileEnd out{.between = between,
                .old = begin > 0 ? x.c + to
                       : x.bias  ? x.bias + column
                                 : nullptr,
                .c = x.c + to,
                .oldStride = begin > 0 ? x.n : 0,
                .stride = x.n,
                .last = firstLanes(width - (vectors - 1) * kLanes)};
    const Tile run = kTiles[!rowsInPlace][(rows - 1) * kTileVectors + vectors - 1];
    for (int64_t p = begin; p < end;) {
      const int64_t next = sumEnd(p);
      out.begins = p == begin, out.ends = next >= end;
      if (next >= x.k) {
        if (x.scale) out.scale = x.scale + column;
        if (x.shift) out.shift = x.shift + column;
        if (x.added) out.added = x.added + to;
        if (x.activation == PanelActivation::relu) out.least = 0;
      }
      run(rowsAt(blockRow, t, rowEnd, begin, end, p, a).data(), b + (p - begin) * kPanelB, next - p, out);
      p = next;
    }
    if (end == x.k && x.activation == PanelActivation::gelu) applyGelu(rows, vectors, out);
  }

  int64_t cells() const { return grid.down * grid.across; }

  /// One of the batch.
  Job item(int64_t i) const {
    Job job = *this;
    PanelProduct& x = job.product;
    x.a += i * x.stepA, x.b += i * x.stepB, x.c += i * x.m * x.n;
    if (x.added) x.added += i * x.m * x.n;
    return job;
  }

  void run(int64_t cell, float* scratch) const {
    const PanelProduct& x = product;
    const int64_t row = cell / grid.across * grid.rows, panel = cell % grid.across * grid.panels;
    const int64_t rowEnd = std::min(x.m, row + grid.rows), panelEnd = std::min(panelCount(x.n), panel + grid.panels);
    for (int64_t i = row; i < rowEnd; i += blockRows())
      for (int64_t begin = 0; begin < x.k; begin += blockTerms())
        runBlock(i, std::min(rowEnd, i + blockRows()), panel, panelEnd, begin, std::min(x.k, begin + blockTerms()),
                 scratch);
  }
};

}  // namespace

bool hasPanelProduct() {
  static const bool has = __builtin_cpu_supports("avx512f");
  return has;
}

void runPanelProduct(const PanelProduct& product, const KernelHost& host) {
  const int64_t worth = product.batch * product.m * product.n * product.k / kLeastWork;
  const int64_t threads = std::clamp<int64_t>(worth, 1, host.countThreads ? host.countThreads(&host) : 1);
  Job job{product, planGrid(product, product.batch < threads ? threads : 1)};
  const auto body = [](void* environment, int64_t begin, int64_t end, std::byte* scratch) {
    const Job& all = *static_cast<const Job*>(environment);
    for (int64_t cell = begin; cell < end; ++cell)
      all.item(cell / all.cells()).run(cell % all.cells(), reinterpret_cast<float*>(scratch));
  };
  const int64_t count = product.batch * job.cells();
  host.parallelFor(&host, count, count / threads, job.scratchBytes(), body, &job);
}

int64_t packedBytes(int64_t n, int64_t k) { return roundUp(n, kPanelB) * k * static_cast<int64_t>(sizeof(float)); }

bool packsFirst(const PanelProduct& product) {
  if (product.image && product.image->taps() > 1) return true;
  return product.m > kBlockRows && product.batch == 1 && product.n * product.k <= kMostPacked;
}

bool packB(const PanelProduct& product, float* to, const KernelHost& host) {
  struct Work {
    const PanelProduct& product;
    float* to;
    std::atomic<bool> finite = true;
  };
  const auto body = [](void* environment, int64_t begin, int64_t end, std::byte*) {
    Work& work = *static_cast<Work*>(environment);
    const PanelProduct& x = work.product;
    const auto whole = [&](int64_t panel) {
      if (!x.image) return panelOf(x, panel, 0, x.k);
      return Panel{x.b + panelStart(x.n, panel) * x.k, x.k, panelWidth(x.n, panel), x.k, true};
    };
    for (int64_t panel = begin; panel < end; ++panel) {
      float* const to = work.to + packedAt(x, panel);
      const Panel from = whole(panel), following = panel + 1 < end ? whole(panel + 1) : Panel{};
      if (!x.image)
        from.pack(to, kPanelB, following);
      else if (!packKernels(from, x.image->channels, to, following))
        work.finite = false;
    }
  };
  Work work{product, to};
  host.parallelFor(&host, panelCount(product.n), std::max<int64_t>(1, kLeastPacked / (kPanelB * product.k)), 0, body,
                   &work);
  return work.finite;
}

}  // namespace tokamak::library

#else

namespace tokamak::library {

bool hasPanelProduct() { return false; }
void runPanelProduct(const PanelProduct&, const KernelHost&) {}
int64_t packedBytes(int64_t, int64_t) { return 0; }
bool packsFirst(const PanelProduct&) { return false; }
bool packB(const PanelProduct&, float*, const KernelHost&) { return true; }

}  // namespace tokamak::library
#endif
