#pragma once

#include "kernel/kernel.h"

namespace tokamak::kernel {

inline constexpr int kMaxLanes = 1024;
inline constexpr int kMaxNesting = 64;   // of loops and conditions
inline constexpr int kMaxResident = 64;  // blocks of a multiprocessor
inline constexpr int kMaxCluster = 8;    // blocks of a cluster
inline constexpr int kWarpSize = 32;

/// What is wrong with the types and lanes of one expression, given that its operands are right; empty if nothing is.
std::string checkExpr(const Kernel& kernel, const Expr& expr);

/// The same for a load's or store's address: the types of index, value and mask against the buffer.
std::string checkAccess(const Kernel& kernel, const Buffer& buffer, ValueType value, ExprId index, ExprId mask);

/// The same for what `aligned` asks of an access.
std::string checkAligned(ValueType index, ValueType value);

}  // namespace tokamak::kernel
