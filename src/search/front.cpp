#include "search/front.h"

#include <algorithm>
#include <set>

namespace tokamak::search {

namespace {

FrontPoint pointOf(const Space& space, Plan plan, const std::vector<std::optional<Measurement>>& measured) {
  FrontPoint out;
  for (const size_t c : plan.choices) {
    out.blocks = std::max(out.blocks, space.choices()[c].blocks);
    if (!measured[c]) continue;
    out.workspace = std::max(out.workspace, measured[c]->workspace);
    out.bytes += measured[c]->bytes();
  }
  out.plan = std::move(plan);
  return out;
}

}  // namespace

std::vector<FrontPoint> frontOf(const Space& space, const CostOf& cost,
                                const std::vector<std::optional<Measurement>>& measured) {
  std::vector<FrontPoint> out;
  size_t limit = SIZE_MAX;
  // From the best plan down: each time whatever is as large as the largest region of the last plan is forbidden.
  while (true) {
    std::optional<Plan> plan =
        cheapest(space, [&](size_t c) { return space.choices()[c].blocks < limit ? cost(c) : std::nullopt; });
    if (!plan) break;
    out.push_back(pointOf(space, std::move(*plan), measured));
    limit = out.back().blocks;
  }
  return out;
}

}  // namespace tokamak::search
