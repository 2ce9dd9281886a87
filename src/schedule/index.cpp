#include "schedule/index.h"

#include <cstdlib>
#include <numeric>

namespace tokamak::schedule {

Index IndexMath::constant(const Dim& value) {
  const auto c = value.constant();
  return {w_.dim(value), 0, c ? std::abs(*c) : 1, {}};
}

Index IndexMath::add(const Index& a, const Dim& b) {
  if (b.is(0)) return a;
  return add(a, constant(b));
}

Index IndexMath::add(const Index& a, const Index& b) {
  if (a.lanes || b.lanes) return fromExpr(w_.add(expr(a), expr(b)));
  return {w_.add(a.base, b.base), a.stride + b.stride, std::gcd(a.multiple, b.multiple), {}};
}

Index IndexMath::mul(const Index& a, const Dim& b) {
  if (b.is(1)) return a;
  if (b.is(0)) return constant(0);
  const auto c = b.constant();
  if (a.lanes || (!c && a.stride != 0)) return fromExpr(w_.mul(expr(a), w_.dim(b)));
  if (!c) return {w_.mul(a.base, w_.dim(b)), 0, a.multiple, {}};
  return {w_.mul(a.base, w_.i64(*c)), a.stride * *c, a.multiple * std::abs(*c), {}};
}

/// Whether it is of unit stride and its first lane a multiple of the lanes.
bool IndexMath::isAligned(const Index& a) const { return !a.lanes && a.stride == 1 && a.multiple % width_ == 0; }

/// Whether all lanes of such an index fall into one block of b elements.
bool IndexMath::staysWithin(const Index& a, const Dim& b) const {
  const auto c = b.constant();
  return isAligned(a) && c && *c > 0 && *c % width_ == 0;
}

Index IndexMath::div(const Index& a, const Dim& b) {
  if (b.is(1)) return a;
  if (a.uniform() || staysWithin(a, b)) {
    const auto c = b.constant();
    const int64_t multiple = c && a.multiple % *c == 0 ? a.multiple / *c : 1;
    return {w_.binary(BinaryKind::div, a.base, w_.dim(b)), 0, multiple, {}};
  }
  return fromExpr(w_.binary(BinaryKind::div, expr(a), w_.dim(b)));
}

Index IndexMath::mod(const Index& a, const Dim& b) {
  if (b.is(1)) return constant(0);
  if (a.uniform() || staysWithin(a, b)) {
    const auto c = b.constant();
    return {w_.binary(BinaryKind::fmod, a.base, w_.dim(b)), a.stride, c ? std::gcd(a.multiple, *c) : 1, {}};
  }
  return fromExpr(w_.binary(BinaryKind::fmod, expr(a), w_.dim(b)));
}

ExprId IndexMath::expr(const Index& a) {
  if (a.lanes) return a.lanes;
  if (a.stride == 0 || width_ == 1) return a.base;
  if (a.stride == 1) return w_.ramp(a.base, width_);
  const ExprId lane = w_.ramp(w_.i64(0), width_);
  return w_.add(w_.splat(a.base, width_), w_.mul(lane, w_.i64(a.stride)));
}

Index IndexMath::fromExpr(ExprId e) {
  if (w_.lanes(e) > 1) return {{}, 0, 1, e};
  return {e, 0, 1, {}};
}

bool IndexMath::onOneSide(const Index& a, const Dim& bound) const {
  return a.uniform() || (bound.is(0) ? isAligned(a) : staysWithin(a, bound));
}

ExprId IndexMath::atLeast(const Index& a, const Dim& bound) {
  return w_.binary(BinaryKind::ge, onOneSide(a, bound) ? a.base : expr(a), w_.dim(bound));
}

ExprId IndexMath::below(const Index& a, const Dim& bound) {
  return w_.binary(BinaryKind::lt, onOneSide(a, bound) ? a.base : expr(a), w_.dim(bound));
}

}  // namespace tokamak::schedule
