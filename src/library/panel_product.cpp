#include "library/panel_product.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "support/erf_table.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <unistd.h>

#define TK_AVX512 [[gnu::target("avx512f")]]

namespace tokamak::library {

namespace {

constexpr int kLanes = 16, kTileRows = 8, kTileVectors = 3;  // 24 sums, three of b and one of a: 28 of 32 registers
constexpr int kPanelA = kTileRows, kPanelB = kLanes * kTileVectors;
// For a second cache of 1 MiB:
constexpr int64_t kBlockRows = 512;            // of a that are packed at once,
constexpr int64_t kBlockElements = 192 << 10;  // and how many of their elements: most of that cache
constexpr int64_t kBlockTerms = 1152;    // of a panel of b, which is to lie there too; where it is packed on the way
                                         // a third of them and half the elements, for the next one is fetched there
constexpr int64_t kLeastWork = 1 << 18;  // multiplications for which a thread more is worth while

/// r[i][j] becomes r[j][i].
TK_AVX512 inline void transpose(std::array<__m512, 16>& r) {
  std::array<__m512, 16> t;
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
    r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
    r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
  for (int j = 0; j < 4; ++j) {
    const __m512 even0 = _mm512_shuffle_f32x4(r[j], r[4 + j], 0x88),
                 even1 = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0x88);
    const __m512 odd0 = _mm512_shuffle_f32x4(r[j], r[4 + j], 0xdd),
                 odd1 = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0xdd);
    t[j] = _mm512_shuffle_f32x4(even0, even1, 0x88);
    t[4 + j] = _mm512_shuffle_f32x4(odd0, odd1, 0x88);
    t[8 + j] = _mm512_shuffle_f32x4(even0, even1, 0xdd);
    t[12 + j] = _mm512_shuffle_f32x4(odd0, odd1, 0xdd);
  }
  r = t;
}

__mmask16 firstLanes(int64_t count) {
  return count >= kLanes ? 0xffff : count <= 0 ? 0 : static_cast<__mmask16>((1u << count) - 1);
}

/// The first `count` of eight.
TK_AVX512 inline __m256 loadEight(const float* from, int64_t count) {
  return count >= 8 ? _mm256_loadu_ps(from) : _mm512_castps512_ps256(_mm512_maskz_loadu_ps(firstLanes(count), from));
}

/// to[p][i] = from[i][p] for up to eight rows of `length` terms; up to eight with zeros.
TK_AVX512 void packEightRows(const float* from, int64_t stride, int64_t width, int64_t length, float* to) {
  for (int64_t p = 0; p < length; p += 8) {
    std::array<__m512, 4> r, t;  // rows i and i + 4 beside each other
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const auto row = [&](int64_t j) __attribute__((target("avx512f"))) {
        return _mm256_castps_pd(j < width ? loadEight(from + j * stride + p, length - p) : _mm256_setzero_ps());
      };
      r[i] = _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castpd256_pd512(row(i)), row(i + 4), 1));
    }
    for (int i = 0; i < 4; i += 2) {
      t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
      t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    r = {_mm512_shuffle_ps(t[0], t[2], 0x44), _mm512_shuffle_ps(t[0], t[2], 0xee), _mm512_shuffle_ps(t[1], t[3], 0x44),
         _mm512_shuffle_ps(t[1], t[3], 0xee)};
    // Of term j of the first four and of the second: eight rows of it, and of the next one.
    t = {_mm512_shuffle_f32x4(r[0], r[1], 0x88), _mm512_shuffle_f32x4(r[2], r[3], 0x88),
         _mm512_shuffle_f32x4(r[0], r[1], 0xdd), _mm512_shuffle_f32x4(r[2], r[3], 0xdd)};
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j)
      if (p + 2 * j < length) _mm512_mask_storeu_ps(to + (p + 2 * j) * 8, firstLanes((length - p) * 8 - j * 16), t[j]);
  }
}

/// to[p][i] = from[i][p] for `width` rows of `length` terms; up to `panel` with zeros.
TK_AVX512 void packRows(const float* from, int64_t stride, int64_t width, int64_t length, float* to, int64_t panel) {
  if (panel == 8) return packEightRows(from, stride, width, length, to);
  for (int64_t i = 0; i < panel; i += kLanes)
    for (int64_t p = 0; p < length; p += kLanes) {
      const __mmask16 mask = firstLanes(length - p);
      std::array<__m512, 16> r;
#pragma GCC unroll 16
      for (int64_t j = 0; j < kLanes; ++j)
        r[j] = i + j < width ? _mm512_maskz_loadu_ps(mask, from + (i + j) * stride + p) : _mm512_setzero_ps();
      transpose(r);
#pragma GCC unroll 16
      for (int64_t j = 0; j < kLanes; ++j)
        if (p + j < length) _mm512_store_ps(to + (p + j) * panel + i, r[j]);
    }
}

