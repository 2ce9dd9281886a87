#include <limits>

#include "passes/canonicalise/rules.h"

namespace tokamak {

ValueId simplifySelect(Canonical& c, const Node& node) {
  const ValueId condition = node.operands[0], a = node.operands[1], b = node.operands[2];
  if (const auto known = c.splat(condition)) return known->asDouble() != 0 ? a : b;
  if (a == b) return a;
  if (const auto* inverted = c.op<Unary>(condition); inverted && inverted->kind == UnaryKind::logical_not) {
    const ValueId plain = c.def(condition).operands[0];
    if (c.type(plain).dtype == DType::boolean) return c.make(Select{}, {plain, b, a}, node.type);
  }
  const auto left = c.splat(a), right = c.splat(b);
  if (!left || !right) return {};
  if (*left == *right) return a;
  if (node.type.dtype != DType::boolean) return {};
  return left->asDouble() != 0 ? condition : c.unary(UnaryKind::logical_not, condition);
}

ValueId simplifyClamp(Canonical& c, const Node& node) {
  const ValueId x = node.operands[0], low = node.operands[1], high = node.operands[2];
  if (const auto* inner = c.op<Clamp>(x); inner && c.def(x).operands[1] == low && c.def(x).operands[2] == high)
    return x;
  if (!isFloat(node.type.dtype)) return {};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto bottom = c.splat(low), top = c.splat(high);
  if (bottom && bottom->asDouble() == -infinity) return c.binary(BinaryKind::min, x, high);
  if (top && top->asDouble() == infinity) return c.binary(BinaryKind::max, x, low);
  return {};
}

namespace {

/// Whether every value of `a` is a value of `b`.
bool isLossless(DType a, DType b) {
  if (a == b || a == DType::boolean) return true;
  if (isInteger(a) && isInteger(b))
    return isSigned(a) == isSigned(b) ? bitWidth(a) <= bitWidth(b) : !isSigned(a) && bitWidth(a) < bitWidth(b);
  if (isInteger(a)) {
    constexpr int precision[] = {11, 8, 24, 53};  // of f16, bf16, f32, f64
    const int bits = bitWidth(a) - (isSigned(a) ? 1 : 0);
    return isFloat(b) && bits <= precision[static_cast<int>(b) - static_cast<int>(DType::f16)];
  }
  return isFloat(b) && bitWidth(a) < bitWidth(b);
}

/// Whether a half-precision value is known to be rounded, so that casting it to its own dtype does nothing.
bool isRounded(const Canonical& c, ValueId v) {
  const Node& node = c.def(v);
  if (std::holds_alternative<Input>(node.op) || std::holds_alternative<Constant>(node.op)) return true;
  if (const auto* cast = std::get_if<Cast>(&node.op)) return !cast->synthetic;
  const bool moves = std::holds_alternative<Reshape>(node.op) || std::holds_alternative<Transpose>(node.op) ||
                     std::holds_alternative<Broadcast>(node.op) || std::holds_alternative<Slice>(node.op) ||
                     std::holds_alternative<Flip>(node.op);
  return moves && isRounded(c, node.operands[0]);
}

}  // namespace

ValueId simplifyCast(Canonical& c, const Node& node, const Cast& op) {
  const ValueId x = node.operands[0];
  const DType from = c.type(x).dtype, to = node.type.dtype;
  // Between ops a half may hold more bits than its dtype; a cast the program wrote is where it rounds.
  if (from == to) return !isHalf(to) || op.synthetic || isRounded(c, x) ? x : ValueId{};
  const auto* inner = c.op<Cast>(x);
  if (!inner) return {};
  const ValueId y = c.def(x).operands[0];
  const DType origin = c.type(y).dtype;
  const bool wraps = isInteger(to) && isInteger(from) && bitWidth(to) <= bitWidth(from) && origin != DType::boolean &&
                     (isInteger(origin) || from == DType::i64);
  if (!isLossless(origin, from) && !wraps) return {};
  if (origin == to && isHalf(to)) return op.synthetic || isRounded(c, y) ? y : ValueId{};
  return c.make(Cast{op.synthetic && inner->synthetic}, {y}, node.type);
}

}  // namespace tokamak
