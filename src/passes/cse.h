#pragma once

#include "passes/pass.h"

namespace tokamak {

/// Keeps one of several nodes with the same op, operands and type. All ops are functions of their operands (random
/// numbers too, of seed and offset), so any may be shared. Constants above 64 KiB are the same only when they share
/// their data.
///
///   %0 = exp %x : f32[8]
///   %1 = exp %x : f32[8]
///   %2 = add %0, %1 : f32[8]     =>     %1 = add %0, %0 : f32[8]
struct CommonSubexpressions {
  static constexpr std::string_view name = "cse";

  Result<Changed> run(Graph& graph) const;
};

}  // namespace tokamak
