#include <cmath>
#include <limits>
#include <utility>

#include "passes/canonicalise/rules.h"

namespace tokamak {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool isPositiveZero(double v) { return v == 0 && !std::signbit(v); }
bool isNegativeZero(double v) { return v == 0 && std::signbit(v); }

/// 2^-k when v is 2^k and both are normal in every float dtype, so that x / v and x * (1 / v) round alike.
std::optional<double> exactReciprocal(double v) {
  int exponent = 0;
  if (std::frexp(std::fabs(v), &exponent) != 0.5 || std::abs(exponent) > 12) return std::nullopt;
  return 1.0 / v;
}

std::optional<BinaryKind> mirrored(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::add:
    case BinaryKind::mul:
    case BinaryKind::max:
    case BinaryKind::min:
    case BinaryKind::eq:
    case BinaryKind::ne:
    case BinaryKind::bit_and:
    case BinaryKind::bit_or:
    case BinaryKind::bit_xor: return kind;
    case BinaryKind::lt: return BinaryKind::gt;
    case BinaryKind::gt: return BinaryKind::lt;
    case BinaryKind::le: return BinaryKind::ge;
    case BinaryKind::ge: return BinaryKind::le;
    default: return std::nullopt;
  }
}

/// pow(x, e) for the exponents that products serve, as torch does.
ValueId power(Canonical& c, const Node& node, double e) {
  const ValueId x = node.operands[0];
  if (e == 0)
    return c.emit.full(isFloat(node.type.dtype) ? Scalar::of(1.0) : Scalar::of(int64_t{1}), node.type.dtype,
                       node.type.shape);
  if (e == 1) return x;
  if (node.type.dtype == DType::boolean) return {};
  if (e == 2) return c.binary(BinaryKind::mul, x, x);
  if (e == 3) return c.binary(BinaryKind::mul, c.binary(BinaryKind::mul, x, x), x);
  if (e == -1 && isFloat(node.type.dtype)) return c.unary(UnaryKind::reciprocal, x);
  return {};
}

ValueId floatWithScalar(Canonical& c, const Node& node, BinaryKind kind, double b) {
  const ValueId x = node.operands[0];
  switch (kind) {
    case BinaryKind::add: return isNegativeZero(b) ? x : ValueId{};
    case BinaryKind::sub: return isPositiveZero(b) ? x : ValueId{};
    case BinaryKind::mul:
      if (b == 1) return x;
      return b == -1 ? c.unary(UnaryKind::neg, x) : ValueId{};
    case BinaryKind::div:
      if (b == 1) return x;
      if (b == -1) return c.unary(UnaryKind::neg, x);
      if (auto reciprocal = exactReciprocal(b)) return c.binary(BinaryKind::mul, x, c.emit.fullLike(x, *reciprocal));
      return {};
    case BinaryKind::pow: return power(c, node, b);
    case BinaryKind::max: return b == -kInfinity ? x : ValueId{};
    case BinaryKind::min: return b == kInfinity ? x : ValueId{};
    default: return {};
  }
}

ValueId boolWithScalar(Canonical& c, const Node& node, BinaryKind kind, bool b) {
  const ValueId x = node.operands[0];
  auto constant = [&](int64_t v) { return c.emit.full(Scalar::of(v), DType::boolean, node.type.shape); };
  switch (kind) {
    case BinaryKind::add:
    case BinaryKind::max:
    case BinaryKind::bit_or: return b ? constant(1) : x;
    case BinaryKind::mul:
    case BinaryKind::min:
    case BinaryKind::bit_and: return b ? x : constant(0);
    case BinaryKind::eq: return b ? x : c.unary(UnaryKind::logical_not, x);
    case BinaryKind::ne:
    case BinaryKind::bit_xor: return b ? c.unary(UnaryKind::logical_not, x) : x;
    default: return {};
  }
}

