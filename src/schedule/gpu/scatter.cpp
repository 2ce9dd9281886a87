#include "schedule/gpu/scatter.h"

#include <fmt/format.h>

#include <algorithm>

#include "fusion/cost.h"
#include "schedule/gpu/stages.h"
#include "schedule/scatter.h"

namespace tokamak::schedule::gpu {

using kernel::Binding;

std::string ScatterUpdates::Plan::str() const {
  return fmt::format("{} lanes copied, then {}{} threads, {} lanes", copyLanes,
                     owners ? fmt::format("{} owners, ", owners) : "", threads, lanes);
}

Decision ScatterUpdates::accepts(const Graph& graph, const Region& region) const {
  return schedule::ScatterUpdates{}.accepts(graph, region);
}

/// Whether the index is one for all points of the axes after the scattered one.
static bool isOneForRows(const Graph& graph, const Region& region, ValueId where, Axis axis) {
  std::vector<bool> isLeaf(graph.size(), false);
  for (ValueId v : region.inputs) isLeaf[v.index] = true;
  const Shape& shape = graph.type(where).shape;
  const AccessMap map = mapAccesses(graph, shape, {where}, [&](ValueId v) { return isLeaf[v.index]; });
  for (size_t i = static_cast<size_t>(axis) + 1; i < shape.size(); ++i) {
    if (shape[i].is(1)) continue;
    if (map.pinned[i]) return false;
    for (const Access& access : map.loads)
      if (access.opaque[i] || !access.stride[i].is(0)) return false;
  }
  return true;
}

ScatterUpdates::Plan ScatterUpdates::plan(const Graph& graph, const Region& region, const DimBindings& hints,
                                          const Device& device) const {
  Plan plan;
  const Node& node = graph.node(region.outputs[0]);
  if (node.type.rank() == 0) return plan;
  const int most = kAccessBytes / static_cast<int>(byteWidth(node.type.dtype));
  plan.copyLanes = static_cast<int>(powerIn(node.type.shape.back(), most));
  const bool across = std::get<Scatter>(node.op).axis != static_cast<Axis>(node.type.rank()) - 1;
  if (across) plan.lanes = static_cast<int>(powerIn(graph.type(node.operands[1]).shape.back(), plan.copyLanes));
  // Many updates of few columns are shared out by target.
  const Shape& updates = graph.type(node.operands[1]).shape;
  const Axis axis = std::get<Scatter>(node.op).axis;
  const double count = likely(updates[axis], hints),
               columns = likely(elementCount(updates), hints) / std::max(1.0, count);
  if (count < 64 || columns / plan.lanes > 1e5 || !isOneForRows(graph, region, node.operands[1], axis)) return plan;
  double outer = 1;
  for (Axis a = 0; a < axis; ++a) outer *= likely(updates[a], hints);
  plan.threads = 256;
  plan.owners = static_cast<int>(std::clamp(8.0 * device.gpu->multiprocessors / std::max(1.0, outer), 1.0,
                                            std::max(1.0, likely(node.type.shape[axis], hints))));
  return plan;
}

namespace {

/// Runs `body` on a thread for each of `count` things.
void overThings(Lowering& l, const Dim& count, int threads, const Dim& slack, const std::function<void(ExprId)>& body) {
  overGrid(l, Dim::ceilDiv(count, threads), threads, slack, [&](ExprId b, ExprId t) {
    const ExprId id = l.w.let("id", l.w.add(l.w.mul(b, l.w.i64(threads)), t));
    l.w.when(l.w.binary(BinaryKind::lt, id, l.w.dim(count)), l.e.scoped([&] { body(id); }));
  });
}

void lowerCopy(Lowering& l, int lanes) {
  constexpr int kThreads = 256;
  Writer& w = l.w;
  const ValueId out = l.region.outputs[0];
  const Node& node = l.graph.node(out);
  std::vector<Dim> extents = node.type.shape;
  if (!extents.empty()) extents.back() = Dim::ceilDiv(extents.back(), lanes);
  overThings(l, elementCount(extents), kThreads, 1 << 16, [&](ExprId id) {
    At at{unflatten(IndexMath(w, 1), {id, 0, 1, {}}, extents), lanes, {}, {}};
    if (!at.index.empty()) at.index.back() = {w.mul(at.index.back().base, w.i64(lanes)), lanes > 1, lanes, {}};
    const BufferId result = l.outputBuffers[0];
    l.e.storeFlat(result, l.e.flatten(node.type.shape, at), at, l.e.value(node.operands[0], at), node.type.dtype);
  });
}

void lowerUpdates(Lowering& l, const ScatterUpdates::Plan& plan) {
  Writer& w = l.w;
  const Node& node = l.graph.node(l.region.outputs[0]);
  const auto& op = std::get<Scatter>(node.op);
  const ValueId where = node.operands[1], source = node.operands[2];
  const Shape &shape = node.type.shape, &updates = l.graph.type(where).shape;
  const size_t rank = shape.size();
  std::vector<Dim> outer;
  std::vector<size_t> axes;
  for (size_t a = 0; a < rank; ++a)
    if (static_cast<Axis>(a) != op.axis) {
      outer.push_back(a + 1 == rank ? Dim::ceilDiv(updates[a], plan.lanes) : updates[a]);
      axes.push_back(a);
    }
  const BufferId result = l.outputBuffers[0];
  overThings(l, elementCount(outer), plan.threads, elementCount(updates) + Dim(1 << 16), [&](ExprId id) {
    const auto parts = unflatten(IndexMath(w, 1), {id, 0, 1, {}}, outer);
    At at{std::vector<Index>(rank, Index{w.i64(0), 0, 0, {}}), plan.lanes, {}, {}};
    for (size_t k = 0; k < axes.size(); ++k) {
      at.index[axes[k]] = parts[k];
      at.index[axes[k]].base = w.let("i", parts[k].base);
      if (axes[k] + 1 == rank && plan.lanes > 1)
        at.index[axes[k]] = {w.let("column", w.mul(at.index[axes[k]].base, w.i64(plan.lanes))), 1, plan.lanes, {}};
    }
    l.e.loop("k", w.i64(0), rank == 0 ? w.i64(1) : w.dim(updates[op.axis]), 1, Binding::serial, [&](ExprId k) {
      At there = at;
      if (rank > 0) there.index[op.axis] = at.index[op.axis] = {k, 0, 1, {}};
      const ExprId extent = rank > 0 ? w.dim(shape[op.axis]) : w.i64(1);
      ExprId target = w.convert(l.e.value(where, at), DType::i64);
      target = w.let("target", w.select(w.binary(BinaryKind::lt, target, w.i64(0)), w.add(target, extent), target));
      there.mask = w.let("inside", w.binary(BinaryKind::bit_and, w.binary(BinaryKind::ge, target, w.i64(0)),
                                            w.binary(BinaryKind::lt, target, extent)));
      const ExprId x = l.e.value(source, at);
      if (rank > 0) there.index[op.axis] = IndexMath(w, plan.lanes).fromExpr(target);
      const Index flat = l.e.flatten(shape, there);
      const DType dtype = node.type.dtype;
      const ExprId old = op.kind == ScatterKind::set ? ExprId{} : l.e.loadFlat(result, flat, there, dtype);
      l.e.storeFlat(result, flat, there, combined(w, op.kind, old, x), dtype);
    });
  });
}

}  // namespace

Scheduled ScatterUpdates::lower(const Graph& graph, const Region& region, const Plan& plan,
                                const std::string& kernelName) const {
  const Node& node = graph.node(region.outputs[0]);
  auto memory = std::make_shared<RegionMemory>();
  std::vector<Scheduled> launches;
  const Region first = partOf(graph, region, {node.operands[0]});
  Lowering copy(graph, first, kernelName, memory);
  lowerCopy(copy, plan.copyLanes);
  launches.push_back(std::move(copy).finish("", ""));
  memory->updates = true;
  const Region second = partOf(graph, region, {node.operands[1], node.operands[2]});
  Lowering updates(graph, second, kernelName, memory);
  plan.owners ? lowerOwners(updates, plan) : lowerUpdates(updates, plan);
  launches.push_back(std::move(updates).finish("", ""));
  return joined(std::move(launches), std::string(name), plan.str());
}

}  // namespace tokamak::schedule::gpu
