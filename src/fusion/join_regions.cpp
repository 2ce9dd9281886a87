#include "fusion/join_regions.h"

#include <algorithm>
#include <cmath>

#include "fusion/cost.h"
#include "fusion/fold_pairs.h"
#include "fusion/weight.h"

namespace tokamak {

namespace {

class Joiner {
 public:
  Joiner(const Graph& graph, const FusionOptions& options, FusionPlan& plan)
      : graph_(graph), options_(options), plan_(plan) {
    isResult_.assign(graph.size(), false);
    for (ValueId v : graph.outputs()) isResult_[home(v).index] = true;
  }

  bool run() {
    joinTwins();
    bool any = false;
    for (size_t a = 0; a < plan_.regions.size(); ++a)
      for (size_t b = 0; b < plan_.regions.size(); ++b)
        if (a != b && joinable(a, b) && independent(a, b)) {
          join(a, b);
          any = true;
          a = 0, b = 0;
        }
    return any;
  }

 private:
  ValueId home(ValueId v) const {
    while (plan_.aliasOf[v.index]) v = plan_.aliasOf[v.index];
    return v;
  }

  bool joinable(size_t a, size_t b) const {
    const Region &first = plan_.regions[a], &second = plan_.regions[b];
    if (first.kind != RegionKind::reduce || second.kind != RegionKind::reduce || first.domain != second.domain)
      return false;
    return fits(first, second) || pairs(first, second) || (a < b && alike(a, b));
  }

  /// Whether both fold the same axes of the same data, or of what one kernel leaves.
  bool alike(size_t a, size_t b) const {
    const Region &first = plan_.regions[a], &second = plan_.regions[b];
    if (!options_.machine.pairsFolds || !onlyFolds(first) || !onlyFolds(second) || first.folded != second.folded)
      return false;
    int64_t weight = 0;
    for (const Region* region : {&first, &second})
      for (ValueId v : region->nodes) weight += opWeight(graph_.node(v));
    if (weight > options_.machine.maxWeight) return false;
    const auto before = producersOf(a), after = producersOf(b);
    return sharesInput(first, second) || std::any_of(after.begin(), after.end(), [&](size_t p) {
             return std::find(before.begin(), before.end(), p) != before.end();
           });
  }

  /// Whether `columns` folds, in one sweep, just the axes that `rows` keeps.
  bool fits(const Region& rows, const Region& columns) const {
    if (options_.machine.maxAcross == 0) return false;
    if (!columns.across.empty()) return false;
    double length = 1;
    bool lastFolded = false, apart = false;  // folded axes with a kept one between
    for (size_t i = 0; i < rows.domain.size(); ++i) {
      if (rows.domain[i].is(1)) continue;
      const bool inRows = contains(rows.folded, i), inColumns = contains(columns.folded, i);
      if (inRows == inColumns) return false;
      if (inRows && !rows.domain[i].isConst()) return false;
      if (inRows) length *= likely(rows.domain[i], options_.hints);
      apart = apart || (!inRows && length > 1);
      lastFolded = inRows;
    }
    int64_t folds = static_cast<int64_t>(rows.across.size()), weight = 0;
    for (ValueId v : columns.nodes) {
      weight += opWeight(graph_.node(v));
      if (!opAs<Reduce>(graph_, v)) continue;
      const auto kind = std::get<Reduce>(graph_.node(v).op).kind;
      if (kind == ReduceKind::argmax || kind == ReduceKind::argmin || dependsOnFold(columns, v)) return false;
      ++folds;
    }
    for (ValueId v : rows.nodes) weight += opWeight(graph_.node(v));
    if (std::any_of(columns.outputs.begin(), columns.outputs.end(),
                    [&](ValueId v) { return graph_.type(v).shape == columns.domain; }))
      return false;
    // Rows are taken in vectors of 16 bytes, so four elements of f32 at least, or from border to border.
    return lastFolded && length >= 64 && (std::fmod(length, 4) == 0 || !apart) &&
           length * static_cast<double>(folds) <= static_cast<double>(options_.machine.maxAcross) &&
           weight <= 2 * options_.machine.maxWeight && sharesInput(rows, columns);
  }
  /// Stores nothing as large as what it folds.
  bool onlyFolds(const Region& region) const {
    return region.across.empty() && std::none_of(region.outputs.begin(), region.outputs.end(),
                                                 [&](ValueId v) { return graph_.type(v).shape == region.domain; });
  }
  /// Whether every fold of `second` that needs one of `first` makes a pair with it, so that one sweep serves both.
  bool pairs(const Region& first, const Region& second) const {
    if (!options_.machine.pairsFolds || !onlyFolds(first) || !onlyFolds(second)) return false;
    if (first.folded != second.folded) return false;
    bool any = false;
    std::vector<bool> needs(graph_.size(), false);  // a fold of `first`
    for (ValueId v : second.inputs) needs[v.index] = contains(first.outputs, home(v));
    for (ValueId v : second.nodes) {
      const auto& operands = graph_.node(v).operands;
      const bool after = std::any_of(operands.begin(), operands.end(), [&](ValueId o) { return needs[o.index]; });
      const auto pair = after ? pairEndingIn(graph_, v) : std::nullopt;
      const bool paired = pair && contains(first.nodes, pair->first) && !needs[pair->x.index];
      if (opAs<Reduce>(graph_, v) && after && !paired) return false;
      any = any || paired;
      needs[v.index] = after && !paired;
    }
    return any;
  }
  static bool contains(const std::vector<Axis>& axes, size_t i) {
    return std::find(axes.begin(), axes.end(), static_cast<Axis>(i)) != axes.end();
  }
  bool dependsOnFold(const Region& region, ValueId fold) const {
    std::vector<bool> after(graph_.size(), false);
    for (ValueId v : region.nodes) {
      for (ValueId operand : graph_.node(v).operands) after[v.index] = after[v.index] || after[operand.index];
      if (v == fold) return after[v.index];
      if (opAs<Reduce>(graph_, v)) after[v.index] = true;
    }
    return false;
  }
  /// Something as large as the domain that both load, or that one computes and the other loads.
  bool sharesInput(const Region& rows, const Region& columns) const {
    return std::any_of(columns.inputs.begin(), columns.inputs.end(), [&](ValueId v) {
      if (!(graph_.type(v).elements() == elementCount(rows.domain))) return false;
      return std::find(rows.inputs.begin(), rows.inputs.end(), v) != rows.inputs.end() ||
             std::find(rows.outputs.begin(), rows.outputs.end(), v) != rows.outputs.end();
    });
  }

