#include "passes/canonicalise.h"

#include "passes/canonicalise/rules.h"
#include "passes/rewriter.h"

namespace tokamak {

namespace {

ValueId simplifyElementwise(Canonical& c, const Node& node) {
  if (const auto* op = std::get_if<Unary>(&node.op)) return simplifyUnary(c, node, *op);
  if (const auto* op = std::get_if<Binary>(&node.op)) return simplifyBinary(c, node, *op);
  if (std::holds_alternative<Select>(node.op)) return simplifySelect(c, node);
  if (std::holds_alternative<Clamp>(node.op)) return simplifyClamp(c, node);
  return simplifyCast(c, node, std::get<Cast>(node.op));
}

}  // namespace

ValueId Canonical::simplify(const Node& node) {
  if (isElementwise(node.op)) {
    const ValueId simple = simplifyElementwise(*this, node);
    return simple.valid() ? simple : computeBeforeRepeating(*this, node);
  }
  if (const auto* op = std::get_if<Reduce>(&node.op)) return simplifyReduce(*this, node, *op);
  if (const auto* op = std::get_if<Slice>(&node.op)) return simplifySlice(*this, node, *op);
  if (const auto* op = std::get_if<Pad>(&node.op)) return simplifyPad(*this, node, *op);
  if (const auto* op = std::get_if<Concat>(&node.op)) return simplifyConcat(*this, node, *op);
  if (const auto* op = std::get_if<Flip>(&node.op)) return simplifyFlip(*this, node, *op);
  if (const auto* op = std::get_if<Broadcast>(&node.op))
    return simplifyBroadcast(emit, node.operands[0], op->axes, node.type.shape);
  if (std::holds_alternative<Reshape>(node.op)) return simplifyReshape(emit, node.operands[0], node.type.shape);
  if (const auto* op = std::get_if<Transpose>(&node.op)) return simplifyTranspose(emit, node.operands[0], op->perm);
  if (const auto* op = std::get_if<Constant>(&node.op); op && op->data->size() == 1) {
    const auto& data = *op->data;
    const Scalar value = isFloat(data.dtype()) ? Scalar::of(data.getDouble(0)) : Scalar::of(data.getInt(0));
    return emit.full(value, node.type.dtype, node.type.shape);
  }
  return {};
}

ValueId Canonical::make(Op op, std::vector<ValueId> operands, TensorType type) {
  const Node node{std::move(op), std::move(operands), std::move(type), {}, {}};
  const ValueId simple = simplify(node);
  return simple.valid() ? simple : emit.append(node.op, node.operands, node.type);
}

ValueId Canonical::unary(UnaryKind kind, ValueId x) {
  return make(Unary{kind}, {x}, {resultType(kind, type(x).dtype), type(x).shape});
}

ValueId Canonical::binary(BinaryKind kind, ValueId a, ValueId b) {
  return make(Binary{kind}, {a, b}, {resultType(kind, type(a).dtype), type(a).shape});
}

Result<Changed> Canonicalise::run(Graph& graph) const {
  const auto users = graph.users();
  std::vector<char> isOutput(graph.size(), 0), shared;
  for (ValueId output : graph.outputs()) isOutput[output.index] = 1;
  Rewriter rewriter(graph);
  for (ValueId v : rewriter.values()) {
    const Node node = rewriter.visit(v);
    const ValueId fresh = Canonical(rewriter, shared).simplify(node);
    if (fresh.valid())
      rewriter.replace(v, fresh);
    else
      rewriter.keep(v);
    const size_t index = rewriter.map(v).index;
    const bool known = index < shared.size();  // it stands for an earlier value as well
    shared.resize(rewriter.target().size(), 0);
    if (known || isOutput[v.index] || users[v.index].size() > 1) shared[index] = 1;
  }
  return rewriter.finish();
}

}  // namespace tokamak
