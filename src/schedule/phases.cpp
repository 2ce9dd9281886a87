#include "schedule/phases.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "fusion/weight.h"

namespace tokamak::schedule {

bool isFull(const Graph& graph, const Region& region, ValueId v) { return graph.type(v).shape == region.domain; }

namespace {

constexpr int64_t kDear = 10;              // recomputing costs more than a store and a load from cache
constexpr size_t kFewNodes = 16;           // under a value that may stand for inputs
constexpr uint32_t kOutside = UINT32_MAX;  // a reader that is not in the region

class Planner {
 public:
  Planner(const Graph& graph, const Region& region, const PhaseRules& rules)
      : graph_(graph), region_(region), rules_(rules) {
    for (ValueId v : region.nodes) inRegion_.insert(v.index);
    for (auto v = region.nodes.rbegin(); v != region.nodes.rend(); ++v) {
      const Node& node = graph.node(*v);
      if (std::holds_alternative<Reduce>(node.op) || (isElementwise(node.op) && !elsewhere_.contains(v->index)))
        continue;
      for (ValueId operand : node.operands) elsewhere_.insert(operand.index);
    }
  }

  Phases run() {
    Phases out;
    for (ValueId v : region_.nodes) {
      int level = 0;
      for (ValueId operand : graph_.node(v).operands)
        if (auto it = level_.find(operand.index); it != level_.end()) level = std::max(level, it->second);
      if (std::holds_alternative<Reduce>(graph_.node(v).op)) {
        auto pair = rules_.pairs ? pairEndingIn(graph_, v) : std::nullopt;
        if (pair && (!inRegion_.contains(pair->first.index) || paired_.contains(pair->first.index))) pair.reset();
        level = pair ? level_[pair->first.index] : level + 1;
        if (static_cast<size_t>(level) > out.sweeps.size()) out.sweeps.resize(level);
        out.sweeps[level - 1].folds.push_back(v);
        if (pair) out.sweeps[level - 1].pairs.push_back(*pair), paired_.insert(pair->first.index);
      } else if (level > 0 && !isFull(graph_, region_, v) && !isFree(graph_.node(v).op)) {
        out.sweeps[level - 1].rowValues.push_back(v);
      }
      level_[v.index] = level;
    }
    std::vector<ValueId> stores;
    for (ValueId v : region_.outputs) {
      if (!isFull(graph_, region_, v)) continue;
      const auto level = level_.find(v.index);
      const size_t first = level == level_.end() ? 0 : level->second;  // sweep that has all it needs
      (rules_.early && first < out.sweeps.size() ? out.sweeps[first].stores : stores).push_back(v);
    }
    if (!stores.empty() || !region_.across.empty())
      out.sweeps.push_back(
          {.folds = {}, .pairs = {}, .stores = stores, .keeps = {}, .across = region_.across, .rowValues = {}});
    for (size_t s = 0; s < out.sweeps.size(); ++s) {
      std::unordered_set<uint32_t> here;
      for (ValueId v : out.sweeps[s].folds) {
        const auto& pairs = out.sweeps[s].pairs;
        const bool second = std::any_of(pairs.begin(), pairs.end(), [&](const FoldPair& p) { return p.second == v; });
        if (!second) walk(out, s, graph_.node(v).operands[0], here);  // else what the first folds is enough
      }
      // Folds across first: what they read is nearer to the inputs, and what is stored follows cheaply from it.
      for (ValueId v : out.sweeps[s].across) walk(out, s, graph_.node(v).operands[0], here);
      for (ValueId v : out.sweeps[s].stores) walk(out, s, v, here);
      for (uint32_t v : here) first_.try_emplace(v, s);
    }
    return out;
  }

