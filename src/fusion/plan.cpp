#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <unordered_map>

#include "fusion/account.h"
#include "fusion/cost.h"
#include "fusion/epilogue.h"
#include "fusion/join_regions.h"
#include "fusion/partition.h"
#include "fusion/weight.h"

namespace tokamak {

namespace {

class Planner {
 public:
  Planner(const Graph& graph, const FusionOptions& options)
      : graph_(graph), options_(options), parts_(graph, options) {}

  FusionPlan run() {
    for (size_t i = 0; i < graph_.size(); ++i) {
      const ValueId v(i);
      const Op& op = graph_.node(v).op;
      if (std::holds_alternative<Input>(op) || std::holds_alternative<Constant>(op) || parts_.isView[i]) continue;
      if (auto it = epilogueOf_.find(v.index); it != epilogueOf_.end())
        joinEpilogue(it->second, v);
      else
        place(v);
    }
    return finish();
  }

 private:
  struct Reader {
    size_t draft;
    std::vector<Source> sources;
    double bytes = 0;
    Decision decision = Decision::yes();
    std::string rule;
    std::optional<Shape> ownDomain;  // before it was made to run over the reader's shape
  };

  double bytesOf(ValueId v) const { return likely(graph_.type(v).bytes(), options_.hints); }
  void note(ValueId producer, ValueId consumer, EdgeDecision decision, std::string rule, std::string reason) {
    edges_[{producer.index, consumer.index}] = {producer, consumer, decision, std::move(rule), std::move(reason), 0, 0};
  }

  void place(ValueId v) {
    const auto sources = sourcesOf(graph_, v, parts_.isView);
    auto groups = bySourceDraft(v, sources);
    std::vector<size_t> producers;
    for (const Reader& g : groups) producers.push_back(g.draft);
    const bool alone = std::holds_alternative<MatMul>(graph_.node(v).op) ||
                       std::holds_alternative<Conv>(graph_.node(v).op) ||
                       std::holds_alternative<Scatter>(graph_.node(v).op) || !options_.fuse;
    if (!options_.fuse)
      for (Reader& g : groups) g.decision = Decision::no("fusion is off"), g.rule = "off";
    if (!alone) reroot(v, groups);
    int64_t home = alone ? -1 : join(v, groups, producers);
    for (Reader& g : groups)  // who did not get v after all runs over its own shape again
      if (g.ownDomain && static_cast<int64_t>(g.draft) != home) parts_.drafts[g.draft].domain = *g.ownDomain;
    if (home < 0 && !alone) home = besideReader(v, sources, producers);
    if (home < 0) {
      home = static_cast<int64_t>(parts_.found(v));
      if (parts_.drafts[home].kind == RegionKind::contract) beginContract(home, v);
    }
    for (const Reader& g : groups)
      for (const Source& s : g.sources) settle(v, static_cast<size_t>(home), g, s);
    for (const Source& s : sources)
      if (parts_.draftOf[s.value.index] < 0) remember(s.value, static_cast<size_t>(home));
  }

  /// The drafts that v's producers are in, with whether each would take v.
  std::vector<Reader> bySourceDraft(ValueId v, const std::vector<Source>& sources) {
    std::vector<Reader> out;
    for (const Source& s : sources) {
      const int64_t d = parts_.draftOf[s.value.index];
      if (d < 0) continue;
      auto it =
          std::find_if(out.begin(), out.end(), [&](const Reader& r) { return r.draft == static_cast<size_t>(d); });
      if (it == out.end()) it = out.insert(out.end(), Reader{static_cast<size_t>(d), {}, 0, Decision::yes(), {}, {}});
      it->sources.push_back(s);
      it->bytes += bytesOf(s.value);
      if (!it->decision) continue;
      std::string rule;
      Decision decision = parts_.admits(it->draft, v, s, &rule);
      if (!decision || it->rule.empty()) it->rule = rule;
      it->decision = std::move(decision);
    }
    return out;
  }

