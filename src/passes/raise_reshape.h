#pragma once

#include "passes/pass.h"

namespace tokamak {

/// Moves reshapes above the elementwise ops that make their operands, where a fold keeps them from sinking: one that
/// folds some but not all of the axes that the reshape takes apart.
///
///   x, y: [16, 320, 4096]
///   reduce(reshape(mul(x, y), [16, 32, 10, 4096]), [2, 3])
///     =>  reduce(mul(reshape(x), reshape(y)), [2, 3])
///
/// So all of it runs over one shape and fuses. Done where all that the ops read can take the other shape at no cost (as
/// in sink_reshape.h), and nothing but the ops themselves and reshapes to that shape reads them. Comes before the
/// sinks, which leave reshapes of inputs alone.
struct RaiseReshape {
  static constexpr std::string_view name = "raise-reshape";

  Result<Changed> run(Graph& graph) const;
};

}  // namespace tokamak