 private:
  /// Notes what sweep s computes; a dear value that an earlier sweep computed is kept there instead.
  void walk(Phases& out, size_t s, ValueId v, std::unordered_set<uint32_t>& here) {
    if (!inRegion_.contains(v.index) || here.contains(v.index)) return;
    const Node& node = graph_.node(v);
    if (std::holds_alternative<Reduce>(node.op)) return;
    auto it = first_.find(v.index);
    const bool fits = isFull(graph_, region_, v) && !elsewhere_.contains(v.index);
    const bool again = it != first_.end() && fits && !isFree(node.op);
    if (again && ((rules_.keep && cost(v) >= kDear) || (rules_.instead && standsForInputs(v)))) {
      auto& keeps = out.sweeps[it->second].keeps;
      if (kept_.insert(v.index).second) keeps.push_back(v), cost_.clear();
      return;
    }
    here.insert(v.index);
    if (isFull(graph_, region_, v)) out.sweeps[s].weight += opWeight(node);
    for (ValueId operand : node.operands) walk(out, s, operand, here);
  }

  /// Weight of computing v at full level from what is loaded or kept, unless v is kept itself.
  int64_t cost(ValueId v) {
    if (!inRegion_.contains(v.index) || !isFull(graph_, region_, v)) return 0;
    if (auto it = cost_.find(v.index); it != cost_.end()) return it->second;
    const Node& node = graph_.node(v);
    int64_t sum = opWeight(node);
    for (ValueId operand : node.operands)
      if (!kept_.contains(operand.index)) sum += cost(operand);
    return cost_[v.index] = std::min<int64_t>(sum, 1000);
  }

  /// What a value is computed from, itself included. Only what has a full input under it counts: anything else, as a
  /// row's mean, is there for everybody.
  struct Under {
    std::unordered_map<uint32_t, bool> counts;
    int64_t inputBytes = 0;  // of an element
    bool plain = true;       // few, and of elementwise ops
  };
  bool gather(ValueId v, Under& under) {
    if (!isFull(graph_, region_, v)) return false;
    if (auto it = under.counts.find(v.index); it != under.counts.end()) return it->second;
    bool counts = !inRegion_.contains(v.index);
    if (counts) {
      under.inputBytes += byteWidth(graph_.type(v).dtype);
    } else {
      const Node& node = graph_.node(v);
      under.plain = under.plain && under.counts.size() < kFewNodes && (isElementwise(node.op) || isFree(node.op));
      for (ValueId operand : node.operands) counts |= under.plain && gather(operand, under);
    }
    return under.counts[v.index] = counts;
  }

  /// Whether v takes no more room than the inputs under it, which nobody else reads.
  bool standsForInputs(ValueId v) {
    if (readers_.empty()) {
      for (ValueId node : region_.nodes)
        for (ValueId operand : graph_.node(node).operands) readers_[operand.index].push_back(node.index);
      for (ValueId output : region_.outputs) readers_[output.index].push_back(kOutside);
    }
    Under under;
    gather(v, under);
    if (!under.plain || byteWidth(computeType(graph_.type(v).dtype)) > under.inputBytes) return false;
    return std::all_of(under.counts.begin(), under.counts.end(), [&](const auto& x) {
      const auto& readers = readers_[x.first];
      return !x.second || x.first == v.index ||
             std::all_of(readers.begin(), readers.end(), [&](uint32_t r) { return under.counts.contains(r); });
    });
  }

  const Graph& graph_;
  const Region& region_;
  const PhaseRules rules_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> readers_;  // filled when first wanted
  std::unordered_set<uint32_t> paired_;                          // first folds of pairs
  std::unordered_set<uint32_t> inRegion_;
  std::unordered_set<uint32_t> kept_;       // aside, by some sweep
  std::unordered_set<uint32_t> elsewhere_;  // read at other places than the one a sweep is at, as by a slice
  std::unordered_map<uint32_t, int> level_;
  std::unordered_map<uint32_t, size_t> first_;  // sweep that computes a full value first
  std::unordered_map<uint32_t, int64_t> cost_;
};

}  // namespace

Phases planPhases(const Graph& graph, const Region& region, const PhaseRules& rules) {
  return Planner(graph, region, rules).run();
}

}  // namespace tokamak::schedule
