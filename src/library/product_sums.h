#pragma once

#include "library/library.h"

namespace tokamak::library {

/// How many of the k terms of one result of a product in f32 are added one after another: as many as the code does that
/// PyTorch runs (MKL), 192, or 384 on Intel's processors, or half of k where that is less. Longer sums have larger
/// rounding errors: oneDNN's, of 400 to 1000 terms, up to twice as large.
int64_t sumLength(int64_t k);

/// The same for our own panels (library/panel_product.h), which begin a new sum at next to no cost: at most 64, so that
/// errors are about 0.7 times as large as eager's.
int64_t panelLength(int64_t k);

/// The terms of one of the parts in which oneDNN's matmul is called, each adding to the result; k where it is called
/// once: parts of a b that lies as [n, k] and is not packed have long strides, which it reads slowly.
int64_t partLength(const MatMulDesc& desc, const MatMulDims& dims);

}  // namespace tokamak::library
