#include "library/product_sums.h"

#include <algorithm>

namespace tokamak::library {

int64_t sumLength(int64_t k) {
#if defined(__x86_64__)
  static const int64_t longest = __builtin_cpu_is("intel") ? 384 : 192;
#else
  constexpr int64_t longest = 192;
#endif
  return k <= longest ? k : std::min(longest, k / 2);
}

int64_t panelLength(int64_t k) {
  constexpr int64_t longest = 64;
  const int64_t parts = (k + longest - 1) / longest;
  return parts == 0 ? 0 : (k + parts - 1) / parts;
}

int64_t partLength(const MatMulDesc& desc, const MatMulDims& dims) {
  const auto isSum = [](const PostOp& op) { return op.kind == PostOpKind::sum; };
  const bool floats = desc.a == DType::f32 && desc.b == DType::f32 && desc.c == DType::f32;
  const bool strided = desc.transposeB && !desc.constantB;
  if (!floats || strided || dims.batch > 1 || std::ranges::any_of(desc.postOps, isSum)) return dims.k;
  return sumLength(dims.k);
}

}  // namespace tokamak::library
