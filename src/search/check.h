#pragma once

#include <optional>

#include "search/store.h"
#include "sparse/lower/compile.h"

namespace tokamak::search {

/// A region's cost as the model counts it and as simulation finds it.
struct RegionCheck {
  std::string region;
  sparse::Estimate counted;
  std::optional<Measurement> simulated;  // none: it would have taken too long
  double countSeconds = 0;
};

/// Counts each region of a compiled program on the structure of the data, and simulates those that are expected to put
/// at most `mostTokens` tokens, but for those that `results` knows: equal graphs on data of equal structure, whatever
/// their tensors are called. What regions hand on to each other is made first, without timing: values do not matter.
Result<std::vector<RegionCheck>> checkCosts(const sparse::Compiled& compiled, sparse::Bindings inputs,
                                            const sim::Options& options, double mostTokens, Results& results);
inline Result<std::vector<RegionCheck>> checkCosts(const sparse::Compiled& compiled, sparse::Bindings inputs,
                                                   const sim::Options& options, double mostTokens = 1e300) {
  NoStore nothing;
  return checkCosts(compiled, std::move(inputs), options, mostTokens, nothing);
}

/// How far a model's number is from the simulated one, as a share of that.
double errorOf(double counted, double simulated);

/// A line for each region and one for all together: operations, bytes, cycles and workspace, counted, simulated and the
/// error.
std::string checkTable(const std::vector<RegionCheck>& checks, sim::Profile profile);

}  // namespace tokamak::search
