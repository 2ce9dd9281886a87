#include "library/product_sums.h"

#include <algorithm>

namespace tokamak::library {

namespace {

constexpr int64_t kSmall = 1 << 25;      // multiplications of a product that is over soon anyway
constexpr int64_t kLongestLarge = 384;   // terms of a sum of a large product whose k is cut
constexpr int64_t kLongestUncut = 1024;  // k of a large product; oneDNN itself cuts it in two
constexpr int64_t kManyRows = 1024;      // from which on copying b is little beside the arithmetic

/// As many terms as MKL adds one after another, or half of them all where those are less than twice as many. For other
/// processors than Intel's results then equal eager's, bit by bit; its code for Intel's adds twice as many.
int64_t longestOfEager() {
#if defined(__x86_64__)
  static const bool intel = __builtin_cpu_is("intel");
  if (intel) return 384;
#endif
  return 192;
}

}  // namespace

ProductSums planSums(const MatMulDesc& desc, const MatMulDims& dims) {
  const auto isSum = [](const PostOp& op) { return op.kind == PostOpKind::sum; };
  const bool floats = desc.a == DType::f32 && desc.b == DType::f32 && desc.c == DType::f32;
  const bool small = dims.m * dims.n * dims.k <= kSmall, repack = desc.transposeB && !desc.constantB;
  const bool dear = !small && (dims.k <= kLongestUncut || (repack && dims.m < kManyRows));
  const int64_t longest = small ? longestOfEager() : kLongestLarge;
  if (!floats || dear || dims.batch > 1 || dims.k <= longest || std::ranges::any_of(desc.postOps, isSum))
    return {.length = dims.k};
  return {.length = std::min(longest, dims.k / 2), .repack = repack};
}

}  // namespace tokamak::library
