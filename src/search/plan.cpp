#include "search/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tokamak::search {

std::optional<Plan> cheapest(const Space& space, const CostOf& cost) {
  const std::vector<State>& states = space.states();
  std::vector<size_t> order(states.size());
  for (size_t s = 0; s < order.size(); ++s) order[s] = s;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return std::popcount(states[a].done) > std::popcount(states[b].done); });
  std::vector<std::optional<double>> known(space.choices().size());
  for (size_t c = 0; c < known.size(); ++c) known[c] = cost(c);
  std::vector<double> least(states.size(), INFINITY);
  std::vector<const State::Step*> best(states.size(), nullptr);
  least[space.last()] = 0;
  for (const size_t s : order)
    for (const State::Step& step : states[s].steps) {
      if (!known[step.choice]) continue;
      const double total = *known[step.choice] + least[step.next];
      if (total >= least[s]) continue;
      least[s] = total;
      best[s] = &step;
    }
  if (std::isinf(least[0])) return std::nullopt;
  Plan out{{}, least[0]};
  for (size_t s = 0; s != space.last(); s = best[s]->next) out.choices.push_back(best[s]->choice);
  return out;
}

sparse::Schedule scheduleOf(const Space& space, const Plan& plan, sparse::Schedule base) {
  base.fuse = sparse::Schedule::Fuse::listed;
  base.regions.clear();
  for (const size_t c : plan.choices) base.regions.push_back(space.choices()[c].wish);
  return base;
}

}  // namespace tokamak::search
