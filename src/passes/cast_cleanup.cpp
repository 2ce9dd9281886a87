#include "passes/cast_cleanup.h"

#include "passes/rewriter.h"

namespace tokamak {

Result<Changed> CastCleanup::run(Graph& graph) const {
  return rewriteNodes(graph, [](Rewriter& rewriter, const Node& node) -> ValueId {
    const auto* outer = std::get_if<Cast>(&node.op);
    if (!outer || !outer->synthetic) return {};
    const Node& inner = rewriter.target().node(node.operands[0]);
    const auto* innerCast = std::get_if<Cast>(&inner.op);
    if (!innerCast || !innerCast->synthetic) return {};
    return rewriter.type(inner.operands[0]) == node.type ? inner.operands[0] : ValueId{};
  });
}

}  // namespace tokamak