/// to[p][i] = from[p][i] for `width` columns of `length` terms; up to `panel` with zeros.
TK_AVX512 void packColumns(const float* from, int64_t stride, int64_t width, int64_t length, float* to, int64_t panel) {
  for (int64_t p = 0; p < length; ++p)
    for (int64_t i = 0; i < panel; i += kLanes)
      _mm512_mask_storeu_ps(to + p * panel + i, firstLanes(panel - i),
                            _mm512_maskz_loadu_ps(firstLanes(width - i), from + p * stride + i));
}

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

/// What becomes of the sums of a tile: max(least, old + sum + added), written to c. Rows of `old` are `oldStride`
/// apart, those of `added` and c `stride`; null pointers are not there. Of the last vector only the lanes of `last`.
struct TileEnd {
  const float* old;
  const float* added;
  float* c;
  int64_t oldStride, stride;
  float least;
  __mmask16 last;
};

/// a[Rows, length] by b[length, 16 * Vectors].
template <int Rows, int Vectors>
TK_AVX512 void tile(const float* a, const float* b, int64_t length, const TileEnd& end) {
  __m512 sums[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) {
      sums[r][v] = _mm512_setzero_ps();
      _mm_prefetch(reinterpret_cast<const char*>(end.c + r * end.stride + int64_t{v} * kLanes), _MM_HINT_T0);
    }
#pragma GCC unroll 2
  for (int64_t p = 0; p < length; ++p, a += kPanelA, b += kPanelB) {
    __m512 columns[Vectors];
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) columns[v] = _mm512_load_ps(b + int64_t{v} * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const __m512 x = _mm512_set1_ps(a[r]);
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v) sums[r][v] = _mm512_fmadd_ps(x, columns[v], sums[r][v]);
    }
  }
  if (end.old) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v)
        sums[r][v] = _mm512_add_ps(_mm512_maskz_loadu_ps(v + 1 < Vectors ? 0xffff : end.last,
                                                         end.old + r * end.oldStride + int64_t{v} * kLanes),
                                   sums[r][v]);
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

using Tile = void (*)(const float*, const float*, int64_t, const TileEnd&);

template <int... Index>
constexpr auto makeTiles(std::integer_sequence<int, Index...>) {
  return std::array<Tile, sizeof...(Index)>{&tile<Index / kTileVectors + 1, Index % kTileVectors + 1>...};
}
constexpr auto kTiles = makeTiles(std::make_integer_sequence<int, kTileRows * kTileVectors>{});

/// `width` rows of a or columns of b, and `length` of their terms, which lie in a row or each in one of its own.
struct Panel {
  const float* from;
  int64_t stride, width, length;
  bool termsInRows;

  void pack(float* to, int64_t panel) const {
    (termsInRows ? packRows : packColumns)(from, stride, width, length, to, panel);
  }
  /// The `part`-th of `parts` shares of it.
  void fetch(int64_t part, int64_t parts) const {
    const int64_t rows = termsInRows ? width : length, lines = ((termsInRows ? length : width) + kLanes - 1) / kLanes;
    const int64_t begin = part * rows * lines / parts, end = (part + 1) * rows * lines / parts;
    const float* row = from + begin / lines * stride;
    for (int64_t i = begin, line = begin % lines; i < end; ++i) {
      _mm_prefetch(reinterpret_cast<const char*>(row + line * kLanes), _MM_HINT_T1);
      if (++line == lines) line = 0, row += stride;
    }
  }
};

/// How the result is shared out: each thread takes `rows` by `columns` of it.
struct Grid {
  int64_t down = 1, across = 1, rows = 0, columns = 0;
};

