#pragma once

#include <set>
#include <string>
#include <vector>

#include "kernel/kernel.h"

namespace tokamak::codegen {

/// What a block of statements mentions, nested blocks included: what a function made of the block must be given.
struct Uses {
  std::set<kernel::BufferId> buffers;
  std::set<std::string, std::less<>> symbols;  // also those in the sizes of local buffers
  std::set<kernel::VarId> variables;           // read or assigned, also those declared inside
};

/// With `insideParallel` false, stops at parallel loops: only their bounds count.
Uses usesOf(const kernel::Kernel& kernel, const kernel::Block& block, bool insideParallel = true);

bool hasParallelLoop(const kernel::Block& block);

/// Whether an expression's value may differ between two evaluations in one scope: it reads a mutable variable, or a
/// buffer that the kernel may write. Indexed by expression.
std::vector<bool> changingExpressions(const kernel::Kernel& kernel);

/// The expressions that an expression is made of.
std::vector<kernel::ExprId> operandsOf(const kernel::Expr& expr);

}  // namespace tokamak::codegen
