#pragma once

#include "kernel/kernel.h"

namespace tokamak::kernel {

/// One statement on one line, for messages: `store y[i] = acc`. A loop or a condition without its body: `for i in
/// 0..M`.
std::string printHead(const Kernel& kernel, const Stmt& stmt);

}  // namespace tokamak::kernel
