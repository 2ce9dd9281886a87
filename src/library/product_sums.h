#pragma once

#include "library/library.h"

namespace tokamak::library {

/// How a product in f32 adds up the k terms of one result.
///
/// oneDNN adds 400 to 1000 of them one after another; the code that PyTorch runs begins a new sum earlier, and its
/// rounding errors are up to twice as small. So k is cut into parts of `length`, each a product of its own that adds to
/// the result: small products as eager does, which costs up to a quarter of them, large ones where k is long and it
/// costs next to nothing. A part of a b that lies as [n, k] and is no constant has long strides, which the library
/// reads slowly: it is copied into the library's own layout first (`repack`), and if the product is large, only for
/// many rows.
struct ProductSums {
  int64_t length = 0;
  bool repack = false;
};

ProductSums planSums(const MatMulDesc& desc, const MatMulDims& dims);

}  // namespace tokamak::library
