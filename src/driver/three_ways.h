#pragma once

#include "driver/compile.h"
#include "graph/interp/evaluate.h"

namespace tokamak {

/// Runs a graph's kernels in the SIMT interpreter, region after region; what a library would serve runs as a kernel
/// too.
Result<std::vector<Array>> runSimtGraph(const Graph& graph, const std::vector<Array>& inputs, const Engine& engine,
                                        const CompileOptions& options = {});
/// Compiles and runs a graph on arrays.
Result<std::vector<Array>> runCompiled(const Graph& graph, const std::vector<Array>& inputs, const Engine& engine,
                                       const CompileOptions& options = {});

}  // namespace tokamak
