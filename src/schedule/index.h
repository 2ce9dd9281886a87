#pragma once

#include "kernel/writer.h"

namespace tokamak::schedule {

using kernel::ExprId;
using kernel::Writer;

/// An index along one axis, for all lanes at once: base + stride * lane, or, when `lanes` is set, any i64 vector.
/// `multiple` is a number that base is known to be a multiple of (0: base is zero), by which reshapes see that a vector
/// stays within a row.
struct Index {
  ExprId base;
  int64_t stride = 0;
  int64_t multiple = 1;
  ExprId lanes;

  bool uniform() const { return !lanes && stride == 0; }
  bool operator==(const Index&) const = default;
};

/// Arithmetic on indices, as expressions of one kernel. `width` is the number of lanes of a strided index.
class IndexMath {
 public:
  IndexMath(Writer& writer, int width) : w_(writer), width_(width) {}

  Index constant(const Dim& value);
  Index add(const Index& a, const Dim& b);
  Index add(const Index& a, const Index& b);
  Index mul(const Index& a, const Dim& b);
  Index negate(const Index& a) { return mul(a, Dim(-1)); }
  /// Quotient and remainder by a positive extent, of an index that is not negative.
  Index div(const Index& a, const Dim& b);
  Index mod(const Index& a, const Dim& b);

  /// i64: a scalar if uniform, else a vector.
  ExprId expr(const Index& a);
  Index fromExpr(ExprId e);

  /// Whether it is known that either all lanes are below the bound or none is.
  bool onOneSide(const Index& a, const Dim& bound) const;
  /// bool, a scalar where all lanes are on one side.
  ExprId atLeast(const Index& a, const Dim& bound);
  ExprId below(const Index& a, const Dim& bound);

 private:
  bool isAligned(const Index& a) const;
  bool staysWithin(const Index& a, const Dim& b) const;
  Writer& w_;
  int width_;
};

}  // namespace tokamak::schedule
