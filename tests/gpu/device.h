#pragma once

#include "driver/compile_cuda.h"

/// The GPU that the tests of this folder run on.
namespace tokamak::gpu {

const Engine& engine();
/// Compiles for the device, runs on it and brings the results back.
Result<std::vector<Array>> run(const Graph& graph, const std::vector<Array>& inputs, const CompileOptions& options);
/// Whether a graph has a kind of region that has no kernels for a GPU yet.
bool isYetToCome(const Diagnostic& error);

}  // namespace tokamak::gpu
