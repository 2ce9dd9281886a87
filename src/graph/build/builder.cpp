#include "graph/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/infer/site.h"

namespace tokamak {

Builder::Builder(std::string name) { graph_.name = std::move(name); }

ValueId Builder::fail(Diagnostic error) {
  if (!error_) error_ = std::move(error);
  return {};
}

ValueId Builder::fail(std::string code, std::string message, std::string hint) {
  return fail(Diagnostic{std::move(code), {}, std::move(message), std::move(hint)});
}

bool Builder::usable(const std::vector<ValueId>& values) {
  for (ValueId v : values)
    if (!error_ && (!v.valid() || v.index >= graph_.size()))
      fail("T0213", "an operand is not a value of this graph", "pass what this builder's input() or ops returned");
  return !error_;
}

const TensorType& Builder::type(ValueId v) const {
  static const TensorType none;
  return v.valid() && v.index < graph_.size() ? graph_.type(v) : none;
}

ValueId Builder::input(std::string name, DType dtype, Shape shape) {
  if (error_) return {};
  TensorType type{dtype, std::move(shape)};
  if (auto status = infer::checkType(type); !status) return fail(status.error());
  return graph_.addInput(std::move(name), std::move(type));
}

ValueId Builder::apply(Op op, std::vector<ValueId> operands, const TensorType* declared) {
  if (!usable(operands)) return {};
  if (std::holds_alternative<Input>(op)) return fail("T0213", "an input is not an op", "call input()");
  std::vector<TensorType> types;
  types.reserve(operands.size());
  for (ValueId v : operands) types.push_back(graph_.type(v));
  if (declared)
    if (auto status = infer::checkType(*declared); !status) return fail(status.error());
  auto type = infer::inferAt({op, types, declared, [&](size_t i) { return graph_.label(operands[i]); }});
  if (!type) return fail(type.error());
  return graph_.append(Node{std::move(op), std::move(operands), std::move(*type), {}, {}});
}

ValueId Builder::constant(Array data) { return apply(Constant{std::make_shared<const Array>(std::move(data))}, {}); }

ValueId Builder::full(Scalar value, DType dtype, Shape shape) {
  const TensorType type{dtype, std::move(shape)};
  return apply(Full{value}, {}, &type);
}

ValueId Builder::iota(DType dtype, Shape shape, Axis axis) {
  const auto front = frontAxis(axis, shape.size());
  if (!front) return {};
  const TensorType type{dtype, std::move(shape)};
  return apply(Iota{*front}, {}, &type);
}

ValueId Builder::random(ValueId seed, ValueId offset, RandomKind kind, DType dtype, Shape shape) {
  const TensorType type{dtype, std::move(shape)};
  return apply(Random{kind}, {seed, offset}, &type);
}

std::optional<Axis> Builder::frontAxis(Axis axis, size_t rank) {
  if (error_) return std::nullopt;
  const Axis n = std::max<Axis>(1, static_cast<Axis>(rank));
  if (axis >= -n && axis < n) return axis < 0 ? axis + n : axis;
  fail("T0204", fmt::format("axis {} is outside rank {}", axis, rank),
       fmt::format("axes count from 0 to {}, or from -1 to {}", n - 1, -n));
  return std::nullopt;
}

std::optional<std::vector<Axis>> Builder::frontAxes(std::vector<Axis> axes, size_t rank) {
  for (Axis& axis : axes) {
    const auto front = frontAxis(axis, rank);
    if (!front) return std::nullopt;
    axis = *front;
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) == axes.end()) return axes;
  fail("T0204", "an axis is given twice", "list each axis once");
  return std::nullopt;
}

void Builder::output(ValueId value) {
  if (usable({value})) graph_.addOutput(value);
}

/// A copy with the inputs first, as the program text has them.
static Graph withInputsFirst(const Graph& graph) {
  Graph out;
  out.name = graph.name;
  std::vector<ValueId> moved(graph.size());
  for (ValueId v : graph.inputs()) moved[v.index] = out.addInput(graph.node(v).name, graph.type(v));
  for (size_t i = 0; i < graph.size(); ++i) {
    Node node = graph.nodes()[i];
    if (std::holds_alternative<Input>(node.op)) continue;
    for (ValueId& operand : node.operands) operand = moved[operand.index];
    moved[i] = out.append(std::move(node));
  }
  for (ValueId v : graph.outputs()) out.addOutput(moved[v.index]);
  return out;
}

Result<Graph> Builder::finish() {
  if (error_) return *error_;
  Graph graph = withInputsFirst(graph_);
  TK_RETURN_IF_ERROR(verify(graph));
  return graph;
}

}  // namespace tokamak
