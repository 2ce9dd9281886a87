#pragma once

#include "driver/compile_cuda.h"

namespace tokamak::tool {

/// What a program takes of a device's time, and what a copy of the same bytes takes.
struct CudaTiming {
  double seconds = 0, copySeconds = 0;  // medians
  double hostSeconds = 0;               // of the host's time, for one call of the executable
  double bytes = 0;                     // inputs read once, outputs written once
  int64_t peakBytes = 0;                // of temporaries
};

/// Replays the program as a CUDA graph, by turns with the copy, for about `seconds`; the device's second cache is
/// emptied in between, as it would be by whatever else a program does. Then calls it in a loop for the host's time.
Result<CudaTiming> timeOnDevice(const CompiledCuda& compiled, const std::vector<Array>& inputs, const DimBindings& dims,
                                double seconds);

}  // namespace tokamak::tool
