#include "passes/sink_transpose.h"

#include <algorithm>
#include <optional>

#include "passes/rewriter.h"
#include "passes/shape_ops.h"

namespace tokamak {

namespace {

const Transpose* transposeOf(const Graph& graph, ValueId v) { return std::get_if<Transpose>(&graph.node(v).op); }

/// The value whose transpose by `perm` is v, if there is one that costs nothing; invalid otherwise.
ValueId below(Rewriter& rewriter, ValueId v, const std::vector<Axis>& perm) {
  const ValueId simple = simplifyTranspose(rewriter, v, inversePermutation(perm));
  if (!simple.valid() || transposeOf(rewriter.target(), simple)) return {};
  return simple;
}

ValueId sinkBelowElementwise(Rewriter& rewriter, const Node& node) {
  const auto first = std::find_if(node.operands.begin(), node.operands.end(),
                                  [&](ValueId v) { return transposeOf(rewriter.target(), v); });
  if (first == node.operands.end()) return {};
  const std::vector<Axis> perm = transposeOf(rewriter.target(), *first)->perm;
  std::vector<ValueId> operands;
  for (ValueId v : node.operands) {
    operands.push_back(below(rewriter, v, perm));
    if (!operands.back().valid()) return {};
  }
  const Shape shape = rewriter.type(operands.front()).shape;
  return rewriter.transpose(rewriter.append(node.op, std::move(operands), {node.type.dtype, shape}), perm);
}

/// Positions that argmax and argmin report count in row-major order over the folded axes, which must not change.
bool keepsOrder(const Reduce& op, const std::vector<Axis>& perm) {
  if (op.kind != ReduceKind::argmax && op.kind != ReduceKind::argmin) return true;
  for (size_t i = 1; i < op.axes.size(); ++i)
    if (perm[op.axes[i]] < perm[op.axes[i - 1]]) return false;
  return true;
}

ValueId sinkBelowReduce(Rewriter& rewriter, const Node& node, const Reduce& op) {
  const ValueId v = node.operands[0];
  const auto* transpose = transposeOf(rewriter.target(), v);
  if (!transpose || !keepsOrder(op, transpose->perm)) return {};
  const std::vector<Axis> perm = transpose->perm;
  const ValueId source = rewriter.target().node(v).operands[0];
  const Shape shape = rewriter.type(source).shape;
  Reduce moved = op;
  for (Axis& axis : moved.axes) axis = perm[axis];
  std::sort(moved.axes.begin(), moved.axes.end());
  const auto kept = otherAxes(shape.size(), moved.axes);
  TensorType type{node.type.dtype, {}};
  for (Axis axis : kept) type.shape.push_back(shape[axis]);
  std::vector<Axis> order;  // of the kept axes as the program wants them
  for (Axis axis : otherAxes(shape.size(), op.axes))
    order.push_back(std::find(kept.begin(), kept.end(), perm[axis]) - kept.begin());
  return transposed(rewriter, rewriter.append(moved, {source}, std::move(type)), order);
}

template <class T>
std::vector<T> reordered(const std::vector<T>& byAxis, const std::vector<Axis>& perm) {
  std::vector<T> out(byAxis.size());
  for (size_t i = 0; i < perm.size(); ++i) out[perm[i]] = byAxis[i];
  return out;
}

/// What moves whole elements along axes moves them along the same axes before the transpose.
std::optional<Op> below(const Op& op, const std::vector<Axis>& perm) {
  if (const auto* pad = std::get_if<Pad>(&op))
    return Pad{reordered(pad->low, perm), reordered(pad->high, perm), pad->value};
  if (const auto* slice = std::get_if<Slice>(&op))
    return Slice{reordered(slice->start, perm), reordered(slice->stride, perm)};
  if (const auto* concat = std::get_if<Concat>(&op)) return Concat{perm[concat->axis]};
  if (const auto* flip = std::get_if<Flip>(&op)) {
    Flip moved = *flip;
    for (Axis& axis : moved.axes) axis = perm[axis];
    std::sort(moved.axes.begin(), moved.axes.end());
    return moved;
  }
  return std::nullopt;
}

ValueId sinkBelowMove(Rewriter& rewriter, const Node& node) {
  const auto* first = transposeOf(rewriter.target(), node.operands[0]);
  if (!first) return {};
  const std::vector<Axis> perm = first->perm;
  const auto op = below(node.op, perm);
  if (!op) return {};
  std::vector<ValueId> operands;
  for (ValueId v : node.operands) {
    operands.push_back(below(rewriter, v, perm));
    if (!operands.back().valid()) return {};
  }
  TensorType type{node.type.dtype, reordered(node.type.shape, perm)};
  return rewriter.transpose(rewriter.append(*op, std::move(operands), std::move(type)), perm);
}

ValueId foldIntoMatMul(Rewriter& rewriter, const Node& node, MatMul op) {
  const bool a = swapsLastTwo(rewriter.target(), node.operands[0]);
  const bool b = swapsLastTwo(rewriter.target(), node.operands[1]);
  if (!a && !b) return {};
  std::vector<ValueId> operands = node.operands;
  if (a) operands[0] = rewriter.target().node(operands[0]).operands[0];
  if (b) operands[1] = rewriter.target().node(operands[1]).operands[0];
  op.transposeA ^= a;
  op.transposeB ^= b;
  return rewriter.append(op, std::move(operands), node.type);
}

/// By value: whether folds alone read it, of all that somebody needs.
std::vector<bool> onlyFolded(const Graph& graph) {
  std::vector<bool> needed(graph.size(), false), out(graph.size(), true);
  for (ValueId output : graph.outputs()) needed[output.index] = true, out[output.index] = false;
  for (size_t i = graph.size(); i-- > 0;) {
    if (!needed[i]) continue;
    const Node& node = graph.node(ValueId(i));
    const bool fold = std::holds_alternative<Reduce>(node.op);
    for (ValueId operand : node.operands) {
      needed[operand.index] = true;
      if (!fold) out[operand.index] = false;
    }
  }
  return out;
}

Changed sinkOnce(Graph& graph) {
  const std::vector<bool> folded = onlyFolded(graph);
  Rewriter rewriter(graph);
  for (ValueId v : rewriter.values()) {
    const Node node = rewriter.visit(v);
    ValueId fresh;
    if (isElementwise(node.op))
      fresh = sinkBelowElementwise(rewriter, node);
    else if (const auto* op = std::get_if<MatMul>(&node.op))
      fresh = foldIntoMatMul(rewriter, node, *op);
    else if (const auto* transpose = std::get_if<Transpose>(&node.op))
      fresh = simplifyTranspose(rewriter, node.operands[0], transpose->perm);
    else if (const auto* reduce = std::get_if<Reduce>(&node.op)) {
      const ValueId operand = graph.node(v).operands[0];
      if (folded[operand.index]) fresh = sinkBelowReduce(rewriter, node, *reduce);
    } else if (!node.operands.empty()) {
      fresh = sinkBelowMove(rewriter, node);
    }
    if (fresh.valid())
      rewriter.replace(v, fresh);
    else
      rewriter.keep(v);
  }
  return rewriter.finish();
}

}  // namespace

Result<Changed> SinkTranspose::run(Graph& graph) const {
  // A walk may leave a fold as the only reader of a transpose, for the next one to take.
  Changed changed = Changed::no;
  while (sinkOnce(graph) == Changed::yes) changed = Changed::yes;
  return changed;
}

}  // namespace tokamak
