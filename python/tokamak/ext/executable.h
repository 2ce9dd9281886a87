#pragma once

#include "driver/compile.h"
#include "py.h"

namespace tokamak::python {

using EngineBox = Boxed<Engine>;
using ExecutableBox = Boxed<Compiled>;

/// The graph with its inputs before everything else, where the importer may have met them late.
Graph inputsFirst(const Graph& graph);

}  // namespace tokamak::python
