#pragma once

#include "passes/pass.h"

namespace tokamak {

/// Removes nodes that no output needs. Inputs stay: they are the graph's signature.
///
///   %0 = exp %x : f32[8]
///   %1 = neg %x : f32[8]     // gone
///   return %0
struct DeadCodeElimination {
  static constexpr std::string_view name = "dce";

  Result<Changed> run(Graph& graph) const;
};

}  // namespace tokamak