ValueId integerWithScalar(Canonical& c, const Node& node, BinaryKind kind, int64_t b) {
  const ValueId x = node.operands[0];
  const DType dtype = c.type(x).dtype;
  const bool allOnes = b == wrapTo(dtype, -1);
  auto constant = [&](int64_t v) { return c.emit.full(Scalar::of(v), dtype, node.type.shape); };
  switch (kind) {
    case BinaryKind::add:
    case BinaryKind::sub:
    case BinaryKind::bit_or:
    case BinaryKind::bit_xor:
    case BinaryKind::shl:
    case BinaryKind::shr: return b == 0 ? x : ValueId{};
    case BinaryKind::mul:
      if (b == 0) return constant(0);
      return b == 1 ? x : ValueId{};
    case BinaryKind::div:
    case BinaryKind::floordiv: return b == 1 ? x : ValueId{};
    case BinaryKind::rem:
    case BinaryKind::fmod: return b == 1 ? constant(0) : ValueId{};
    case BinaryKind::bit_and:
      if (b == 0) return constant(0);
      return allOnes ? x : ValueId{};
    case BinaryKind::pow: return b >= 0 && b <= 3 ? power(c, node, static_cast<double>(b)) : ValueId{};
    default: return {};
  }
}

ValueId withScalar(Canonical& c, const Node& node, BinaryKind kind, const Scalar& b) {
  const DType dtype = c.type(node.operands[0]).dtype;
  if (isFloat(dtype)) return floatWithScalar(c, node, kind, b.asDouble());
  if (dtype == DType::boolean) return boolWithScalar(c, node, kind, b.asDouble() != 0);
  return integerWithScalar(c, node, kind, wrapTo(dtype, b.asInt()));
}

/// Both operands are one value. NaN differs from itself, so comparisons and x - x of floats stay.
ValueId onSameValue(Canonical& c, const Node& node, BinaryKind kind) {
  const ValueId x = node.operands[0];
  const DType dtype = c.type(x).dtype;
  auto constant = [&](int64_t v) { return c.emit.full(Scalar::of(v), node.type.dtype, node.type.shape); };
  switch (kind) {
    case BinaryKind::max:
    case BinaryKind::min:
    case BinaryKind::bit_and:
    case BinaryKind::bit_or: return x;
    case BinaryKind::bit_xor: return constant(0);
    case BinaryKind::sub: return isInteger(dtype) ? constant(0) : ValueId{};
    case BinaryKind::eq:
    case BinaryKind::le:
    case BinaryKind::ge: return isFloat(dtype) ? ValueId{} : constant(1);
    case BinaryKind::ne:
    case BinaryKind::lt:
    case BinaryKind::gt: return isFloat(dtype) ? ValueId{} : constant(0);
    default: return {};
  }
}

bool isNegation(const Canonical& c, ValueId v) {
  const auto* op = c.op<Unary>(v);
  return op && op->kind == UnaryKind::neg;
}

}  // namespace

ValueId simplifyBinary(Canonical& c, const Node& node, const Binary& op) {
  const ValueId a = node.operands[0], b = node.operands[1];
  const auto left = c.splat(a), right = c.splat(b);
  if (right)
    if (const ValueId v = withScalar(c, node, op.kind, *right); v.valid()) return v;
  if (left && !right)
    if (const auto kind = mirrored(op.kind)) return c.binary(*kind, b, a);
  if (a == b) return onSameValue(c, node, op.kind);
  if (isNegation(c, b)) {
    const ValueId positive = c.def(b).operands[0];
    if (op.kind == BinaryKind::add) return c.binary(BinaryKind::sub, a, positive);
    if (op.kind == BinaryKind::sub) return c.binary(BinaryKind::add, a, positive);
  }
  // max(max(x, c), c), the relu of a relu.
  if (op.kind == BinaryKind::max || op.kind == BinaryKind::min)
    if (const auto* inner = c.op<Binary>(a); inner && inner->kind == op.kind)
      if (const auto innerRight = c.splat(c.def(a).operands[1]); right && innerRight && *right == *innerRight) return a;
  return {};
}

}  // namespace tokamak
