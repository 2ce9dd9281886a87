#include "passes/channels_last.h"

#include <algorithm>

#include "passes/rewriter.h"
#include "passes/shape_ops.h"

namespace tokamak {

Result<Changed> ChannelsLast::run(Graph& graph) const {
  return rewriteNodes(graph, [&](Rewriter& rewriter, const Node& node) -> ValueId {
    const auto* conv = std::get_if<Conv>(&node.op);
    if (!conv || conv->channelsLast || std::ranges::find(types, node.type.dtype) == types.end()) return {};
    const auto rank = static_cast<Axis>(node.type.rank());
    std::vector<Axis> toLast = {0};
    for (Axis axis = 2; axis < rank; ++axis) toLast.push_back(axis);
    toLast.push_back(1);
    Conv turned = *conv;
    turned.channelsLast = true;
    std::vector<ValueId> operands = node.operands;
    operands[0] = rewriter.transpose(operands[0], toLast);
    TensorType type{node.type.dtype, {}};
    for (Axis axis : toLast) type.shape.push_back(node.type.shape[axis]);
    return rewriter.transpose(rewriter.append(turned, std::move(operands), std::move(type)),
                              inversePermutation(toLast));
  });
}

}  // namespace tokamak
