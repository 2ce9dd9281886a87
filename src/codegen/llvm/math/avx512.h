#pragma once

#include "codegen/llvm/math/expr.h"

/// AVX-512 instructions that plain IR cannot name. Values are of 128, 256 or a multiple of 512 bits.
namespace tokamak::codegen::math {

/// Whether the enclosing function is compiled for AVX-512 (by its "target-features") and x has a shape served here.
bool hasAvx512(Expr x);

/// x * 2^floor(n), right over the whole range: overflow, subnormals, infinities.
Expr hardwareScale(Expr x, Expr n);

/// floor(log2 |x|) as a float: -inf of 0, inf of inf, NaN of NaN; subnormals as if normal.
Expr hardwareExponent(Expr x);

/// |x| * 2^k in [0.75, 1.5): NaN of negative numbers, 1 of zeros and infinities.
Expr hardwareMantissa(Expr x);

/// 1 / sqrt(x) with relative error below 2^-14.
Expr hardwareReciprocalSqrt(Expr x);

/// table[index mod 16] for each lane, without memory. Served where x has a multiple of 16 float lanes.
bool hasHardwareLookUp(Expr x);
Expr hardwareLookUp(const float (&table)[16], Expr index);

}  // namespace tokamak::codegen::math
