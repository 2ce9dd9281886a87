#pragma once

#include <vector>

#include "kernel/kernel.h"
#include "support/array.h"

namespace tokamak::kernel {

/// Runs a kernel thread by thread, statement by statement, in the arithmetic of its types (f32 is computed in f32, with
/// transcendental functions through float64 and rounded). `buffers` are the global ones in order; out, inout and
/// scratch ones are written. Reports, with the text of the statement at fault and the indices of the loops around it:
///   T0401  an access out of bounds (also of a masked-off lane's neighbour: only active lanes count)
///   T0402  a read of an element nobody has written (out, scratch, shared, local buffers)
///   T0403  a race: two iterations of a parallel, block or thread loop touch one element, one of them writing, with no
///   barrier between
///   T0404  threads of one block that do not meet at the same barrier, or of one warp at the same warp operation
///   T0406  an `aligned` access that is not
///   T0407  an index expression beyond the kernel's reach
/// and T0405 when the buffers or symbols do not fit the kernel.
Result<> runSimt(const Kernel& kernel, std::vector<Array>& buffers, const DimBindings& symbols);

}  // namespace tokamak::kernel
