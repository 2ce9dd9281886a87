#pragma once

#include "codegen/cuda/emit.h"

namespace tokamak::codegen::cuda {

/// What a thread finds of a block loop or thread loop: 0 for block.x to 5 for thread.z, or -1 for other loops.
int axisOf(kernel::Binding binding);

/// How many iterations a bound loop has. T0520 where its bounds are none that a launch can compute.
Result<Dim> countOf(const kernel::Kernel& kernel, const kernel::For& loop);

/// Grid, block and dynamic shared memory: each axis as long as the longest loop bound to it.
Result<Launch> launchOf(const kernel::Kernel& kernel);

/// Bytes of a shared buffer, rounded up so that what follows is aligned.
Dim sharedBytesOf(const kernel::Buffer& buffer);
/// What comes to all inboxes of a kernel together.
int64_t inboxBytes(const kernel::Kernel& kernel);

}  // namespace tokamak::codegen::cuda
