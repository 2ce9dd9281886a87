#pragma once

#include "driver/compile_cuda.h"
#include "py.h"

namespace tokamak::python {

using EngineBox = Boxed<Engine>;

/// A compiled segment, for the host or for a GPU.
struct Segment {
  std::shared_ptr<const runtime::Executable> executable;
  std::shared_ptr<const runtime::cuda::Executable> onGpu;
  Explanation explanation;
};
using ExecutableBox = Boxed<Segment>;

/// The graph with its inputs before everything else, where the importer may have met them late.
Graph inputsFirst(const Graph& graph);

}  // namespace tokamak::python
