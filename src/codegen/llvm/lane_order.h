#pragma once

#include <vector>

#include "kernel/kernel.h"

namespace tokamak::codegen {

/// By expression: whether its lanes are held paired, all even lanes first and all odd ones after them. Two bf16 lie in
/// each 32-bit word as loaded: one shift makes floats of the even ones, one mask of the odd ones, where the natural
/// order takes a shuffle and a shift for either. Most of a kernel cannot tell the difference:
///
///   let v: f32x64 = cast<f32>(load<64> x[i])     // paired
///   acc = acc + v                                // so acc is too, as long as it is only folded
///   store y[i] = cast<bf16>(v*v)                 // rounding puts the words together again
///
/// Values that meet in one operation have the same order. They are paired if one of them widens bf16 and none is seen
/// lane by lane: loaded, stored, a mask, an index, a ramp. Values of `leastLanes` lanes and more only.
std::vector<bool> pairedExpressions(const kernel::Kernel& kernel, int leastLanes);

}  // namespace tokamak::codegen
