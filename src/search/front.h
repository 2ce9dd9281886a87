#pragma once

#include "search/search.h"

namespace tokamak::search {

/// The plans that are not beaten, made of choices that `cost` allows: for each area the one of least cost.
std::vector<FrontPoint> frontOf(const Space& space, const CostOf& cost,
                                const std::vector<std::optional<Measurement>>& measured);

}  // namespace tokamak::search
