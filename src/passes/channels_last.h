#pragma once

#include <vector>

#include "passes/pass.h"

namespace tokamak {

/// Turns convolutions to channels last, the layout in which the library is fast on CPUs, with transposes around them
/// that meet and vanish between one convolution and the next.
///
///   %1 = conv %x, %w {...} : f32[N, 32, 30, 30]
/// becomes
///   %1 = transpose %x {perm = [0, 2, 3, 1]} : f32[N, 32, 32, 16]
///   %2 = conv %1, %w {..., channels_last = true} : f32[N, 30, 30, 32]
///   %3 = transpose %2 {perm = [0, 3, 1, 2]} : f32[N, 32, 30, 30]
struct ChannelsLast {
  static constexpr std::string_view name = "channels-last";
  std::vector<DType> types = {DType::f32, DType::bf16, DType::f16};  // of the convolutions to turn

  Result<Changed> run(Graph& graph) const;
};

}  // namespace tokamak
