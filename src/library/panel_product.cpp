#include "library/panel_product.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>

#define TK_AVX512 [[gnu::target("avx512f")]]

namespace tokamak::library {

namespace {

constexpr int kLanes = 16, kTileRows = 8, kTileVectors = 3;  // 24 sums, three of b and one of a: 28 of 32 registers
constexpr int kPanelA = 16, kPanelB = kLanes * kTileVectors;
constexpr int64_t kBlockRows = 512, kBlockColumns = 8 * kPanelB;  // of the result
constexpr int64_t kWideResult = 2048;    // columns from which on a result leaves the cache before more terms are added,
constexpr int64_t kPartsAtOnce = 6;      // unless panels of a are kept for so many parts of them
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

/// to[p][i] = from[i][p] for `width` rows of `length` terms; up to `panel` with zeros.
TK_AVX512 void packRows(const float* from, int64_t stride, int64_t width, int64_t length, float* to, int64_t panel) {
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
      _mm512_store_ps(to + p * panel + i, _mm512_maskz_loadu_ps(firstLanes(width - i), from + p * stride + i));
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
      _mm_prefetch(reinterpret_cast<const char*>(end.c + r * end.stride + v * kLanes), _MM_HINT_T0);
    }
  for (int64_t p = 0; p < length; ++p, a += kPanelA, b += kPanelB) {
    __m512 columns[Vectors];
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v) columns[v] = _mm512_load_ps(b + v * kLanes);
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
        sums[r][v] = _mm512_add_ps(
            _mm512_maskz_loadu_ps(v + 1 < Vectors ? 0xffff : end.last, end.old + r * end.oldStride + v * kLanes),
            sums[r][v]);
  }
  if (end.added) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 3
      for (int v = 0; v < Vectors; ++v)
        sums[r][v] = _mm512_add_ps(sums[r][v], _mm512_maskz_loadu_ps(v + 1 < Vectors ? 0xffff : end.last,
                                                                     end.added + r * end.stride + v * kLanes));
  }
  const __m512 least = _mm512_set1_ps(end.least);
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 3
    for (int v = 0; v < Vectors; ++v)
      _mm512_mask_storeu_ps(end.c + r * end.stride + v * kLanes, v + 1 < Vectors ? 0xffff : end.last,
                            _mm512_max_ps(least, sums[r][v]));  // the second where one is NaN
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
    for (int64_t i = part * rows * lines / parts; i < (part + 1) * rows * lines / parts; ++i)
      _mm_prefetch(reinterpret_cast<const char*>(from + i / lines * stride + i % lines * kLanes), _MM_HINT_T1);
  }
};

/// How the result is shared out: each thread takes `rows` by `columns` of it.
struct Grid {
  int64_t down = 1, across = 1, rows = 0, columns = 0;
};

int64_t roundUp(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }

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

/// The panel that begins at `column` and the term `begin`; of a packed b its extents alone.
Panel panelOf(const PanelProduct& x, int64_t column, int64_t begin) {
  const int64_t at = x.transposeB ? column * x.strideB + begin : begin * x.strideB + column;
  return {x.packedB ? nullptr : x.b + at, x.strideB, std::min<int64_t>(kPanelB, x.n - column),
          std::min(x.length, x.k - begin), x.transposeB};
}

/// Where packB puts that panel: all panels of the first terms, then all of the next.
int64_t packedAt(const PanelProduct& x, int64_t column, int64_t begin) {
  return begin * roundUp(x.n, kPanelB) + column * std::min(x.length, x.k - begin);
}

/// Where a thread is in its share: the next panel of b follows the columns of a block, then the terms, then the blocks.
struct Place {
  int64_t block, column, begin;
};

struct Job {
  PanelProduct product;
  Grid grid;

  int64_t lengthAt(int64_t begin) const { return std::min(product.length, product.k - begin); }

  /// Rows [row, rowEnd) by columns [column, columnEnd) over terms [begin, end). A block of the result stays in the
  /// cache until all of its terms have been added.
  void runBlock(int64_t row, int64_t rowEnd, int64_t column, int64_t columnEnd, int64_t begin, int64_t end,
                float* panelsA, float* panelB) const {
    const int64_t rows = roundUp(rowEnd - row, kPanelA);
    for (int64_t p = begin; p < end; p += product.length) packA(row, rowEnd, p, panelsA + rows * (p - begin));
    Place at{column, column, begin};
    while (at.block < columnEnd) {
      const int64_t blockEnd = std::min(columnEnd, at.block + kBlockColumns);
      Place next{at.block, at.column + kPanelB, at.begin};
      if (next.column >= blockEnd) next.column = at.block, next.begin += product.length;
      if (next.begin >= end) next = {blockEnd, blockEnd, begin};
      const Place ahead = next.block < columnEnd ? next : Place{column, column, end};
      runPanel(row, rowEnd, at, ahead, panelsA + rows * (at.begin - begin), panelB);
      at = next;
    }
  }

