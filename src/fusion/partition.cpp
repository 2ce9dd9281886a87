#include "fusion/partition.h"

#include <fmt/format.h>

#include <algorithm>

#include "fusion/cost.h"
#include "fusion/weight.h"

namespace tokamak {

Partition::Partition(const Graph& graph, const FusionOptions& options) : graph_(graph), options_(options) {
  draftOf.assign(graph.size(), -1);
  isOutput.assign(graph.size(), false);
  stored.assign(graph.size(), false);
  for (ValueId v : graph.outputs()) isOutput[v.index] = true;
  findViews();
}

/// Free ops are views unless somebody needs them in memory: the caller, or a product that reads whole operands.
void Partition::findViews() {
  const size_t n = graph_.size();
  std::vector<bool> wanted(n, false);
  isView.assign(n, false);
  readers.resize(n);
  for (size_t i = n; i-- > 0;) {
    const ValueId v(i);
    const Node& node = graph_.node(v);
    const bool reshape = std::holds_alternative<Reshape>(node.op);
    if (isOutput[i]) wanted[i] = true;
    const bool product = std::holds_alternative<MatMul>(node.op) || std::holds_alternative<Conv>(node.op);
    if (isFree(node.op) && (!wanted[i] || reshape)) isView[i] = true;
    std::sort(readers[i].begin(), readers[i].end());  // complete: who reads it comes after it
    readers[i].erase(std::unique(readers[i].begin(), readers[i].end()), readers[i].end());
    for (ValueId operand : node.operands) {
      if (product || (reshape && wanted[i])) wanted[operand.index] = true;
      auto& list = readers[operand.index];
      if (isView[i])
        list.insert(list.end(), readers[i].begin(), readers[i].end());
      else
        list.push_back(v);
      if (isView[i] && wanted[i] && reshape) stored[operand.index] = true;
    }
    const bool source = std::holds_alternative<Input>(node.op) || std::holds_alternative<Constant>(node.op);
    if (source) stored[i] = true;
    // Whatever a product reads, or a reshape that is wanted itself, has to be in memory.
    if (wanted[i] && !isView[i]) stored[i] = true;
  }
}

static bool isFold(const Op& op) { return std::holds_alternative<Reduce>(op); }

static Shape keptShape(const Shape& domain, const std::vector<Axis>& folded) {
  Shape out;
  for (size_t i = 0; i < domain.size(); ++i)
    if (std::find(folded.begin(), folded.end(), Axis(i)) == folded.end()) out.push_back(domain[i]);
  return out;
}

/// Few rows with long folds are split over threads in two stages, which leaves no room for a second sweep.
static bool needsSplit(const Shape& domain, const std::vector<Axis>& folded, const FusionOptions& options) {
  double kept = 1, fold = 1;
  for (size_t i = 0; i < domain.size(); ++i)
    (std::find(folded.begin(), folded.end(), Axis(i)) == folded.end() ? kept : fold) *=
        likely(domain[i], options.hints);
  return isLongFold(kept, fold);
}

/// Whether a second sweep over what one iteration holds would still find it in cache.
static bool fitsCache(const Shape& domain, const std::vector<Axis>& folded, const FusionOptions& options) {
  double fold = 4;
  for (Axis a : folded) fold *= likely(domain[a], options.hints);
  size_t last = domain.size();
  while (last > 0 && domain[last - 1].is(1)) --last;
  const bool acrossColumns = last > 0 && std::find(folded.begin(), folded.end(), Axis(last - 1)) == folded.end();
  return fold * (acrossColumns ? 32 : 1) <= options.machine.rowBudgetBytes;
}

Decision Partition::admits(size_t d, ValueId v, const Source& source, std::string* rule) const {
  const Draft& draft = drafts[d];
  const Node& node = graph_.node(v);
  auto no = [&](const char* name, std::string reason) {
    *rule = name;
    return Decision::no(std::move(reason));
  };
  const auto label = [&] { return graph_.label(v); };
  const auto from = [&] { return graph_.label(source.value); };
  if (draft.weight + opWeight(node) > options_.machine.maxWeight)
    return no("too-heavy", fmt::format("the region of {} already holds {} element operations of at most {}", from(),
                                       draft.weight, options_.machine.maxWeight));
  const bool full = graph_.type(source.value).shape == draft.domain;
  if (draft.kind == RegionKind::scatter)
    return no("scatter-ends-region",
              fmt::format("{} is a scatter: its result is complete only when all of it has run", from()));
  if (draft.kind == RegionKind::contract) {
    if (draft.tier == Tier::library)
      return no("library-epilogue",
                fmt::format("the library has no epilogue for {} here, or a slow one", mnemonic(node.op)));
    if (!isElementwise(node.op) || source.path != PathKind::identity || !(node.type.shape == draft.domain))
      return no("product-ends-region", fmt::format("{} does not read the product {} point by point", label(), from()));
    *rule = "product-epilogue";
    return Decision::yes();
  }
  if (std::holds_alternative<Scatter>(node.op) || std::holds_alternative<MatMul>(node.op) ||
      std::holds_alternative<Conv>(node.op))
    return no("own-kernel", fmt::format("{} is {}, which has a kernel of its own", label(), mnemonic(node.op)));
  if (isFold(node.op)) {
    const auto& axes = std::get<Reduce>(node.op).axes;
    if (source.path != PathKind::identity || !full || !(graph_.type(node.operands[0]).shape == draft.domain))
      return no("not-point-by-point", fmt::format("{} does not fold {} as it lies", label(), from()));
    if (draft.kind == RegionKind::scan)
      return no("scan-then-fold", fmt::format("{} folds the scan {}", label(), from()));
    if (draft.kind == RegionKind::reduce && draft.folded != axes)
      return no("folds-differ",
                fmt::format("reduce declined: {} folds other axes than the folds of {}", label(), from()));
    if (draft.kind == RegionKind::pointwise && needsSplit(draft.domain, axes, options_) && draft.escapes > 1)
      return no("long-fold",
                fmt::format("{} folds few long rows in two stages, which cannot store {} as well", label(), from()));
    if (draft.kind == RegionKind::reduce && draft.split)
      return no("long-fold", fmt::format("{} would need a second sweep over rows too long to share out", label()));
    *rule = "fold-producer";
    return Decision::yes();
  }
  if (std::holds_alternative<Scan>(node.op)) {
    if (source.path != PathKind::identity || !full || !(node.type.shape == draft.domain))
      return no("not-point-by-point", fmt::format("{} does not run along {} as it lies", label(), from()));
    if (draft.kind != RegionKind::pointwise)
      return no("one-scan", fmt::format("{} runs along an axis of a region that folds", label()));
    *rule = "scan-producer";
    return Decision::yes();
  }
  const Shape& shape = node.type.shape;
  if (shape == draft.domain) {
    if (source.path == PathKind::identity && full) {
      if (draft.split)
        return no("long-fold", fmt::format("{} is wanted beside a fold of few long rows in two stages", label()));
      *rule = "same-domain";
      return Decision::yes();
    }
    if (source.path == PathKind::broadcast && draft.kind == RegionKind::reduce && source.dropped == draft.folded) {
      if (draft.split)
        return no("long-fold",
                  fmt::format("rows of {} are too long and too few: a second sweep could not be shared out", from()));
      if (!fitsCache(draft.domain, draft.folded, options_))
        return no(
            "row-beyond-cache",
            fmt::format("a row of {} does not stay in cache for a second sweep, so nothing would be saved", from()));
      *rule = "row-broadcast";
      return Decision::yes();
    }
    return no("other-place", fmt::format("{} reads {} at another place than it writes", label(), from()));
  }
  if (draft.kind == RegionKind::reduce && source.path == PathKind::identity &&
      shape == keptShape(draft.domain, draft.folded)) {
    *rule = "after-fold";
    return Decision::yes();
  }
  return no("shapes-differ", fmt::format("{} has shape {}, the region of {} runs over {}", label(), str(shape), from(),
                                         str(draft.domain)));
}

Decision Partition::mergeable(size_t a, size_t b) const {
  const Draft &x = drafts[a], &y = drafts[b];
  auto plain = [](const Draft& d) { return d.kind == RegionKind::pointwise || d.kind == RegionKind::reduce; };
  if (x.weight + y.weight > options_.machine.maxWeight) return Decision::no("together they are too heavy");
  const bool scanPair = (x.kind == RegionKind::scan && y.kind == RegionKind::pointwise) ||
                        (y.kind == RegionKind::scan && x.kind == RegionKind::pointwise);
  if (!scanPair && (!plain(x) || !plain(y))) return Decision::no("one of them is complete only when all of it has run");
  if (x.split || y.split) return Decision::no("one of them folds few long rows in two stages");
  if (dependsOn(a, b) || dependsOn(b, a)) return Decision::no("one of them loads what the other stores");
  auto rowLevel = [](const Draft& fold, const Draft& other) {
    return fold.kind == RegionKind::reduce && other.kind == RegionKind::pointwise &&
           other.domain == keptShape(fold.domain, fold.folded);
  };
  if (!(x.domain == y.domain) && !rowLevel(x, y) && !rowLevel(y, x))
    return Decision::no("they run over different shapes");
  if (x.kind == RegionKind::reduce && y.kind == RegionKind::reduce && x.folded != y.folded)
    return Decision::no("they fold different axes");
  for (size_t between = 0; between < drafts.size(); ++between) {
    if (between == a || between == b || !drafts[between].alive) continue;
    if ((dependsOn(between, a) && dependsOn(b, between)) || (dependsOn(between, b) && dependsOn(a, between)))
      return Decision::no("another kernel has to run between them");
  }
  return Decision::yes();
}

size_t Partition::found(ValueId v) {
  const Node& node = graph_.node(v);
  Draft draft;
  draft.domain = node.type.shape;
  if (isFold(node.op)) draft.domain = graph_.type(node.operands[0]).shape;
  if (std::holds_alternative<Scatter>(node.op)) draft.kind = RegionKind::scatter;
  if (std::holds_alternative<MatMul>(node.op) || std::holds_alternative<Conv>(node.op))
    draft.kind = RegionKind::contract, draft.contraction = v;
  drafts.push_back(std::move(draft));
  for (Draft& d : drafts) d.ancestors.resize((drafts.size() + 63) / 64, 0);
  add(drafts.size() - 1, v);
  return drafts.size() - 1;
}

void Partition::add(size_t d, ValueId v) {
  Draft& draft = drafts[d];
  const Node& node = graph_.node(v);
  if (auto* op = std::get_if<Reduce>(&node.op)) {
    draft.kind = RegionKind::reduce;
    draft.folded = op->axes;
    draft.split = needsSplit(draft.domain, op->axes, options_);
  }
  if (auto* op = std::get_if<Scan>(&node.op)) draft.kind = RegionKind::scan, draft.folded = {op->axis};
  // Reads of other members by v no longer leave the region.
  for (ValueId m : draft.members) {
    const auto& r = readers[m.index];
    if (std::binary_search(r.begin(), r.end(), v)) --draft.escapes;
  }
  draft.members.push_back(v);
  draft.weight += opWeight(node);
  draft.escapes += static_cast<int64_t>(readers[v.index].size()) + isOutput[v.index];
  draftOf[v.index] = static_cast<int64_t>(d);
}

bool Partition::dependsOn(size_t d, size_t on) const { return drafts[d].ancestors[on / 64] >> (on % 64) & 1; }

void Partition::depend(size_t d, size_t on) {
  if (d == on || dependsOn(d, on)) return;
  std::vector<uint64_t> more = drafts[on].ancestors;
  more[on / 64] |= uint64_t{1} << (on % 64);
  for (size_t x = 0; x < drafts.size(); ++x) {
    if (x != d && !dependsOn(x, d)) continue;
    for (size_t k = 0; k < more.size(); ++k) drafts[x].ancestors[k] |= more[k];
  }
}

bool Partition::acyclic(size_t d, const std::vector<size_t>& producers) const {
  return std::none_of(producers.begin(), producers.end(), [&](size_t p) { return p != d && dependsOn(p, d); });
}

void Partition::merge(size_t into, size_t from) {
  Draft &a = drafts[into], &b = drafts[from];
  if (b.kind != RegionKind::pointwise) {
    a.kind = b.kind;
    a.folded = b.folded;
    a.domain = b.domain;
  }
  for (ValueId m : b.members) draftOf[m.index] = static_cast<int64_t>(into);
  a.members.insert(a.members.end(), b.members.begin(), b.members.end());
  std::sort(a.members.begin(), a.members.end());
  a.weight += b.weight;
  a.escapes = 0;
  for (ValueId m : a.members) {
    a.escapes += isOutput[m.index];
    for (ValueId r : readers[m.index]) a.escapes += draftOf[r.index] != static_cast<int64_t>(into);
  }
  b.alive = false;
  const size_t bit = from / 64;
  std::vector<uint64_t> more = a.ancestors;
  for (size_t k = 0; k < more.size(); ++k) more[k] |= b.ancestors[k];
  const auto clear = [&](std::vector<uint64_t>& set) {
    set[bit] &= ~(uint64_t{1} << (from % 64));
    set[into / 64] &= ~(uint64_t{1} << (into % 64));
  };
  clear(more);
  a.ancestors = more;
  more[into / 64] |= uint64_t{1} << (into % 64);
  for (size_t x = 0; x < drafts.size(); ++x) {
    if (x == into || !(dependsOn(x, into) || dependsOn(x, from))) continue;
    for (size_t k = 0; k < more.size(); ++k) drafts[x].ancestors[k] |= more[k];
    drafts[x].ancestors[bit] &= ~(uint64_t{1} << (from % 64));
  }
}

}  // namespace tokamak