int64_t roundUp(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

/// MiB of the second cache of a core; one where nobody knows.
int64_t secondCache() {
  static const int64_t bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return std::clamp<int64_t>(bytes >> 20, 1, 4);
}

/// As even as can be, with the least copying.
Grid planGrid(const PanelProduct& x, int64_t threads) {
  Grid best;
  double least = INFINITY;
  for (int64_t down = 1; down <= threads; ++down) {
    Grid grid{.down = down, .across = threads / down};
    grid.rows = roundUp((x.m + grid.down - 1) / grid.down, kPanelA);
    grid.columns = roundUp((x.n + grid.across - 1) / grid.across, kPanelB);
    const double cost =
        double(grid.rows) * double(grid.columns) + 8.0 * double(grid.rows + (x.packedB ? 0 : grid.columns));
    if (cost < least) best = grid, least = cost;
  }
  return best;
}

/// Columns from `column` on, as many as a panel has, and their terms [begin, end).
Panel panelOf(const PanelProduct& x, int64_t column, int64_t begin, int64_t end) {
  const int64_t at = x.transposeB ? column * x.strideB + begin : begin * x.strideB + column;
  return {x.b + at, x.strideB, std::min<int64_t>(kPanelB, x.n - column), end - begin, x.transposeB};
}

/// Where packB puts the panel of a column: term after term.
int64_t packedAt(const PanelProduct& x, int64_t column) { return column * x.k; }

struct Job {
  PanelProduct product;
  Grid grid;

  int64_t blockRows() const {
    return std::min(secondCache() * (product.packedB ? kBlockRows / 2 : kBlockRows), grid.rows);
  }
  int64_t blockTerms() const {
    const int64_t terms = product.packedB ? kBlockTerms : kBlockTerms / 3;
    const int64_t elements = secondCache() * (product.packedB ? kBlockElements : kBlockElements / 2);
    const int64_t most = std::min(terms, elements / blockRows());
    return std::min(product.k, std::max<int64_t>(1, most / product.length) * product.length);
  }
  int64_t scratchBytes() const {
    return static_cast<int64_t>(sizeof(float)) * blockTerms() * (kPanelB + roundUp(blockRows(), kPanelA));
  }
  int64_t lengthAt(int64_t begin) const { return std::min(product.length, product.k - begin); }

  /// Rows [row, rowEnd) by columns [column, columnEnd) over terms [begin, end).
  void runBlock(int64_t row, int64_t rowEnd, int64_t column, int64_t columnEnd, int64_t begin, int64_t end,
                float* scratch) const {
    float *const panelB = scratch, *const panelsA = scratch + kPanelB * blockTerms();
    packA(row, rowEnd, begin, end, panelsA);
    for (int64_t c = column; c < columnEnd; c += kPanelB) {
      const float* b = panelB;
      if (product.packedB)
        b = product.packedB + packedAt(product, c) + begin * kPanelB;
      else
        panelOf(product, c, begin, end).pack(panelB, kPanelB);
      const bool fetches = c + kPanelB < columnEnd;
      const Panel following = !fetches          ? Panel{}
                              : product.packedB ? Panel{b + kPanelB * product.k, kPanelB, kPanelB, end - begin, false}
                                                : panelOf(product, c + kPanelB, begin, end);
      const int64_t tiles = (rowEnd - row + kTileRows - 1) / kTileRows;
      for (int64_t t = 0; t < tiles; ++t) {
        if (fetches) following.fetch(t, tiles);
        runTile(row + t * kTileRows, rowEnd, c, begin, end, panelsA + t * kPanelA * (end - begin), b);
      }
    }
  }

  void packA(int64_t row, int64_t rowEnd, int64_t begin, int64_t end, float* to) const {
    const PanelProduct& x = product;
    for (int64_t i = row; i < rowEnd; i += kPanelA) {
      const float* from = x.transposeA ? x.a + begin * x.strideA + i : x.a + i * x.strideA + begin;
      const Panel panel{from, x.strideA, std::min<int64_t>(kPanelA, rowEnd - i), end - begin, !x.transposeA};
      panel.pack(to + (i - row) * panel.length, kPanelA);
    }
  }

  /// One tile over all of the terms: what one part of them gives waits in the cache for the next.
  void runTile(int64_t row, int64_t rowEnd, int64_t column, int64_t begin, int64_t end, const float* a,
               const float* b) const {
    const PanelProduct& x = product;
    const int64_t rows = std::min<int64_t>(kTileRows, rowEnd - row), width = std::min<int64_t>(kPanelB, x.n - column);
    const int64_t vectors = (width + kLanes - 1) / kLanes, to = row * x.n + column;
    alignas(64) float between[kTileRows * kPanelB];
    TileEnd out{.old = begin > 0 ? x.c + to
                       : x.bias  ? x.bias + column
                                 : nullptr,
                .added = nullptr,
                .c = between,
                .oldStride = begin > 0 ? x.n : 0,
                .stride = kPanelB,
                .least = -INFINITY,
                .last = firstLanes(width - (vectors - 1) * kLanes)};
    for (int64_t p = begin; p < end; p += x.length) {
      if (p + x.length >= end) out.c = x.c + to, out.stride = x.n;
      if (p + x.length >= x.k) {
        if (x.added) out.added = x.added + to;
        if (x.activation == PanelActivation::relu) out.least = 0;
      }
      kTiles[(rows - 1) * kTileVectors + vectors - 1](a + (p - begin) * kPanelA, b + (p - begin) * kPanelB, lengthAt(p),
                                                      out);
      out.old = between, out.oldStride = kPanelB;
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
    const int64_t row = cell / grid.across * grid.rows, column = cell % grid.across * grid.columns;
    const int64_t rowEnd = std::min(x.m, row + grid.rows), columnEnd = std::min(x.n, column + grid.columns);
    for (int64_t i = row; i < rowEnd; i += blockRows())
      for (int64_t begin = 0; begin < x.k; begin += blockTerms())
        runBlock(i, std::min(rowEnd, i + blockRows()), column, columnEnd, begin, std::min(x.k, begin + blockTerms()),
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

void packB(const PanelProduct& product, float* to) {
  for (int64_t column = 0; column < product.n; column += kPanelB)
    panelOf(product, column, 0, product.k).pack(to + packedAt(product, column), kPanelB);
}

}  // namespace tokamak::library

#else

namespace tokamak::library {

bool hasPanelProduct() { return false; }
void runPanelProduct(const PanelProduct&, const KernelHost&) {}
int64_t packedBytes(int64_t, int64_t) { return 0; }
void packB(const PanelProduct&, float*) {}

}  // namespace tokamak::library
#endif
