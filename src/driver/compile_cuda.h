#pragma once

#include "driver/compile.h"
#include "runtime/cuda/executable.h"

namespace tokamak {

/// A graph ready to run on a GPU, and what was decided about it.
struct CompiledCuda {
  std::shared_ptr<const runtime::cuda::Executable> executable;
  CudaDevice device;
  Explanation explanation;
};

/// As `compile`, for device `cuda:ordinal`. Kernels are compiled for the device at hand, all at the same time, in the
/// form that aligned tensors of the hinted sizes want; other forms are compiled when a call wants them.
Result<CompiledCuda> compileCuda(const Graph& graph, const Engine& engine, int ordinal = 0,
                                 const CompileOptions& options = {});

/// Runs on arrays of the host: copies them to the device, runs, waits, copies the results back.
Result<std::vector<Array>> runOnDevice(const CompiledCuda& compiled, const std::vector<Array>& inputs,
                                       const runtime::cuda::RunOptions& options = {});

/// The inputs on the device, in the order of arrays.
Result<std::vector<runtime::cuda::Tensor>> copyToDevice(const CudaDevice& device, const std::vector<Array>& arrays);
Result<std::vector<Array>> copyToHost(const CudaDevice& device, const std::vector<runtime::cuda::Tensor>& tensors);

/// The CUDA C++ of a lowered graph's kernels, one after another, for people.
Result<std::string> cudaText(const Lowered& lowered);

}  // namespace tokamak
