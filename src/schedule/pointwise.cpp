#include "schedule/pointwise.h"

#include <fmt/format.h>

#include <algorithm>

#include "fusion/cost.h"
#include "schedule/grain.h"
#include "schedule/prefetch.h"
#include "schedule/transpose.h"

namespace tokamak::schedule {

using kernel::Binding;

std::string Pointwise::Plan::str() const {
  std::string out = fmt::format("{} lanes", wide);
  if (narrow != wide) out += fmt::format(", tail {}", narrow);
  if (chunk) out += fmt::format(", chunks of {}", chunk);
  if (tile) out += fmt::format(", tiles {}x{}", tile, tile);
  if (rowsAhead) out += fmt::format(", tables {} rows ahead", rowsAhead);
  if (streaming != Streaming::no)
    out += streaming == Streaming::yes ? ", streaming stores" : ", streaming stores when large";
  return out;
}

Decision Pointwise::accepts(const Graph& graph, const Region& region) const {
  for (ValueId v : region.outputs)
    if (!(graph.type(v).shape == region.domain))
      return Decision::no(fmt::format("pointwise declined: {} has shape {}, the region's domain is {}", graph.label(v),
                                      str(graph.type(v).shape), str(region.domain)));
  for (ValueId v : region.nodes)
    if (std::holds_alternative<Reduce>(graph.node(v).op) || std::holds_alternative<Scan>(graph.node(v).op))
      return Decision::no(fmt::format("pointwise declined: {} folds an axis", graph.label(v)));
  return Decision::yes();
}

Pointwise::Plan Pointwise::plan(const Graph& graph, const Region& region, const DimBindings& hints,
                                const Device& device) const {
  Plan plan;
  std::vector<bool> isLeaf(graph.size(), false);
  for (ValueId v : region.inputs) isLeaf[v.index] = true;
  const AccessMap accesses =
      mapAccesses(graph, region.domain, region.outputs, [&](ValueId v) { return isLeaf[v.index]; });
  const auto groups = collapse(region.domain, accesses);
  const int64_t weight = std::max<int64_t>(1, regionWeight(graph, region));
  const int lanes = device.vectorBytes / 4;
  plan.narrow = lanes;
  plan.wide = lanes * (weight <= 6 ? 4 : weight <= 10 ? 2 : 1);
  if (groups.empty()) {
    plan.wide = plan.narrow = 1;
    return plan;
  }
  const double inner = likely(groups.back().extent, hints);
  const double total = likely(elementCount(region.domain), hints);
  if (!acrossLoads(accesses, groups).empty()) {
    plan.tile = 64;
    for (ValueId v : region.inputs) plan.tile = byteWidth(graph.type(v).dtype) > 4 ? 32 : plan.tile;
    plan.wide = lanes;
  }
  if (groups.size() == 1)
    plan.grain = worthAThread(static_cast<double>(weight), plan.wide);
  else {
    const double outer = total / std::max(1.0, inner);
    if (outer < 4 * device.threads && inner > 8192) plan.chunk = 8192;
    plan.grain = worthAThread(static_cast<double>(weight), plan.chunk ? static_cast<double>(plan.chunk) : inner);
  }
  plan.streaming = streamingOf(graph, region, device);
  plan.fetches = weight > 6;
  if (groups.size() > 1 && !plan.chunk) plan.rowsAhead = rowsAheadOf(graph, region, inner, hints, device);
  plan.streamBytes = device.streamBytes;
  return plan;
}

Scheduled Pointwise::lower(const Graph& graph, const Region& region, const Plan& plan,
                           const std::string& kernelName) const {
  Lowering l(graph, region, kernelName);
  Emitter& e = l.e;
  const AccessMap accesses =
      mapAccesses(graph, region.domain, region.outputs, [&](ValueId v) { return l.isLeaf[v.index]; });
  const auto groups = collapse(region.domain, accesses);
  const size_t rank = region.domain.size();
  bool past = false;  // the caches
  auto storeAll = [&](const At& at) {
    for (ValueId v : region.outputs) l.store(v, at, past);
  };
  if (groups.empty()) {
    storeAll(At{domainIndex(IndexMath(l.w, 1), rank, {}, {}), 1, {}, {}});
    return std::move(l).finish(std::string(name), plan.str());
  }
  if (plan.tile) {
    past = plan.streaming == Streaming::yes;
    lowerTiles(l, accesses, groups, {plan.tile, plan.narrow, plan.streaming != Streaming::no}, plan.grain, storeAll);
    return std::move(l).finish("transpose", plan.str());
  }
  VectorLoop vectors{plan.wide, plan.narrow, Binding::serial, 1};
  std::vector<Index> index(groups.size()), ahead;  // ahead: some rows later
  auto body = [&](const Index& j, const At& lanes) {
    At at = lanes;
    index.back() = j;
    at.index = domainIndex(e.math(lanes), rank, groups, index);
    // In front of the stores: a load or prefetch behind a store to the same place of another page waits for it.
    if (past && plan.fetches && !at.tail) fetchAhead(l, accesses, at, groups.back().last);
    if (!ahead.empty() && !at.tail) {
      ahead.back() = j;
      fetchPicked(l, At{domainIndex(e.math(lanes), rank, groups, ahead), lanes.lanes, {}, {}});
    }
    storeAll(at);
  };
  const Dim inner = groups.back().extent;
  l.withStreaming(plan.streaming, plan.streamBytes, [&](bool streaming) {
    past = streaming;
    if (groups.size() == 1) {
      vectors.binding = Binding::parallel;
      vectors.grain = plan.grain;
      overVectors(e, vectors, 0, inner, body);
      return;
    }
    std::vector<Dim> outer;
    for (size_t g = 0; g + 1 < groups.size(); ++g) outer.push_back(groups[g].extent);
    if (plan.chunk) outer.push_back(Dim::ceilDiv(inner, plan.chunk));
    e.loop(
        "i", l.w.i64(0), l.w.dim(elementCount(outer)), 1, Binding::parallel,
        [&](ExprId i) {
          const auto parts = unflatten(IndexMath(l.w, 1), {i, 0, 1, {}}, outer);
          for (size_t g = 0; g + 1 < groups.size(); ++g) {
            index[g] = parts[g];
            index[g].base = l.w.let("i", index[g].base);
          }
          if (plan.rowsAhead > 0) {
            const ExprId last = l.w.sub(l.w.dim(elementCount(outer)), l.w.i64(1));
            const ExprId later =
                l.w.let("ahead", l.w.binary(BinaryKind::min, l.w.add(i, l.w.i64(plan.rowsAhead)), last));
            ahead = unflatten(IndexMath(l.w, 1), {later, 0, 1, {}}, outer);
            for (Index& k : ahead) k.base = l.w.let("ahead", k.base);
            ahead.emplace_back();
          }
          if (!plan.chunk) return overVectors(e, vectors, 0, inner, body);
          const ExprId begin = l.w.let("begin", l.w.mul(parts.back().base, l.w.i64(plan.chunk)));
          const ExprId end =
              l.w.let("end", l.w.binary(BinaryKind::min, l.w.add(begin, l.w.i64(plan.chunk)), l.w.dim(inner)));
          overVectors(e, vectors, begin, plan.chunk, end, body);
        },
        plan.grain);
  });
  return std::move(l).finish(std::string(name), plan.str());
}

}  // namespace tokamak::schedule