  void packA(int64_t row, int64_t rowEnd, int64_t begin, float* to) const {
    const PanelProduct& x = product;
    for (int64_t i = row; i < rowEnd; i += kPanelA) {
      const float* from = x.transposeA ? x.a + begin * x.strideA + i : x.a + i * x.strideA + begin;
      const Panel panel{from, x.strideA, std::min<int64_t>(kPanelA, rowEnd - i), lengthAt(begin), !x.transposeA};
      panel.pack(to + (i - row) * panel.length, kPanelA);
    }
  }

  /// All rows of a by one panel of b, while the panel at `ahead`, if there is one, is fetched.
  void runPanel(int64_t row, int64_t rowEnd, const Place& at, const Place& ahead, const float* panelsA,
                float* panelB) const {
    const PanelProduct& x = product;
    const Panel now = panelOf(x, at.column, at.begin);
    const float* b = x.packedB ? x.packedB + packedAt(x, at.column, at.begin) : panelB;
    if (!x.packedB) now.pack(panelB, kPanelB);
    const bool fetches = ahead.begin < x.k && !x.packedB;
    const Panel following = fetches ? panelOf(x, ahead.column, ahead.begin) : now;
    const int64_t tiles = (rowEnd - row + kTileRows - 1) / kTileRows, vectors = (now.width + kLanes - 1) / kLanes;
    const __mmask16 last = firstLanes(now.width - (vectors - 1) * kLanes);
    for (int64_t t = 0; t < tiles; ++t) {
      if (fetches) following.fetch(t, tiles);
      const int64_t i = t * kTileRows, rows = std::min<int64_t>(kTileRows, rowEnd - row - i);
      const float* a = panelsA + i / kPanelA * kPanelA * now.length + i % kPanelA;
      const int64_t to = (row + i) * x.n + at.column;
      const bool adds = at.begin > 0, ends = at.begin + now.length == x.k;
      const TileEnd end{.old = adds     ? x.c + to
                               : x.bias ? x.bias + at.column
                                        : nullptr,
                        .added = ends && x.added ? x.added + to : nullptr,
                        .c = x.c + to,
                        .oldStride = adds ? x.n : 0,
                        .stride = x.n,
                        .least = ends ? x.least : -INFINITY,
                        .last = last};
      kTiles[(rows - 1) * kTileVectors + vectors - 1](a, b, now.length, end);
    }
  }

  int64_t termsAtOnce() const {
    return std::min(product.k, (grid.columns > kWideResult ? kPartsAtOnce : 1) * product.length);
  }

  void run(int64_t cell, float* scratch) const {
    const PanelProduct& x = product;
    const int64_t row = cell / grid.across * grid.rows, column = cell % grid.across * grid.columns;
    const int64_t rowEnd = std::min(x.m, row + grid.rows), columnEnd = std::min(x.n, column + grid.columns);
    for (int64_t i = row; i < rowEnd; i += kBlockRows)
      for (int64_t begin = 0; begin < x.k; begin += termsAtOnce())
        runBlock(i, std::min(rowEnd, i + kBlockRows), column, columnEnd, begin, std::min(x.k, begin + termsAtOnce()),
                 scratch + kPanelB * x.length, scratch);
  }
};

}  // namespace

bool hasPanelProduct() {
  static const bool has = __builtin_cpu_supports("avx512f");
  return has;
}

void runPanelProduct(const PanelProduct& product, const KernelHost& host) {
  const int64_t threads = host.countThreads ? host.countThreads(&host) : 1;
  const int64_t worth = product.m * product.n * product.k / kLeastWork;
  Job job{product, planGrid(product, std::clamp<int64_t>(worth, 1, threads))};
  const int64_t rows = std::min(kBlockRows, job.grid.rows);
  const int64_t bytes = static_cast<int64_t>(sizeof(float)) * (kPanelB * product.length + rows * job.termsAtOnce());
  const auto body = [](void* environment, int64_t begin, int64_t end, std::byte* scratch) {
    for (int64_t cell = begin; cell < end; ++cell)
      static_cast<const Job*>(environment)->run(cell, reinterpret_cast<float*>(scratch));
  };
  host.parallelFor(&host, job.grid.down * job.grid.across, 1, bytes, body, &job);
}

int64_t packedBytes(int64_t n, int64_t k) { return roundUp(n, kPanelB) * k * static_cast<int64_t>(sizeof(float)); }

void packB(const PanelProduct& product, float* to) {
  for (int64_t begin = 0; begin < product.k; begin += product.length)
    for (int64_t column = 0; column < product.n; column += kPanelB)
      panelOf(product, column, begin).pack(to + packedAt(product, column, begin), kPanelB);
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
