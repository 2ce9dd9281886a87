#include "passes/fold_constants.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/interp/evaluate.h"
#include "passes/rewriter.h"
#include "passes/shape_ops.h"

namespace tokamak {

namespace {

bool isKnown(const Op& op) {
  return std::holds_alternative<Constant>(op) || std::holds_alternative<Full>(op) || std::holds_alternative<Iota>(op);
}

/// The value of `node` whose operands are copies of `operands`; nothing if a half would lose bits or it cannot be told.
std::optional<Array> evaluateNode(const Node& node, const std::vector<Node>& operands) {
  Graph graph;
  Node copy = node;
  for (size_t i = 0; i < operands.size(); ++i) copy.operands[i] = graph.append(operands[i]);
  const TensorType type = copy.type;
  const ValueId result = graph.append(std::move(copy));
  graph.addOutput(result);
  if (isHalf(type.dtype)) graph.addOutput(graph.append({Cast{true}, {result}, {DType::f64, type.shape}, {}, {}}));
  auto values = evaluate(graph, {}, EvalPrecision::wide);
  if (!values) return std::nullopt;
  if (isHalf(type.dtype))
    for (int64_t i = 0; i < (*values)[0].size(); ++i) {
      const double rounded = (*values)[0].getDouble(i), exact = (*values)[1].getDouble(i);
      if (rounded != exact && !(std::isnan(rounded) && std::isnan(exact))) return std::nullopt;
    }
  return std::move((*values)[0]);
}

Scalar elementOf(const Array& array, int64_t i) {
  return isFloat(array.dtype()) ? Scalar::of(array.getDouble(i)) : Scalar::of(array.getInt(i));
}

bool isUniform(const Array& array) {
  const auto* bytes = static_cast<const char*>(array.data());
  const int64_t width = byteWidth(array.dtype());
  for (int64_t i = 1; i < array.size(); ++i)
    if (std::memcmp(bytes, bytes + i * width, width) != 0) return false;
  return array.size() > 0;
}

/// Repeating or rearranging equal elements.
ValueId foldMovedSplat(Rewriter& rewriter, const Node& node) {
  const bool moves = std::holds_alternative<Broadcast>(node.op) || std::holds_alternative<Reshape>(node.op) ||
                     std::holds_alternative<Transpose>(node.op) || std::holds_alternative<Slice>(node.op) ||
                     std::holds_alternative<Flip>(node.op);
  const auto splat = moves ? splatOf(rewriter.target(), node.operands[0]) : std::nullopt;
  return splat ? rewriter.full(*splat, node.type.dtype, node.type.shape) : ValueId{};
}

/// Elementwise on fulls: one element stands for all.
ValueId foldSplats(Rewriter& rewriter, const Node& node) {
  std::vector<Node> operands;
  for (ValueId v : node.operands) {
    const auto splat = splatOf(rewriter.target(), v);
    if (!splat) return {};
    operands.push_back({Full{*splat}, {}, {rewriter.type(v).dtype, {}}, {}, {}});
  }
  Node scalar = node;
  scalar.type.shape.clear();
  scalar.name.clear();
  const auto value = evaluateNode(scalar, operands);
  return value ? rewriter.full(elementOf(*value, 0), node.type.dtype, node.type.shape) : ValueId{};
}

/// A fold of equal elements: the element, or for a sum that many times it.
ValueId foldReducedSplat(Rewriter& rewriter, const Node& node, const Reduce& op) {
  const auto splat = splatOf(rewriter.target(), node.operands[0]);
  if (!splat || isHalf(node.type.dtype)) return {};
  const Shape& shape = rewriter.type(node.operands[0]).shape;
  Dim product = 1;
  for (Axis axis : op.axes) product = product * shape[axis];
  const auto count = product.constant();
  if (!count || *count <= 0) return {};
  Scalar value = *splat;
  switch (op.kind) {
    case ReduceKind::max:
    case ReduceKind::min:
    case ReduceKind::mean: break;
    case ReduceKind::any:
    case ReduceKind::all: value = Scalar::of(int64_t{value.asDouble() != 0}); break;
    case ReduceKind::sum:
      if (isFloat(node.type.dtype))
        value = Scalar::of(roundTo(node.type.dtype, value.asDouble() * static_cast<double>(*count)));
      else
        value = Scalar::of(evalBinary(BinaryKind::mul, DType::i64,
                                      wrapTo(rewriter.type(node.operands[0]).dtype, value.asInt()), *count));
      break;
    default: return {};
  }
  return rewriter.full(value, node.type.dtype, node.type.shape);
}

bool isSmall(const TensorType& type, int64_t limit) {
  const auto elements = type.elements().constant();
  return elements && *elements <= limit;
}

ValueId foldArrays(Rewriter& rewriter, const Node& node, int64_t limit) {
  if (std::holds_alternative<Broadcast>(node.op) || std::holds_alternative<Random>(node.op)) return {};
  bool anyConstant = false;
  std::vector<Node> operands;
  for (ValueId v : node.operands) {
    const Node& operand = rewriter.target().node(v);
    if (!isKnown(operand.op) || !isSmall(operand.type, limit)) return {};
    anyConstant |= std::holds_alternative<Constant>(operand.op);
    operands.push_back({operand.op, {}, operand.type, {}, {}});
  }
  if (!anyConstant || !isSmall(node.type, limit)) return {};
  auto value = evaluateNode(node, operands);
  if (!value) return {};
  if (isUniform(*value)) return rewriter.full(elementOf(*value, 0), node.type.dtype, node.type.shape);
  return rewriter.append(Constant{std::make_shared<const Array>(std::move(*value))}, {}, node.type);
}

ValueId fold(Rewriter& rewriter, const Node& node, int64_t limit) {
  if (node.operands.empty()) return {};
  auto known = [&](ValueId v) { return isKnown(rewriter.target().node(v).op); };
  if (!std::all_of(node.operands.begin(), node.operands.end(), known)) return {};
  if (isElementwise(node.op) || std::holds_alternative<Activation>(node.op))
    if (const ValueId v = foldSplats(rewriter, node); v.valid()) return v;
  if (const ValueId v = foldMovedSplat(rewriter, node); v.valid()) return v;
  if (const auto* op = std::get_if<Reduce>(&node.op))
    if (const ValueId v = foldReducedSplat(rewriter, node, *op); v.valid()) return v;
  return foldArrays(rewriter, node, limit);
}

/// Whether products alone read v and can take the array as it lies.
bool isForProducts(const Graph& graph, ValueId v, const std::vector<ValueId>& users) {
  return swapsLastTwo(graph, v) && !users.empty() &&
         std::ranges::all_of(users, [&](ValueId user) { return std::holds_alternative<MatMul>(graph.node(user).op); });
}

}  // namespace

Result<Changed> FoldConstants::run(Graph& graph) const {
  const auto users = graph.users();
  Rewriter rewriter(graph);
  for (ValueId v : rewriter.values()) {
    const Node node = rewriter.visit(v);
    const ValueId folded = isForProducts(graph, v, users[v.index]) ? ValueId{} : fold(rewriter, node, limit);
    if (folded.valid())
      rewriter.replace(v, folded);
    else
      rewriter.keep(v);
  }
  return rewriter.finish();
}

}  // namespace tokamak
