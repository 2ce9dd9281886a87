#pragma once

#include "sparse/stream/run/data.h"

namespace tokamak::stream {

struct RunResult {
  Storages outputs;
  uint64_t tokens = 0;
};

/// Computes a graph's outputs, without time: fast, in memory that is proportional to the data.
///
///   TK_TRY(RunResult result, run(graph, viewsOf(tensors)));
///   result.outputs.at("x").values
///
/// Requires a verified graph. A stream whose stops disagree with another's, or a reference outside its tensor, is a
/// diagnostic that names node, port and token (T0960, T0961); an output whose levels do not fit together is T0962.
Result<RunResult> run(const Graph& graph, const Inputs& inputs);

/// The levels that a graph wrote fit together: as many fibers as the level above has coordinates, as many values as the
/// last has. Sizes that the graph did not know become the largest coordinate + 1.
Result<> finishOutputs(const Graph& graph, Storages& outputs);

}  // namespace tokamak::stream