  /// A pointwise draft all of whose results go to v alone may run over v's shape instead of its own: then a transpose,
  /// a slice or a concatenation is only a way of reading.
  void reroot(ValueId v, std::vector<Reader>& groups) {
    const Node& node = graph_.node(v);
    const bool eachOnce = isElementwise(node.op) || isFree(node.op) || std::holds_alternative<Concat>(node.op) ||
                          std::holds_alternative<Pad>(node.op) || std::holds_alternative<Reduce>(node.op);
    if (!eachOnce) return;
    const Shape shape = std::holds_alternative<Reduce>(node.op) ? graph_.type(node.operands[0]).shape : node.type.shape;
    for (Reader& g : groups) {
      auto& draft = parts_.drafts[g.draft];
      if (g.decision || draft.kind != RegionKind::pointwise || g.rule == "too-heavy" || draft.weight > 64) continue;
      int64_t toV = 0;
      for (ValueId m : draft.members)
        toV += std::binary_search(parts_.readers[m.index].begin(), parts_.readers[m.index].end(), v);
      if (toV != draft.escapes) continue;
      const bool joins = std::holds_alternative<Concat>(node.op) || std::holds_alternative<Pad>(node.op);
      bool broadcasts = false;  // would compute a value many times over
      for (const Source& s : g.sources)
        broadcasts |= likely(graph_.type(s.value).elements(), options_.hints) * (joins ? 1e9 : 1.0) <
                      likely(elementCount(shape), options_.hints);
      if (broadcasts && draft.weight > 4) continue;
      if (std::any_of(draft.members.begin(), draft.members.end(), [&](ValueId m) { return parts_.stored[m.index]; }))
        continue;
      g.ownDomain = draft.domain;
      draft.domain = shape;
      g.decision = Decision::yes();
      g.rule = "read-in-place";
    }
  }

  /// Joins the draft that saves most, and merges the others that would have v into it.
  int64_t join(ValueId v, std::vector<Reader>& groups, const std::vector<size_t>& producers) {
    int64_t home = -1;
    std::vector<Reader*> willing;
    for (Reader& g : groups)
      if (g.decision) willing.push_back(&g);
    std::sort(willing.begin(), willing.end(), [](const Reader* a, const Reader* b) { return a->bytes > b->bytes; });
    for (Reader* g : willing) {
      if (home < 0) {
        if (parts_.acyclic(g->draft, producers))
          home = static_cast<int64_t>(g->draft);
        else
          refuse(*g, "cycle", "another kernel has to run between them");
        continue;
      }
      Decision together = parts_.mergeable(home, g->draft);
      if (!together) {
        refuse(*g, "regions-apart",
               fmt::format("{} is in another region and {}", graph_.label(g->sources[0].value), together.reason()));
        continue;
      }
      parts_.merge(home, g->draft);
      g->draft = home;
    }
    if (home < 0) return -1;
    for (Reader& g : groups)
      if (!g.decision && parts_.drafts[g.draft].alive && static_cast<int64_t>(g.draft) != home &&
          parts_.dependsOn(g.draft, home))
        return -1;
    parts_.add(home, v);
    return home;
  }
  static void refuse(Reader& g, std::string rule, std::string reason) {
    g.rule = std::move(rule);
    g.decision = Decision::no(std::move(reason));
  }

  /// A draft of the same shape that loads what v loads: one pass serves both.
  int64_t besideReader(ValueId v, const std::vector<Source>& sources, const std::vector<size_t>& producers) {
    const Node& node = graph_.node(v);
    if (std::holds_alternative<Scan>(node.op)) return -1;
    const bool fold = std::holds_alternative<Reduce>(node.op);
    const Shape& shape = fold ? graph_.type(node.operands[0]).shape : node.type.shape;
    for (const Source& s : sources) {
      if (s.path != PathKind::identity || bytesOf(s.value) * 2 < likely(elementCount(shape), options_.hints)) continue;
      auto it = loadedBy_.find(s.value.index);
      if (it == loadedBy_.end()) continue;
      for (auto d = it->second.rbegin(); d != it->second.rend(); ++d) {
        const auto& draft = parts_.drafts[*d];
        if (!draft.alive || !(draft.domain == shape) || draft.split || draft.members.size() > 48) continue;
        if (draft.weight + opWeight(node) > options_.machine.maxWeight / 2) continue;
        const bool fits = fold ? draft.kind == RegionKind::pointwise || (draft.kind == RegionKind::reduce &&
                                                                         draft.folded == std::get<Reduce>(node.op).axes)
                               : draft.kind == RegionKind::pointwise || draft.kind == RegionKind::reduce;
        const bool dependent = std::any_of(producers.begin(), producers.end(),
                                           [&](size_t p) { return p == *d || parts_.dependsOn(p, *d); });
        if (!fits || dependent) continue;
        if (fold && draft.kind == RegionKind::pointwise && draft.escapes > 0 &&
            longFold(shape, std::get<Reduce>(node.op).axes))
          continue;
        parts_.add(*d, v);
        return static_cast<int64_t>(*d);
      }
    }
    return -1;
  }
  bool longFold(const Shape& shape, const std::vector<Axis>& axes) const {
    double folded = 1;
    for (Axis a : axes) folded *= likely(shape[a], options_.hints);
    return folded >= 65536;
  }

