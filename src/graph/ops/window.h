#pragma once

#include <tuple>
#include <vector>

#include "graph/ops/field.h"
#include "graph/type.h"

namespace tokamak {

enum class PoolKind : uint8_t { max, avg, argmax };
template <>
struct EnumNames<PoolKind> {
  static constexpr std::array<std::string_view, 3> names = {"max", "avg", "argmax"};
};

/// Folds windows over the last k = window.size() axes (all lists have length k). Extent of the result along such an
/// axis: floor((n + low + high - dilation * (window - 1) - 1) / stride) + 1; ceil_mode is expressed by a larger `high`.
/// max ignores padding (NaN wins); argmax gives i64, the flat position in the k unpadded axes (torch's indices): the
/// last NaN of the window if it has one, else the first maximum; avg divides by `divisor`, or if that is 0 by the
/// number of elements in the window: those within the input and, if countPad, also within the padding that was asked
/// for (`high` less `extraHigh`, which ceil_mode added).
///
///   %1 = pool %0 {kind = max, window = [3, 3], stride = [2, 2], low = [1, 1], high = [1, 1], dilation = [1, 1]} :
///   f32[1, 64, 56, 56]
struct Pool {
  static constexpr std::string_view mnemonic = "pool";
  PoolKind kind = PoolKind::max;
  std::vector<int64_t> window, stride, low, high, dilation, extraHigh;
  bool countPad = true;
  int64_t divisor = 0;
  static constexpr auto fields() {
    return std::tuple{shown("kind", &Pool::kind),
                      Field{"window", &Pool::window},
                      Field{"stride", &Pool::stride},
                      Field{"low", &Pool::low},
                      Field{"high", &Pool::high},
                      Field{"dilation", &Pool::dilation},
                      Field{"extra_high", &Pool::extraHigh},
                      Field{"count_pad", &Pool::countPad},
                      Field{"divisor", &Pool::divisor}};
  }
  bool operator==(const Pool&) const = default;
};

/// Adaptive pooling over the last k = spatial axes to the extents of the result: output o covers inputs
/// floor(o * n / m) up to ceil((o + 1) * n / m).
///
///   %1 = adaptive_pool %0 {kind = avg, spatial = 2} : f32[1, 512, 7, 7]
struct AdaptivePool {
  static constexpr std::string_view mnemonic = "adaptive_pool";
  PoolKind kind = PoolKind::avg;
  int64_t spatial = 2;
  static constexpr auto fields() {
    return std::tuple{shown("kind", &AdaptivePool::kind), Field{"spatial", &AdaptivePool::spatial}};
  }
  bool operator==(const AdaptivePool&) const = default;
};

enum class ResizeKind : uint8_t { nearest, linear };
template <>
struct EnumNames<ResizeKind> {
  static constexpr std::array<std::string_view, 2> names = {"nearest", "linear"};
};

/// Resamples the last k = spatial axes to the extents of the result, as torch.nn.functional.interpolate with
/// mode nearest or linear/bilinear/trilinear. `scale` (length k, or empty) are the scale factors that coordinates use
/// (0 or absent: the ratio of extents). With r = 1 / scale or n / m, in f32, output o reads
///   nearest  min(floor(f32(o) * r), n - 1), the product in f32
///   linear   between floor(c) and the next, at most n - 1, with c = max((o + 0.5) * r - 0.5, 0), or with
///            alignCorners c = o * (n - 1) / (m - 1) (0 where m = 1)
///
///   %1 = resize %0 {kind = linear, spatial = 2, align_corners = true} : f32[1, 3, 224, 224]
struct Resize {
  static constexpr std::string_view mnemonic = "resize";
  ResizeKind kind = ResizeKind::nearest;
  int64_t spatial = 2;
  bool alignCorners = false;
  std::vector<double> scale;
  static constexpr auto fields() {
    return std::tuple{shown("kind", &Resize::kind), Field{"spatial", &Resize::spatial},
                      Field{"align_corners", &Resize::alignCorners}, Field{"scale", &Resize::scale}};
  }
  bool operator==(const Resize&) const = default;
};

}  // namespace tokamak
