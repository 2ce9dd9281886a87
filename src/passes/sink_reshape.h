#pragma once

#include "passes/pass.h"

namespace tokamak {

/// Moves reshapes below elementwise ops (and, if asked, folds) so that their neighbours can fuse.
///
///   add(reshape(x), reshape(y))        =>  reshape(add(x, y))
///   mul(reshape(x), broadcast(scale))  =>  reshape(mul(x, broadcast(scale)))
///
/// An op follows its operand's reshape when every other operand can take the shape at no cost: a reshape from that
/// shape, a full, an iota, a broadcast whose repeated axes the reshape keeps together, an input or constant (whose
/// reshape is another view of the same memory). A value of any other kind but a broadcast or iota is reshaped too if
/// that leads to fewer axes, so that the two directions cannot alternate. A reshape of an input stays where it is.
/// Needs canonical shape ops; reaches its own fixed point.
struct SinkReshape {
  static constexpr std::string_view name = "sink-reshape";
  bool acrossReductions = true;

  Result<Changed> run(Graph& graph) const;
};

}  // namespace tokamak
