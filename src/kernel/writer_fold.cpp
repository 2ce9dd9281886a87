#include "kernel/writer.h"

/// Simplification of integer and bool arithmetic. Integers wrap, so sums and products re-associate freely; comparisons
/// and divisions only fold when both operands are known.
namespace tokamak::kernel {

ExprId Writer::foldBinary(BinaryKind kind, ExprId a, ExprId b) {
  const ValueType t = type(a);
  return imm(Scalar::of(evalBinary(kind, t.dtype, *asConstant(a), *asConstant(b))), resultType(kind, t.dtype), t.lanes);
}

std::optional<ExprId> Writer::simplifyBinary(BinaryKind kind, ExprId a, ExprId b) {
  const ValueType t = type(a);
  if (asConstant(a) && asConstant(b)) return foldBinary(kind, a, b);
  if (a == b)
    if (auto simple = simplifySame(kind, a)) return simple;
  if (t.dtype == DType::boolean) return simplifyLogic(kind, a, b);
  const auto right = asConstant(b);
  using enum BinaryKind;
  switch (kind) {
    case add: return simplifyAddition(a, b);
    case sub: return simplifyDifference(a, b);
    case mul: return simplifyProduct(a, b);
    case div:
    case floordiv: return right == 1 ? std::optional(a) : std::nullopt;
    case rem:
    case fmod: return right == 1 ? std::optional(imm(Scalar::of(int64_t{0}), t.dtype, t.lanes)) : std::nullopt;
    case shl:
    case shr: return right == 0 ? std::optional(a) : std::nullopt;
    default: return std::nullopt;
  }
}

/// Constants go right and gather: (x + 1) + (y + 2) is (x + y) + 3; x + (y - x) is y. What is added to a ramp moves
/// into its base, so that an index made of vectors is still seen to be contiguous.
std::optional<ExprId> Writer::simplifyAddition(ExprId a, ExprId b) {
  if (asConstant(a)) std::swap(a, b);
  const ValueType t = type(a);
  const auto splitConstant = [&](ExprId e) -> std::optional<Bin> {
    auto sum = match<Bin>(e);
    return sum && sum->kind == BinaryKind::add && asConstant(sum->b) ? sum : std::nullopt;
  };
  const auto baseOf = [&](ExprId e) -> std::optional<ExprId> {
    if (auto literal = asConstant(e)) return imm(Scalar::of(*literal), t.dtype);
    auto same = match<Splat>(e);
    return same ? std::optional(same->a) : std::nullopt;
  };
  if (asConstant(b) == 0) return a;
  if (auto rest = match<Bin>(b); rest && rest->kind == BinaryKind::sub && rest->b == a) return rest->a;
  if (auto rest = match<Bin>(a); rest && rest->kind == BinaryKind::sub && rest->b == b) return rest->a;
  if (auto whole = rejoin(a, b)) return whole;
  if (auto whole = rejoin(b, a)) return whole;
  if (auto lanes = match<Ramp>(a))
    if (auto more = baseOf(b)) return ramp(add(lanes->base, *more), t.lanes);
  if (auto lanes = match<Ramp>(b))
    if (auto more = baseOf(a)) return ramp(add(*more, lanes->base), t.lanes);
  if (auto left = splitConstant(a)) {
    if (asConstant(b)) return add(left->a, foldBinary(BinaryKind::add, left->b, b));
    if (auto right = splitConstant(b))
      return add(add(left->a, right->a), foldBinary(BinaryKind::add, left->b, right->b));
    return add(add(left->a, b), left->b);
  }
  if (auto right = splitConstant(b)) return add(add(a, right->a), right->b);
  if (asConstant(b)) return kernel_.intern({Bin{BinaryKind::add, a, b}, t});
  return std::nullopt;
}

/// The pieces that a reshape cuts an index into, put together again where they meet in one address:
/// (x mod n) s + (x / n) n s is x s, and (x mod n) s + (x / n mod m) n s is (x mod n m) s.
std::optional<ExprId> Writer::rejoin(ExprId low, ExprId high) {
  const auto scaled = [&](ExprId e) -> std::pair<ExprId, int64_t> {
    auto product = match<Bin>(e);
    const bool factor = product && product->kind == BinaryKind::mul && asConstant(product->b);
    return factor ? std::pair(product->a, *asConstant(product->b)) : std::pair(e, int64_t{1});
  };
  const auto by = [&](ExprId e, BinaryKind kind) -> std::optional<Bin> {
    auto whole = match<Bin>(e);
    return whole && whole->kind == kind && asConstant(whole->b).value_or(0) > 0 ? whole : std::nullopt;
  };
  const auto [lowPart, scale] = scaled(low);
  const auto rest = by(lowPart, BinaryKind::fmod);
  if (!rest) return std::nullopt;
  const auto [highPart, step] = scaled(high);
  if (step != scale * *asConstant(rest->b)) return std::nullopt;
  const auto outer = by(highPart, BinaryKind::fmod);
  const auto quotient = by(outer ? outer->a : highPart, BinaryKind::div);
  if (!quotient || quotient->a != rest->a || quotient->b != rest->b) return std::nullopt;
  const ExprId joined =
      outer ? binary(BinaryKind::fmod, rest->a, foldBinary(BinaryKind::mul, rest->b, outer->b)) : rest->a;
  return mul(joined, imm(Scalar::of(scale), type(joined).dtype, type(joined).lanes));
}

/// Taking a constant away adds its negative; (x + y) - x is y; constants of either side gather on the right.
std::optional<ExprId> Writer::simplifyDifference(ExprId a, ExprId b) {
  const auto negated = [&](ExprId e) { return unary(UnaryKind::neg, e); };
  if (asConstant(b)) return add(a, negated(b));
  if (auto sum = match<Bin>(a); sum && sum->kind == BinaryKind::add) {
    if (sum->a == b) return sum->b;
    if (sum->b == b) return sum->a;
    if (asConstant(sum->b)) return add(sub(sum->a, b), sum->b);
  }
  if (auto sum = match<Bin>(b); sum && sum->kind == BinaryKind::add && asConstant(sum->b))
    return add(sub(a, sum->a), negated(sum->b));
  return std::nullopt;
}

/// Constants go right and gather: (x*2)*3 is x*6. A product spreads over a sum only where that leaves fewer operations:
/// (x*2 + 1)*3 is x*6 + 3, while (x + y)*3 stays.
std::optional<ExprId> Writer::simplifyProduct(ExprId a, ExprId b) {
  if (asConstant(a)) std::swap(a, b);
  const auto factor = asConstant(b);
  if (!factor) return std::nullopt;
  if (*factor == 0) return b;
  if (*factor == 1) return a;
  if (auto inner = match<Bin>(a); inner && asConstant(inner->b)) {
    if (inner->kind == BinaryKind::mul) return mul(inner->a, foldBinary(BinaryKind::mul, inner->b, b));
    if (auto scaled = match<Bin>(inner->a);
        inner->kind == BinaryKind::add && scaled && scaled->kind == BinaryKind::mul && asConstant(scaled->b))
      return add(mul(inner->a, b), foldBinary(BinaryKind::mul, inner->b, b));
  }
  return kernel_.intern({Bin{BinaryKind::mul, a, b}, type(a)});
}

std::optional<ExprId> Writer::simplifyLogic(BinaryKind kind, ExprId a, ExprId b) {
  if (asConstant(a)) std::swap(a, b);
  const auto known = asConstant(b);
  if (!known) return std::nullopt;
  using enum BinaryKind;
  switch (kind) {
    case mul:
    case min:
    case bit_and: return *known ? a : b;
    case add:
    case max:
    case bit_or: return *known ? b : a;
    case ne:
    case bit_xor: return *known ? unary(UnaryKind::logical_not, a) : a;
    case eq: return *known ? a : unary(UnaryKind::logical_not, a);
    default: return std::nullopt;
  }
}

std::optional<ExprId> Writer::simplifySame(BinaryKind kind, ExprId a) {
  const ValueType t = type(a);
  using enum BinaryKind;
  switch (kind) {
    case eq:
    case le:
    case ge: return boolean(true, t.lanes);
    case ne:
    case lt:
    case gt: return boolean(false, t.lanes);
    case max:
    case min:
    case bit_and:
    case bit_or: return a;
    case sub:
    case bit_xor: return imm(Scalar::of(int64_t{0}), t.dtype, t.lanes);
    default: return std::nullopt;
  }
}

}  // namespace tokamak::kernel
