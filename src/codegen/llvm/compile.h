#pragma once

#include <string>
#include <vector>

#include "codegen/llvm/host_target.h"
#include "kernel/kernel.h"

/// Kernel IR to object code by LLVM. Nothing here chooses: the kernel says which loops are parallel, what is vectorised
/// and what is streamed, and this folder translates it statement by statement.
///
/// Requires `kernel::verify(kernel)`. The object holds one global symbol, `symbolName(kernel)`, of type KernelFunction
/// (support/kernel_abi.h). Global buffers must be aligned to their elements. `in`, `out`, `scratch` and local buffers
/// overlap no other buffer; `inout` ones may overlap each other.
///
/// Arithmetic is that of support/scalar_op.h and graph::Cast. Multiplications and additions may contract into fused
/// ones; floating-point is otherwise never re-ordered. `fold` combines lane i with lane i + n/2, then halves n.
///
/// T0501: the kernel is written for a GPU (blocks, threads, barriers, shared memory).
/// T0502: a large local buffer is used outside the parallel loops of a kernel that has some.
/// T0503: this LLVM cannot generate code for the target.
namespace tokamak::codegen {

/// Optimised object code (ELF, relocatable). A pure function of the kernel's text, the target and `compilerVersion()`.
/// Thread safe.
Result<std::vector<char>> compileObject(const kernel::Kernel& kernel, const HostTarget& target);

/// The symbol that `compileObject` defines for this kernel.
std::string symbolName(const kernel::Kernel& kernel);

/// LLVM's version and a hash of this folder's sources; part of cache keys.
std::string compilerVersion();

/// Optimised LLVM IR and assembly, for people.
Result<std::string> printLlvm(const kernel::Kernel& kernel, const HostTarget& target);
Result<std::string> printAsm(const kernel::Kernel& kernel, const HostTarget& target);

}  // namespace tokamak::codegen