  /// The regions that region r loads from.
  std::vector<size_t> producersOf(size_t r) const {
    std::vector<size_t> out;
    for (ValueId v : plan_.regions[r].inputs) {
      const ValueId at = home(v);
      for (size_t p = 0; p < plan_.regions.size(); ++p)
        if (const auto& o = plan_.regions[p].outputs; std::find(o.begin(), o.end(), at) != o.end()) out.push_back(p);
    }
    return out;
  }
  bool reaches(size_t from, size_t to, size_t except) const {
    std::vector<bool> seen(plan_.regions.size(), false);
    std::vector<size_t> work{to};
    while (!work.empty()) {
      const size_t r = work.back();
      work.pop_back();
      for (size_t p : producersOf(r)) {
        if (r == to && p == except) continue;
        if (p == from) return true;
        if (!seen[p]) seen[p] = true, work.push_back(p);
      }
    }
    return false;
  }
  /// Whether no other region has to run between the two; what `columns` loads from `rows` directly, it has as it is.
  bool independent(size_t rows, size_t columns) const {
    const std::vector<bool> late = afterAcross(graph_, plan_.regions[rows]);
    for (ValueId v : plan_.regions[columns].inputs)
      if (contains(plan_.regions[rows].outputs, home(v)) && (!(home(v) == v) || late[v.index])) return false;
    return !reaches(columns, rows, rows) && !reaches(rows, columns, rows);
  }
  static bool contains(const std::vector<ValueId>& values, ValueId v) {
    return std::find(values.begin(), values.end(), v) != values.end();
  }

  /// Small kernels that stand near each other and differ in what they read alone become one, to spare launches.
  void joinTwins() {
    for (size_t a = 0; a < plan_.regions.size(); ++a) {
      const Region first = plan_.regions[a];
      for (size_t b = a + 1; b < std::min(a + 4, plan_.regions.size());)
        if (twins(first, plan_.regions[b]) && areSmall(plan_.regions[a], plan_.regions[b]) && mayRunAt(a, b))
          merge(a, b);
        else
          ++b;
    }
  }
  bool twins(const Region& first, const Region& second) const {
    return first.kind == RegionKind::pointwise && second.kind == RegionKind::pointwise &&
           first.domain == second.domain && std::ranges::equal(first.nodes, second.nodes, [&](ValueId x, ValueId y) {
             return graph_.node(x).op == graph_.node(y).op && graph_.type(x) == graph_.type(y);
           });
  }
  bool areSmall(const Region& first, const Region& second) const {
    double bytes = 0;
    int64_t weight = 0;
    for (const Region* region : {&first, &second}) {
      for (const auto* values : {&region->inputs, &region->outputs})
        for (ValueId v : *values) bytes += likely(graph_.type(v).bytes(), options_.hints);
      for (ValueId v : region->nodes) weight += opWeight(graph_.node(v));
    }
    constexpr double kLaunches = 8;  // of time to move them, in which one launch less shows
    constexpr size_t kStreams = 8;
    const MachineModel& machine = options_.machine;
    return bytes <= kLaunches * machine.launchMicroseconds * machine.bytesPerMicrosecond &&
           weight <= machine.maxWeight / 2 && first.inputs.size() + second.inputs.size() <= kStreams;
  }
  /// Whether region b needs nothing that region a or one after it stores.
  bool mayRunAt(size_t a, size_t b) const {
    return std::none_of(plan_.regions[b].inputs.begin(), plan_.regions[b].inputs.end(), [&](ValueId v) {
      return std::any_of(plan_.regions.begin() + static_cast<ptrdiff_t>(a),
                         plan_.regions.begin() + static_cast<ptrdiff_t>(b),
                         [&](const Region& region) { return contains(region.outputs, home(v)); });
    });
  }

