#pragma once

/// Segments on a GPU: torch's tensors are read in place, results and temporaries come from torch's allocator, work goes
/// to torch's current stream.

#include "arguments.h"
#include "runtime/cuda/executable.h"

namespace tokamak::python {

struct GpuOutput {
  DType dtype = DType::f32;
  std::vector<int> order;  // as in `toTorch`
};

/// What the outputs looked like at the last call, for the next one with inputs of the same sizes.
struct GpuShapes {
  std::vector<int64_t> inputs;                 // all their extents
  std::vector<std::vector<int64_t>> outputs;   // as the executable sees them
  std::vector<std::pair<Ref, Ref>> torchSees;  // sizes and strides, as tuples
};

/// Tensors for the outputs, after the work that fills them was put on the stream. `known` is read and replaced; calls
/// of torch may let other threads of Python in between.
std::vector<Ref> runOnGpu(const runtime::cuda::Executable& executable, const Arguments& arguments,
                          std::span<const GpuOutput> outputs, std::shared_ptr<const GpuShapes>& known,
                          runtime::Profile* profile);

}  // namespace tokamak::python
