#pragma once

#include "passes/pass.h"

namespace tokamak {

/// Moves transposes below elementwise ops so that they meet and cancel, and into the ops that take any order of axes.
///
///   add(transpose(x), transpose(y))            =>  transpose(add(x, y))
///   mul(transpose(x), broadcast(scale))        =>  transpose(mul(x, broadcast(scale)))
///   matmul(x, transpose(w))                    =>  matmul(x, w) {transpose_b = true}
///   reduce(transpose(x)) {axes = [1]}          =>  reduce(x) {axes = [0]}
///
/// An op follows when every operand is that transpose of something, or a full, iota or broadcast. A fold takes the
/// order below a transpose only if nobody else reads the transposed value, since two readers would then walk memory in
/// two orders. Needs canonical shape ops; reaches its own fixed point.
struct SinkTranspose {
  static constexpr std::string_view name = "sink-transpose";

  Result<Changed> run(Graph& graph) const;
};

}  // namespace tokamak