  void join(size_t a, size_t b) {
    merge(a, b);
    reorder();
  }
  /// Region a is both; b is gone.
  void merge(size_t a, size_t b) {
    Region merged = plan_.regions[a];
    const Region second = plan_.regions[b];
    for (ValueId v : second.nodes)
      if (merged.folded != second.folded && opAs<Reduce>(graph_, v) && !contains(merged.nodes, v))
        merged.across.push_back(v);
    for (ValueId v : second.nodes)
      if (!contains(merged.nodes, v)) merged.nodes.push_back(v);
    std::sort(merged.nodes.begin(), merged.nodes.end());
    std::sort(merged.across.begin(), merged.across.end());
    for (ValueId v : second.inputs)
      if (!contains(merged.nodes, v) && !contains(merged.inputs, v)) merged.inputs.push_back(v);
    std::erase_if(merged.inputs, [&](ValueId v) { return contains(merged.nodes, v); });
    std::sort(merged.inputs.begin(), merged.inputs.end());
    merged.outputs.insert(merged.outputs.end(), second.outputs.begin(), second.outputs.end());
    // What only the second loaded is not stored any more.
    std::erase_if(merged.outputs, [&](ValueId v) {
      if (isResult_[v.index] || !contains(second.inputs, v)) return false;
      for (size_t r = 0; r < plan_.regions.size(); ++r)
        if (r != b && std::any_of(plan_.regions[r].inputs.begin(), plan_.regions[r].inputs.end(),
                                  [&](ValueId in) { return home(in) == v; }))
          return false;
      return true;
    });
    plan_.regions[a] = std::move(merged);
    plan_.regions.erase(plan_.regions.begin() + static_cast<ptrdiff_t>(b));
  }

  /// Producers first, else as it was.
  void reorder() {
    std::vector<Region> ordered;
    std::vector<bool> placed(plan_.regions.size(), false);
    std::vector<std::vector<size_t>> producers;
    producers.reserve(plan_.regions.size());
    for (size_t r = 0; r < plan_.regions.size(); ++r) producers.push_back(producersOf(r));
    while (ordered.size() < plan_.regions.size())
      for (size_t r = 0; r < plan_.regions.size(); ++r)
        if (!placed[r] &&
            std::all_of(producers[r].begin(), producers[r].end(), [&](size_t p) { return placed[p] || p == r; })) {
          placed[r] = true;
          ordered.push_back(plan_.regions[r]);
          break;
        }
    plan_.regions = std::move(ordered);
  }

  const Graph& graph_;
  const FusionOptions& options_;
  FusionPlan& plan_;
  std::vector<bool> isResult_;
};

}  // namespace

std::vector<bool> afterAcross(const Graph& graph, const Region& region) {
  std::vector<bool> after(graph.size(), false);
  for (ValueId v : region.across) after[v.index] = true;
  for (ValueId v : region.nodes)
    for (ValueId operand : graph.node(v).operands) after[v.index] = after[v.index] || after[operand.index];
  return after;
}

void joinRegions(const Graph& graph, const FusionOptions& options, FusionPlan& plan, std::vector<LedgerEdge>& edges) {
  if (options.machine.maxAcross == 0 && !options.machine.pairsFolds) return;
  if (!Joiner(graph, options, plan).run()) return;
  for (LedgerEdge& edge : edges) {
    if (edge.decision != EdgeDecision::cut) continue;
    for (const Region& region : plan.regions) {
      const auto holds = [&](ValueId v) { return std::binary_search(region.nodes.begin(), region.nodes.end(), v); };
      if (region.kind != RegionKind::reduce || !holds(edge.producer) || !holds(edge.consumer)) continue;
      const bool bothWays = !region.across.empty();
      edge.decision = EdgeDecision::fused;
      edge.rule = bothWays ? "both-ways" : "one-sweep";
      edge.reason = bothWays ? "rows are added to the columns' folds on the way" : "one sweep finds both folds";
    }
  }
}

}  // namespace tokamak
