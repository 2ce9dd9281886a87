#pragma once

#include "passes/pass.h"

namespace tokamak {

/// Takes folds of what is computed from the same data over different axes first over the axes that they share, the
/// innermost ones.
///
///   sums of a: [16, 32, 10, 4096] over [0, 3], of b over [2, 3]
///     =>  rows of both over [3], then the small results over [0] and [2]
///
/// So one kernel reads the data once, row by row, for all of them: folds over different axes have none in common. Done
/// for folds of known extents that do not need one another, with rows long and many enough to be worth it, in f32 and
/// f64, where the results of rows lose nothing. Comes after canonicalise, which makes one fold of two.
struct StageFolds {
  static constexpr std::string_view name = "stage-folds";

  Result<Changed> run(Graph& graph) const;
};

}  // namespace tokamak
