#include "schedule/scatter.h"

#include <fmt/format.h>

#include <algorithm>

#include "fusion/cost.h"

namespace tokamak::schedule {

using kernel::Binding;

ExprId combined(Writer& w, ScatterKind kind, ExprId old, ExprId x) {
  switch (kind) {
    case ScatterKind::set: return x;
    case ScatterKind::add: return w.binary(BinaryKind::add, old, x);
    case ScatterKind::mul: return w.binary(BinaryKind::mul, old, x);
    case ScatterKind::max: return w.binary(BinaryKind::max, old, x);
    case ScatterKind::min: return w.binary(BinaryKind::min, old, x);
  }
  return x;
}

std::string ScatterUpdates::Plan::str() const { return fmt::format("{} lanes", lanes); }

Decision ScatterUpdates::accepts(const Graph& graph, const Region& region) const {
  if (region.outputs.size() != 1 || !opAs<Scatter>(graph, region.outputs[0]))
    return Decision::no("scatter declined: the region is no single scatter");
  return Decision::yes();
}

ScatterUpdates::Plan ScatterUpdates::plan(const Graph& graph, const Region& region, const DimBindings& hints,
                                          const Device& device) const {
  return {device.vectorBytes / 4, 1};
}

Scheduled ScatterUpdates::lower(const Graph& graph, const Region& region, const Plan& plan,
                                const std::string& kernelName) const {
  Lowering l(graph, region, kernelName);
  Writer& w = l.w;
  const ValueId out = region.outputs[0];
  const Node& node = graph.node(out);
  const auto& op = std::get<Scatter>(node.op);
  const ValueId base = node.operands[0], where = node.operands[1], source = node.operands[2];
  const Shape &shape = node.type.shape, &updates = graph.type(where).shape;
  const DType dtype = node.type.dtype;
  const BufferId result = l.outputBuffers[0];
  const size_t rank = shape.size();

  if (rank == 0) {  // one element: the update replaces or joins it
    const At at{{}, 1, {}, {}};
    const ExprId old = l.e.value(base, at), x = l.e.value(source, at);
    const ExprId index = w.convert(l.e.value(where, at), DType::i64);
    const ExprId hit = w.binary(BinaryKind::bit_or, w.binary(BinaryKind::eq, index, w.i64(0)),
                                w.binary(BinaryKind::eq, index, w.i64(-1)));
    l.e.storeFlat(result, Index{w.i64(0), 0, 0, {}}, at, w.select(hit, combined(w, op.kind, old, x), old), dtype);
    return std::move(l).finish(std::string(name), plan.str());
  }
  const VectorLoop vectors{plan.lanes, plan.lanes, Binding::serial, 1};
  std::vector<Dim> rows(shape.begin(), shape.end() - 1);
  l.e.loop(
      "i", w.i64(0), w.dim(elementCount(rows)), 1, Binding::parallel,
      [&](ExprId i) {
        auto index = unflatten(IndexMath(w, 1), {i, 0, 1, {}}, rows);
        index.push_back({});
        overVectors(l.e, vectors, 0, shape.back(), [&](const Index& j, const At& lanes) {
          At at = lanes;
          index.back() = j;
          at.index = index;
          l.e.storeFlat(result, l.e.flatten(shape, at), at, l.e.value(base, at), dtype);
        });
      },
      16);

  // Updates: every axis but the scattered one in parallel; lanes run along the last axis unless that is the scattered
  // one.
  const bool across = op.axis != static_cast<Axis>(rank) - 1;
  std::vector<Dim> outer;
  std::vector<size_t> outerAxes;
  for (size_t a = 0; a < rank; ++a)
    if (static_cast<Axis>(a) != op.axis && !(across && a == rank - 1))
      outer.push_back(updates[a]), outerAxes.push_back(a);
  const int lanes = across ? plan.lanes : 1;
  const Dim strips = across ? Dim::ceilDiv(updates.back(), lanes) : Dim(1);
  outer.push_back(strips);
  l.e.loop("u", w.i64(0), w.dim(elementCount(outer)), 1, Binding::parallel, [&](ExprId u) {
    const auto parts = unflatten(IndexMath(w, 1), {u, 0, 1, {}}, outer);
    std::vector<Index> index(rank, Index{w.i64(0), 0, 0, {}});
    for (size_t k = 0; k < outerAxes.size(); ++k) index[outerAxes[k]] = parts[k];
    auto update = [&](const At& lanesAt) {
      l.e.loop("k", w.i64(0), w.dim(updates[op.axis]), 1, Binding::serial, [&](ExprId k) {
        At at = lanesAt;
        index[op.axis] = {k, 0, 1, {}};
        at.index = index;
        IndexMath m(w, at.lanes);
        const ExprId extent = w.dim(shape[op.axis]);
        ExprId target = w.convert(l.e.value(where, at), DType::i64);
        target = w.let("target", w.select(w.binary(BinaryKind::lt, target, w.i64(0)), w.add(target, extent), target));
        const ExprId inside = w.let("inside", w.binary(BinaryKind::bit_and, w.binary(BinaryKind::ge, target, w.i64(0)),
                                                       w.binary(BinaryKind::lt, target, extent)));
        const ExprId x = l.e.value(source, at);
        At there = at;
        there.index[op.axis] = m.fromExpr(target);
        there.mask = w.both(at.mask, inside);
        const Index flat = l.e.flatten(shape, there);
        const ExprId old = op.kind == ScatterKind::set ? ExprId{} : l.e.loadFlat(result, flat, there, dtype);
        l.e.storeFlat(result, flat, there, combined(w, op.kind, old, x), dtype);
      });
    };
    if (!across) return update(At{{}, 1, {}, {}});
    const ExprId begin = w.let("begin", w.mul(parts.back().base, w.i64(lanes)));
    const ExprId end = w.let("end", w.binary(BinaryKind::min, w.add(begin, w.i64(lanes)), w.dim(updates.back())));
    overVectors(l.e, vectors, begin, lanes, end, [&](const Index& j, const At& at) {
      index.back() = j;
      update(at);
    });
  });
  return std::move(l).finish(std::string(name), plan.str());
}

}  // namespace tokamak::schedule