  /// Decides the edge from source s (in group g) to v, now that v is in `home`.
  void settle(ValueId v, size_t home, const Reader& g, const Source& s) {
    if (static_cast<size_t>(parts_.draftOf[s.value.index]) == home) {
      note(s.value, v, EdgeDecision::fused, g.rule.empty() || !g.decision ? "same-domain" : g.rule, "");
      return;
    }
    std::vector<size_t> cone;
    if (options_.fuse && inlinable(s.value, v, cone)) {
      for (size_t d : cone) parts_.depend(home, d);
      note(s.value, v, EdgeDecision::replicated, "cheap-producer",
           fmt::format("computing {} again costs less than storing and loading it", graph_.label(s.value)));
      replicas_[home].push_back(s.value);
      return;
    }
    parts_.stored[s.value.index] = true;
    parts_.depend(home, g.draft);
    remember(s.value, home);
    note(s.value, v, EdgeDecision::cut, g.rule, g.decision.reason());
  }

  void remember(ValueId v, size_t draft) {
    auto& list = loadedBy_[v.index];
    if (list.empty() || list.back() != draft) list.push_back(draft);
    if (list.size() > 4) list.erase(list.begin());
  }

  /// What the reader of p has to load anyhow for its other operands.
  std::vector<ValueId> loadedBeside(ValueId p, ValueId reader) const {
    std::vector<ValueId> work = graph_.node(reader).operands, seen, out;
    while (!work.empty() && seen.size() < 16) {
      const ValueId x = work.back();
      work.pop_back();
      if (x == p || std::find(seen.begin(), seen.end(), x) != seen.end()) continue;
      seen.push_back(x);
      const Node& node = graph_.node(x);
      if (parts_.stored[x.index])
        out.push_back(x);
      else if (isElementwise(node.op) || parts_.isView[x.index])
        work.insert(work.end(), node.operands.begin(), node.operands.end());
    }
    return out;
  }

  /// Whether p is a short chain of cheap ops over values in memory that take no more bytes than p does. Folds that are
  /// small beside p are as good as in memory: storing them costs little.
  bool inlinable(ValueId p, ValueId reader, std::vector<size_t>& cone) {
    if (parts_.stored[p.index] || parts_.isOutput[p.index]) return false;
    const Op& op = graph_.node(reader).op;
    if (std::holds_alternative<MatMul>(op) || std::holds_alternative<Conv>(op)) return false;
    int64_t weight = 0;
    double bytes = 0;
    int nodes = 0;
    const std::vector<ValueId> loaded = loadedBeside(p, reader);
    std::vector<ValueId> work{p}, seen, folds;
    while (!work.empty()) {
      const ValueId x = work.back();
      work.pop_back();
      if (std::find(seen.begin(), seen.end(), x) != seen.end()) continue;
      seen.push_back(x);
      const Node& node = graph_.node(x);
      if (parts_.stored[x.index]) {
        if (parts_.draftOf[x.index] >= 0) cone.push_back(parts_.draftOf[x.index]);
        if (!graph_.type(x).elements().is(1) && std::find(loaded.begin(), loaded.end(), x) == loaded.end())
          bytes += bytesOf(x);
        continue;
      }
      if (std::holds_alternative<Reduce>(node.op) && bytesOf(x) * 16 <= bytesOf(p)) {
        folds.push_back(x), cone.push_back(parts_.draftOf[x.index]);
        continue;
      }
      if (!isElementwise(node.op) && !parts_.isView[x.index] && !isFree(node.op)) return false;
      weight += opWeight(node);
      if (++nodes > options_.machine.maxAgain + 4 || weight > options_.machine.maxAgain) return false;
      for (ValueId operand : node.operands) work.push_back(operand);
    }
    int64_t times = 1;
    if (auto* pool = std::get_if<Pool>(&op))
      for (int64_t w : pool->window) times *= w;
    if (weight * times > 3 * options_.machine.maxAgain || bytes > 1.5 * bytesOf(p)) return false;
    for (ValueId fold : folds) parts_.stored[fold.index] = true;
    return true;
  }

