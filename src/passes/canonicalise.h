#pragma once

#include "passes/pass.h"

namespace tokamak {

/// Local algebra that holds for every value, NaN, infinities, -0.0 and wrapping integers included:
///   - identities: x * 1, x - 0, x + -0.0, integer x + 0, x / 1, max(x, -inf), select with a known condition, clamp
///   with
///     an open side, ops on the same value twice where NaN cannot tell;
///   - inverses: neg of neg, not of not, transposes and reshapes that cancel, casts that lose nothing;
///   - stronger forms: pow(x, 2) as x * x, x / 2^k as x * 2^-k, x + -y as x - y, folds of folds, folds over axes of
///     extent 1, slice of slice, of concat and of broadcast;
///   - less work: an elementwise op on repeated values computes once and repeats the result;
///   - one spelling: known scalars are `full` and stand on the right.
/// Never: x * 0 or x - x or x + 0.0 for floats, a cast that rounds, sums in another order outside of folds.
///
///   %0 = full {value = 1.0} : f32[8]
///   %1 = mul %x, %0 : f32[8]
///   %2 = exp %1 : f32[8]         =>        %0 = exp %x : f32[8]
///
/// Reaches its own fixed point in one walk: what a rule emits is simplified as it is emitted.
struct Canonicalise {
  static constexpr std::string_view name = "canonicalise";

  Result<Changed> run(Graph& graph) const;
};

}  // namespace tokamak
