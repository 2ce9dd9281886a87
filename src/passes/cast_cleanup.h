#pragma once

#include "passes/pass.h"

namespace tokamak {

/// Removes pairs of casts that decompositions put between each other: where the f32 result of one composite is narrowed
/// to a half only for the next to widen it again, the next takes the f32 value.
///
///   %1 = cast %0 {synthetic = true} : bf16[64]     // %0 : f32[64]
///   %2 = cast %1 {synthetic = true} : f32[64]
///   %3 = exp %2 : f32[64]              =>     %1 = exp %0 : f32[64]
///
/// A cast the program wrote rounds, so a pair in which either is the program's stays. Half-precision regions keep f32
/// intermediates in any case; this pass lets fusion and the other passes see it. Not for `precision = eager`, which
/// rounds at every op.
struct CastCleanup {
  static constexpr std::string_view name = "cast-cleanup";

  Result<Changed> run(Graph& graph) const;
};

}  // namespace tokamak
