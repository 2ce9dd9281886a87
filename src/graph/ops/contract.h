#pragma once

#include <tuple>
#include <vector>

#include "graph/ops/field.h"
#include "graph/type.h"

namespace tokamak {

/// Batched matrix product of a [..., M, K] and b [..., K, N], with an optional third operand added to it (`bias`, of
/// shape [N]). transposeA: a is [..., K, M]; transposeB: b is [..., N, K]. Batch axes are equal, or absent in b. wide:
/// the result of halves is f32, as their products are summed.
///
///   %2 = matmul %a, %b {transpose_b = true} : f32[512, 3072]
struct MatMul {
  static constexpr std::string_view mnemonic = "matmul";
  bool transposeA = false, transposeB = false, wide = false;
  static constexpr auto fields() {
    return std::tuple{Field{"transpose_a", &MatMul::transposeA}, Field{"transpose_b", &MatMul::transposeB},
                      Field{"wide", &MatMul::wide}};
  }
  bool operator==(const MatMul&) const = default;
};

/// Cross-correlation of x [N, C, spatial...] with w [O, C / groups, kernel...], optional bias [O]; 1 to 3 spatial axes;
/// lists have one entry a spatial axis. channelsLast: x is [N, spatial..., C] and the result [N, spatial..., O].
///
///   %2 = conv %x, %w {stride = [2, 2], low = [3, 3], high = [3, 3], dilation = [1, 1], groups = 1} : f32[1, 64, 112,
///   112]
struct Conv {
  static constexpr std::string_view mnemonic = "conv";
  std::vector<int64_t> stride, low, high, dilation;
  int64_t groups = 1;
  bool channelsLast = false;
  static constexpr auto fields() {
    return std::tuple{Field{"stride", &Conv::stride}, Field{"low", &Conv::low},
                      Field{"high", &Conv::high},     Field{"dilation", &Conv::dilation},
                      Field{"groups", &Conv::groups}, Field{"channels_last", &Conv::channelsLast}};
  }
  /// Where the channels of x and of the result are, and their first spatial axis.
  size_t channelAxis(size_t rank) const { return channelsLast ? rank - 1 : 1; }
  size_t spatialAxis() const { return channelsLast ? 1 : 2; }
  bool operator==(const Conv&) const = default;
};

/// softmax(q k^T * scale + mask) v over the last two axes; q [..., L, E], k [..., S, E], v [..., S, F], optional mask
/// (float, added; or bool, false hides) that broadcasts to [..., L, S]. causal hides key j from query i when j > i.
/// scale 0 means 1/sqrt(E). A row with nothing visible gives NaN as written, zero if `safe`.
///
///   %3 = attention %q, %k, %v {causal = true} : f32[1, 12, 128, 64]
struct Attention {
  static constexpr std::string_view mnemonic = "attention";
  double scale = 0;
  bool causal = false;
  bool safe = false;
  static constexpr auto fields() {
    return std::tuple{Field{"scale", &Attention::scale}, Field{"causal", &Attention::causal},
                      Field{"safe", &Attention::safe}};
  }
  bool operator==(const Attention&) const = default;
};

}  // namespace tokamak
