#include "kernel/kernel.h"

namespace tokamak::kernel {

Result<> verify(const Kernel&) { return Unit{}; }

}  // namespace tokamak::kernel
