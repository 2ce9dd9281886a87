#include "sparse/stream/run/run.h"

#include "sparse/stream/run/engine.h"

namespace tokamak::stream {

Result<RunResult> run(const Graph& graph, const Inputs& inputs) {
  Graph bound = graph;
  TK_RETURN_IF_ERROR(bindSizes(bound, inputs));
  Network<Untimed> network(bound, inputs);
  TK_RETURN_IF_ERROR(runNetwork(network));
  RunResult result{std::move(network.results()), network.tokens()};
  TK_RETURN_IF_ERROR(finishOutputs(bound, result.outputs));
  return result;
}

}  // namespace tokamak::stream
