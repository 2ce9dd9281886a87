#pragma once

#include "library/library.h"

namespace tokamak::library {

/// How a convolution in f32 adds up the products of one result.
///
/// oneDNN's code for channels last adds all of them one after another, channels * kernel many; its code for blocks of
/// sixteen channels begins a new sum with every block, and its rounding errors are sqrt(channels / 16) times smaller.
/// That is the code which PyTorch runs, so results would be worse than eager's without one of these:
///
///   blocks   images are reordered to blocks and back; costs little where images are small beside the arithmetic
///   parts    the channels are cut into `parts`, each a convolution of its own that adds to the result
struct ConvSums {
  bool blocks = false;
  int64_t parts = 1;
};

ConvSums planSums(const ConvDesc& desc, const ConvDims& dims);

/// The convolution over the `index`-th of `count` parts of the channels, without copying them: an image with channels
/// last is one of a `count`-th of the channels and `count` times the width, of which every `count`-th column is looked
/// at. It begins `index` of these columns further on, and the columns that lie behind its end are never looked at. The
/// first part writes the result, the others add to it, and bias and post-ops come with the last.
///
/// Requires: channels last, no sum among the post-ops.
ConvDesc partOf(const ConvDesc& desc, int64_t index, int64_t count);
ConvDims partOf(const ConvDesc& desc, ConvDims dims, int64_t count);

}  // namespace tokamak::library
