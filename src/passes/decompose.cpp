#include "passes/decompose.h"

#include "passes/decompose/expand.h"
#include "passes/rewriter.h"

namespace tokamak {

namespace {

/// An invalid value says that the op is a primitive.
Result<ValueId> expand(Emitter& emit, const Node& node, const Decompose& options) {
  if (const auto* op = std::get_if<Softmax>(&node.op)) return expandSoftmax(emit, node, *op);
  if (const auto* op = std::get_if<Norm>(&node.op)) return expandNorm(emit, node, *op);
  if (const auto* op = std::get_if<Activation>(&node.op)) return expandActivation(emit, node, *op);
  if (const auto* op = std::get_if<CrossEntropy>(&node.op)) return expandCrossEntropy(emit, node, *op);
  if (const auto* op = std::get_if<Dropout>(&node.op)) return expandDropout(emit, node, *op);
  if (const auto* op = std::get_if<Attention>(&node.op); op && !options.keepAttention)
    return expandAttention(emit, node, *op);
  if (const auto* op = std::get_if<Reduce>(&node.op); op && op->kind == ReduceKind::var)
    return expandVariance(emit, node, *op);
  return ValueId{};
}

}  // namespace

Result<Changed> Decompose::run(Graph& graph) const {
  Rewriter rewriter(graph);
  for (ValueId v : rewriter.values()) {
    const Node node = rewriter.visit(v);
    TK_TRY(const ValueId fresh, expand(rewriter, node, *this));
    if (fresh.valid())
      rewriter.replace(v, fresh);
    else
      rewriter.keep(v);
  }
  return rewriter.finish();
}

}  // namespace tokamak