  void beginContract(int64_t d, ValueId v) {
    auto& draft = parts_.drafts[d];
    draft.tier = servedByLibrary(graph_, v, options_) ? Tier::library : Tier::kernel;
    if (draft.tier == Tier::kernel || !options_.fuse || !options_.epilogues) return;
    draft.epilogue = matchEpilogue(graph_, v, parts_.readers, parts_.stored, options_);
    // A sum of two products is the epilogue of the one that comes first; the other is its operand.
    auto taken = std::find_if(draft.epilogue.begin(), draft.epilogue.end(),
                              [&](const EpilogueStep& step) { return epilogueOf_.contains(step.result.index); });
    draft.epilogue.erase(taken, draft.epilogue.end());
    ValueId from = v;
    for (const EpilogueStep& step : draft.epilogue) {
      if (step.kind == EpilogueStep::Kind::binary)
        epilogueOf_.try_emplace(step.result.index, static_cast<size_t>(d));
      else
        for (ValueId m : epilogueNodes(graph_, from, step.result))
          epilogueOf_.try_emplace(m.index, static_cast<size_t>(d));
      from = step.result;
    }
  }

  void joinEpilogue(size_t d, ValueId v) {
    parts_.add(d, v);
    for (const Source& s : sourcesOf(graph_, v, parts_.isView)) {
      const int64_t from = parts_.draftOf[s.value.index];
      if (from == static_cast<int64_t>(d))
        note(s.value, v, EdgeDecision::library, "library-epilogue", "");
      else if (from >= 0) {
        parts_.stored[s.value.index] = true;
        parts_.depend(d, from);
        note(s.value, v, EdgeDecision::cut, "library-operand",
             fmt::format("the library reads {} from memory", graph_.label(s.value)));
      }
    }
  }

  /// The program's order, each draft where its last member stood and what it needs just before it: values are made
  /// when they are wanted and memory is free again soon.
  std::vector<size_t> runOrder() const {
    struct Item {
      uint32_t last = 0;
      int depth = 0;
    };
    std::vector<Item> items(parts_.drafts.size());
    std::vector<size_t> wanted, order;
    for (size_t d = 0; d < items.size(); ++d) {
      const auto& draft = parts_.drafts[d];
      if (!draft.alive) continue;
      wanted.push_back(d);
      for (ValueId m : draft.members) items[d].last = std::max(items[d].last, m.index);
      for (uint64_t word : draft.ancestors) items[d].depth += std::popcount(word);
    }
    std::ranges::stable_sort(wanted, {}, [&](size_t d) { return items[d].last; });
    std::vector<bool> placed(items.size(), false);
    for (size_t d : wanted) {
      std::vector<size_t> before;
      const auto& ancestors = parts_.drafts[d].ancestors;
      for (size_t word = 0; word < ancestors.size(); ++word)
        for (uint64_t bits = ancestors[word]; bits; bits &= bits - 1)
          if (const size_t a = word * 64 + std::countr_zero(bits); !placed[a] && parts_.drafts[a].alive)
            before.push_back(a);
      if (!placed[d]) before.push_back(d);
      std::ranges::stable_sort(before, {}, [&](size_t a) { return items[a].depth; });
      for (size_t a : before) placed[a] = true, order.push_back(a);
    }
    return order;
  }

  FusionPlan finish();
  void collect(size_t d, Region& region);

