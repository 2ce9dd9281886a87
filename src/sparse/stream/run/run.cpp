#include "sparse/stream/run/run.h"

#include "sparse/stream/run/engine.h"

namespace tokamak::stream {

Result<RunResult> run(const Graph& graph, const Inputs& inputs) {
  Graph bound = graph;
  TK_RETURN_IF_ERROR(bindSizes(bound, inputs));
  Engine<Untimed> engine(bound, inputs);
  TK_RETURN_IF_ERROR(engine.run());
  RunResult result{std::move(engine.results()), engine.tokens()};
  TK_RETURN_IF_ERROR(finishOutputs(bound, result.outputs));
  return result;
}

}  // namespace tokamak::stream
