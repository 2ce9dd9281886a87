#include "schedule/identity.h"

#include <limits>

#include "support/check.h"

namespace tokamak::schedule {

Scalar identityOf(BinaryKind kind, DType type) {
  const bool real = isFloat(type);
  const double inf = std::numeric_limits<double>::infinity();
  const int bits = bitWidth(type);
  const bool isUnsigned = type == DType::u8 || type == DType::boolean;
  const int64_t low = isUnsigned ? 0 : bits == 64 ? std::numeric_limits<int64_t>::min() : -(int64_t{1} << (bits - 1));
  const int64_t high = type == DType::boolean ? 1 : isUnsigned ? 255 : ~low;
  switch (kind) {
    case BinaryKind::add: return real ? Scalar::of(0.0) : Scalar::of(int64_t{0});
    case BinaryKind::mul: return real ? Scalar::of(1.0) : Scalar::of(int64_t{1});
    case BinaryKind::max: return real ? Scalar::of(-inf) : Scalar::of(low);
    case BinaryKind::min: return real ? Scalar::of(inf) : Scalar::of(high);
    case BinaryKind::bit_or: return Scalar::of(int64_t{0});
    case BinaryKind::bit_and: return Scalar::of(type == DType::boolean ? int64_t{1} : int64_t{-1});
    default: TK_CHECK(false, "no identity"); return {};
  }
}

}  // namespace tokamak::schedule
