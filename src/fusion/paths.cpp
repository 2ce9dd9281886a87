#include "fusion/paths.h"

#include "fusion/access.h"

namespace tokamak {

namespace {

/// Identity and broadcasts show in the strides: those of the shape itself, or of the shape without the dropped axes.
Source classify(const Graph& graph, const Shape& shape, const Access& access) {
  Source out{access.value, PathKind::other, {}};
  if (access.masked || !access.offset.is(0)) return out;
  Dim stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (access.opaque[i]) return out;
    if (shape[i].is(1)) continue;
    if (access.stride[i].is(0))
      out.dropped.insert(out.dropped.begin(), static_cast<Axis>(i));
    else if (!(access.stride[i] == stride))
      return out;
    else
      stride = stride * shape[i];
  }
  if (!(graph.type(access.value).elements() == stride)) return out;
  out.path = out.dropped.empty() ? PathKind::identity : PathKind::broadcast;
  return out;
}

void follow(const Graph& graph, ValueId operand, const Shape& shape, const std::vector<bool>& isView, bool direct,
            std::vector<Source>& out) {
  if (direct && !isView[operand.index]) {
    out.push_back({operand, PathKind::identity, {}});
    return;
  }
  if (direct) {
    // Leaves are whatever is no view; the walk passes through views only.
    const AccessMap map = mapAccesses(graph, shape, {operand}, [&](ValueId v) { return !isView[v.index]; });
    for (const Access& access : map.loads)
      if (access.value) out.push_back(classify(graph, shape, access));
    return;
  }
  if (!isView[operand.index]) {
    out.push_back({operand, PathKind::other, {}});
    return;
  }
  for (ValueId inner : graph.node(operand).operands) follow(graph, inner, shape, isView, false, out);
}

}  // namespace

std::vector<Source> sourcesOf(const Graph& graph, ValueId v, const std::vector<bool>& isView) {
  const Node& node = graph.node(v);
  std::vector<Source> out;
  const bool pointwise =
      isElementwise(node.op) || std::holds_alternative<Reduce>(node.op) || std::holds_alternative<Scan>(node.op);
  for (ValueId operand : node.operands) follow(graph, operand, graph.type(operand).shape, isView, pointwise, out);
  return out;
}

}  // namespace tokamak
