#pragma once

#include "driver/compile.h"
#include "driver/compile_cuda.h"

namespace tokamak {

struct TuneOptions {
  double seconds = 2;                              // of measuring, all candidates together
  std::function<void(std::string_view)> progress;  // told of each candidate as it is measured; may be empty
};

/// Compiles a graph by the cost model's plan and by a few neighbours of it, runs each at the hinted sizes on random
/// numbers, and gives the fastest. The winner is remembered in the cache for the graph, these sizes and this machine,
/// so that the next call compiles it alone. The ledger's notes say what was measured.
///
/// A graph with a symbol that has no hint is compiled by the cost model's plan; a note says so.
Result<Compiled> tune(const Graph& graph, const Engine& engine, const CompileOptions& options,
                      const TuneOptions& tuning = {});
/// The same on a GPU, timed there. Neighbours are other fusions and the plans for a device that leans another way:
/// fewer or more loads in flight, registers to spare.
Result<CompiledCuda> tuneCuda(const Graph& graph, const Engine& engine, int ordinal, const CompileOptions& options,
                              const TuneOptions& tuning = {});

}  // namespace tokamak
