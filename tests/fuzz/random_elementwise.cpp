#include <algorithm>
#include <cmath>

#include "fuzz/generator.h"

namespace tokamak::fuzz {

namespace {

template <class Kind>
std::vector<Kind> kindsDefinedOn(DType dtype) {
  std::vector<Kind> kinds;
  for (size_t i = 0; i < EnumNames<Kind>::names.size(); ++i)
    if (isDefined(static_cast<Kind>(i), dtype)) kinds.push_back(static_cast<Kind>(i));
  return kinds;
}

double boundOf(UnaryKind kind, double x) {
  switch (kind) {
    case UnaryKind::exp:
    case UnaryKind::exp2:
    case UnaryKind::expm1:
    case UnaryKind::sinh:
    case UnaryKind::cosh: return std::exp(x);
    case UnaryKind::log:
    case UnaryKind::log2:
    case UnaryKind::log10:
    case UnaryKind::log1p: return 60;
    case UnaryKind::sign:
    case UnaryKind::sin:
    case UnaryKind::cos:
    case UnaryKind::tanh:
    case UnaryKind::erf:
    case UnaryKind::sigmoid: return 1;
    case UnaryKind::rsqrt:
    case UnaryKind::reciprocal:
    case UnaryKind::erfc: return 2;
    case UnaryKind::tan:
    case UnaryKind::asin:
    case UnaryKind::acos:
    case UnaryKind::atan:
    case UnaryKind::atanh: return 3.2;
    default: return x + 1;
  }
}

}  // namespace

/// `x` brought into the domain of `kind`.
ValueId Generator::unaryOperand(UnaryKind kind, ValueId x) {
  switch (kind) {
    case UnaryKind::exp:
    case UnaryKind::exp2:
    case UnaryKind::expm1:
    case UnaryKind::sinh:
    case UnaryKind::cosh: return tame(x, 8);
    case UnaryKind::log:
    case UnaryKind::log2:
    case UnaryKind::log10:
    case UnaryKind::rsqrt:
    case UnaryKind::reciprocal: return positive(x, 0.5);
    case UnaryKind::log1p:
    case UnaryKind::sqrt: return positive(x, 0);
    case UnaryKind::acosh: return positive(x, 1.125);
    case UnaryKind::tan: return tame(x, 1.2);
    case UnaryKind::asin:
    case UnaryKind::acos: return tame(x, 0.95);
    case UnaryKind::atanh: return tame(x, 0.9);
    case UnaryKind::sin:
    case UnaryKind::cos: return tame(x, 100);
    default: return x;
  }
}

bool Generator::unary() {
  ValueId x = rng_.chance(0.8) ? anyFloat() : any();
  const UnaryKind kind = rng_.pick(kindsDefinedOn<UnaryKind>(type(x).dtype));
  if (isFloat(type(x).dtype)) x = unaryOperand(kind, x);
  add(Unary{kind}, {x}, isPredicate(kind) ? 1 : boundOf(kind, bound(x)));
  return true;
}

/// Operands brought into the domain of `kind`.
void Generator::binaryOperands(BinaryKind kind, ValueId& a, ValueId& b) {
  switch (kind) {
    case BinaryKind::div:
    case BinaryKind::floordiv:
    case BinaryKind::rem:
    case BinaryKind::fmod:
      b = positive(b, 0.5);
      if (kind != BinaryKind::div) a = tame(a, 1000);
      break;
    case BinaryKind::pow:
      a = positive(tame(a, 4), 0.5);
      b = tame(b, 3);
      break;
    case BinaryKind::mul:
      if (bound(a) * bound(b) > 1e4) a = tame(a, 30), b = tame(b, 30);
      break;
    default:
      if (bound(a) + bound(b) > 1e5) a = tame(a, 100), b = tame(b, 100);
  }
}

bool Generator::binary() {
  ValueId a = rng_.chance(0.6) ? anyFloat() : any();
  ValueId b = like(type(a));
  if (rng_.chance(0.3)) std::swap(a, b);
  const DType dtype = type(a).dtype;
  std::vector<BinaryKind> kinds = kindsDefinedOn<BinaryKind>(dtype);
  if (isFloat(dtype) && rng_.chance(0.5)) kinds = {BinaryKind::add, BinaryKind::sub, BinaryKind::mul, BinaryKind::div};
  const BinaryKind kind = rng_.pick(kinds);
  if (isFloat(dtype)) binaryOperands(kind, a, b);
  double limit = bound(a) + bound(b);
  if (kind == BinaryKind::mul) limit = bound(a) * bound(b);
  if (kind == BinaryKind::div || kind == BinaryKind::floordiv) limit = 2 * bound(a) + 1;
  if (kind == BinaryKind::pow) limit = std::pow(bound(a) + 1, bound(b));
  if (kind == BinaryKind::atan2) limit = 3.2;
  if (isComparison(kind)) limit = 1;
  if (!isFloat(dtype)) limit = dtype == DType::boolean ? 1 : std::pow(2, bitWidth(dtype));
  add(Binary{kind}, {a, b}, limit);
  return true;
}

bool Generator::select() {
  const ValueId a = any();
  const TensorType t = type(a);
  const ValueId b = like(t);
  const ValueId condition = like({DType::boolean, t.shape});
  add(Select{}, {condition, a, b}, std::max(bound(a), bound(b)));
  return true;
}

bool Generator::clamp() {
  const ValueId x = any();
  const TensorType t = type(x);
  const bool plain = rng_.chance(0.6);
  const ValueId low = plain ? full(-1, t) : like(t);
  const ValueId high = plain ? full(2, t) : like(t);
  add(Clamp{}, {x, low, high}, std::max(bound(low), bound(high)));
  return true;
}

bool Generator::cast() {
  castTo(any(), rng_.pick(options_.dtypes));
  return true;
}

}  // namespace tokamak::fuzz
