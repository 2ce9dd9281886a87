#pragma once

#include <cstdint>

namespace tokamak {

/// GPU kernels index with 32 bits where every buffer has fewer elements than this and every symbol is smaller: enough
/// below 2^31 that a sum with a block's worth of elements still fits.
constexpr int64_t kNarrowIndexLimit = (int64_t{1} << 31) - (int64_t{1} << 20);

}  // namespace tokamak
