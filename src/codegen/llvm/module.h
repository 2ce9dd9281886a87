#pragma once

#include <memory>

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include "codegen/llvm/host_target.h"
#include "kernel/kernel.h"

namespace tokamak::codegen {

/// A new TargetMachine for `target`; T0503 if this LLVM has none.
Result<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const HostTarget& target);

/// The kernel as LLVM IR, not optimised yet. T0501 and T0502 as compile.h has them.
Result<std::unique_ptr<llvm::Module>> buildModule(const kernel::Kernel& kernel, const HostTarget& target,
                                                  const llvm::TargetMachine& machine, llvm::LLVMContext& context);

/// Optimises for `machine` by a short list of passes. The kernel is explicit about loops and vectors, so that what is
/// left is to clean up after the translation: no vectoriser, no unroller, no inliner.
void optimise(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace tokamak::codegen
