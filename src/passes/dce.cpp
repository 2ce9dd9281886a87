#include "passes/dce.h"

#include "passes/rewriter.h"

namespace tokamak {

Result<Changed> DeadCodeElimination::run(Graph& graph) const {
  Graph live = withoutDeadNodes(graph);
  if (live.size() == graph.size()) return Changed::no;
  graph = std::move(live);
  return Changed::yes;
}

}  // namespace tokamak
