#pragma once

#include <functional>
#include <optional>

#include "search/space.h"

namespace tokamak::search {

/// Regions one after another: the choices of a path through the space.
struct Plan {
  std::vector<size_t> choices;
  double cost = 0;
};

/// The cost of a choice; none where it may not be taken.
using CostOf = std::function<std::optional<double>(size_t choice)>;

/// The path of least total cost, or none where no path is allowed. Of equal ones the first explored.
std::optional<Plan> cheapest(const Space& space, const CostOf& cost);

/// A plan as a schedule that reproduces it. `base` gives the name and what concerns the whole program.
sparse::Schedule scheduleOf(const Space& space, const Plan& plan, sparse::Schedule base);

}  // namespace tokamak::search