  const Graph& graph_;
  const FusionOptions& options_;
  Partition parts_;
  std::map<std::pair<uint32_t, uint32_t>, LedgerEdge> edges_;
  std::unordered_map<uint32_t, std::vector<size_t>> loadedBy_;  // stored value -> drafts that load it, latest last
  std::unordered_map<uint32_t, size_t> epilogueOf_;             // node -> draft of its library call
  std::unordered_map<size_t, std::vector<ValueId>> replicas_;
};

/// What region d computes and loads, from its outputs down.
void Planner::collect(size_t d, Region& region) {
  std::vector<bool> seen(graph_.size(), false);
  std::vector<ValueId> work;
  auto visit = [&](ValueId v) {
    if (!seen[v.index]) seen[v.index] = true, work.push_back(v);
  };
  for (ValueId v : region.outputs) visit(v);
  while (!work.empty()) {
    const ValueId v = work.back();
    work.pop_back();
    const Node& node = graph_.node(v);
    const bool member = parts_.draftOf[v.index] == static_cast<int64_t>(d);
    // What was to be computed here again stays so though another region has it stored since: nothing orders the two.
    const int64_t from = parts_.draftOf[v.index];
    const bool inPlace = member || parts_.isView[v.index] || isFree(node.op) || isElementwise(node.op);
    if (!member && parts_.stored[v.index] && (!inPlace || from < 0 || parts_.dependsOn(d, static_cast<size_t>(from)))) {
      region.inputs.push_back(v);
      continue;
    }
    if (!inPlace) {
      parts_.stored[v.index] = true;
      region.inputs.push_back(v);
      continue;
    }
    region.nodes.push_back(v);
    for (ValueId operand : node.operands) visit(operand);
  }
  std::sort(region.nodes.begin(), region.nodes.end());
  std::sort(region.inputs.begin(), region.inputs.end());
}

FusionPlan Planner::finish() {
  FusionPlan plan;
  plan.aliasOf.resize(graph_.size());
  for (size_t i = graph_.size(); i-- > 0;) {
    const Node& node = graph_.node(ValueId(i));
    if (!std::holds_alternative<Reshape>(node.op) || !parts_.isView[i]) continue;
    const bool product = std::any_of(parts_.readers[i].begin(), parts_.readers[i].end(), [&](ValueId r) {
      const int64_t d = parts_.draftOf[r.index];
      return d >= 0 && parts_.drafts[d].kind == RegionKind::contract;
    });
    if (parts_.isOutput[i] || product || plan.aliasOf[i]) plan.aliasOf[i] = node.operands[0];
    if (plan.aliasOf[i] && std::holds_alternative<Reshape>(graph_.node(node.operands[0]).op))
      plan.aliasOf[node.operands[0].index] = graph_.node(node.operands[0]).operands[0];
  }
  const std::vector<size_t> order = runOrder();
  for (size_t k = order.size(); k-- > 0;) {  // readers first: they say what must be stored
    auto& draft = parts_.drafts[order[k]];
    Region region;
    region.kind = draft.kind;
    region.domain = draft.domain;
    region.folded = draft.folded;
    region.tier = draft.tier;
    region.contraction = draft.contraction;
    region.epilogue = draft.epilogue;
    for (ValueId m : draft.members)
      if (parts_.stored[m.index] || parts_.isOutput[m.index])
        region.outputs.push_back(m), parts_.stored[m.index] = true;
    if (region.outputs.empty()) continue;
    collect(order[k], region);
    plan.regions.push_back(std::move(region));
  }
  std::reverse(plan.regions.begin(), plan.regions.end());
  std::vector<LedgerEdge> edges;
  for (auto& [key, edge] : edges_) edges.push_back(std::move(edge));
  if (options_.fuse) joinRegions(graph_, options_, plan, edges);
  for (size_t i = 0; i < plan.regions.size(); ++i) plan.regions[i].id = RegionId(i);
  plan.ledger = writeLedger(graph_, options_, plan, edges, parts_.isView);
  return plan;
}

}  // namespace

FusionPlan planFusion(const Graph& graph, const FusionOptions& options) {
  FusionPlan plan = Planner(graph, options).run();
  if (!options.fuse || plan.ledger.fusedMicroseconds <= plan.ledger.unfusedMicroseconds) return plan;
  FusionOptions apart = options;
  apart.fuse = false;
  plan = Planner(graph, apart).run();
  plan.ledger.notes.push_back("fused, the graph was predicted to be slower than op by op: it runs op by op");
  return plan;
}

}  // namespace tokamak
