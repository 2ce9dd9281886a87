#pragma once

#include "passes/pass.h"

namespace tokamak {

/// Replaces composites by the primitives they stand for, so that fusion sees only elementwise ops, folds, shape ops,
/// indexing, windows and products.
///
///   %1 = softmax %0 {axis = 1} : f32[8, 64]
/// =>
///   %1 = reduce %0 {kind = max, axes = [1]} : f32[8]
///   %2 = broadcast %1 {axes = [0]} : f32[8, 64]
///   %3 = sub %0, %2 : f32[8, 64]
///   %4 = exp %3 : f32[8, 64]
///   %5 = reduce %4 {kind = sum, axes = [1]} : f32[8]
///   %6 = broadcast %5 {axes = [0]} : f32[8, 64]
///   %7 = div %4, %6 : f32[8, 64]
///
/// Composites of halves compute in f32 between synthetic casts. Softmax, log-softmax, every norm, every activation,
/// cross-entropy, dropout and attention go, and so does the variance of a reduction (by two sweeps, which is stable);
/// mean stays, since a fold divides by its own count. A diagnostic says where a group norm's channels cannot be split.
struct Decompose {
  static constexpr std::string_view name = "decompose";
  bool keepAttention = false;  // for a device that has a fused attention kernel

  Result<Changed> run(Graph& graph) const;
};

}  // namespace tokamak
