#include "kernel/kernel.h"

namespace tokamak::kernel {

std::string print(const Kernel& kernel) { return "kernel @" + kernel.name; }

}  // namespace tokamak::kernel
