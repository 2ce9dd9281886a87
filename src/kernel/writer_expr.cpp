#include <fmt/format.h>

#include <algorithm>

#include "kernel/check_expr.h"
#include "kernel/convert.h"
#include "kernel/writer.h"

/// The expressions of Writer: types checked, lanes matched, immediates folded.
namespace tokamak::kernel {

ExprId Writer::imm(Scalar value, DType dtype, int lanes) {
  if (isHalf(dtype)) {
    const double rounded = roundTo(dtype, value.asDouble());  // exact in f32, so the cast that follows changes nothing
    return kernel_.intern({Convert{imm(Scalar::of(rounded), DType::f32, lanes)}, {dtype, lanes}});
  }
  return kernel_.intern({Imm{convertScalar(value, dtype)}, {dtype, lanes}});
}

std::optional<int64_t> Writer::asConstant(ExprId a) const {
  const Imm* imm = std::get_if<Imm>(&kernel_.expr(a).node);
  return imm && !imm->value.isFloat ? std::optional(imm->value.i) : std::nullopt;
}

ExprId Writer::dim(const Dim& value) {
  if (auto known = value.constant()) return i64(*known);
  addSymbols(value);
  ExprId sum = i64(0);
  for (const auto& term : value.terms()) {
    ExprId product = i64(1);
    for (const auto& atom : term.factors) {
      if (atom.kind == Dim::AtomKind::symbol) {
        product = mul(product, kernel_.intern({Symbol{atom.name}, {DType::i64, 1}}));
        continue;
      }
      constexpr BinaryKind kinds[] = {BinaryKind::floordiv, BinaryKind::rem, BinaryKind::max, BinaryKind::min};
      const auto kind = kinds[static_cast<int>(atom.kind) - static_cast<int>(Dim::AtomKind::floordiv)];
      product = mul(product, binary(kind, dim(atom.a), dim(atom.b)));
    }
    sum = term.coefficient == -1 ? sub(sum, product) : add(sum, mul(product, i64(term.coefficient)));
  }
  return sum;
}

void Writer::matchLanes(ExprId& a, ExprId& b) {
  if (lanes(a) < lanes(b))
    a = splat(a, lanes(b));
  else
    b = splat(b, lanes(a));
}

ExprId Writer::unary(UnaryKind kind, ExprId a) {
  const ValueType t = type(a);
  TK_CHECK(isDefined(kind, t.dtype) && !isHalf(t.dtype), fmt::format("{} of {}", nameOf(kind), t.str()));
  if (auto value = asConstant(a))
    return imm(Scalar::of(evalUnary(kind, t.dtype, *value)), resultType(kind, t.dtype), t.lanes);
  if (auto literal = match<Imm>(a); literal && kind == UnaryKind::neg)
    return imm(Scalar::of(-literal->value.d), t.dtype, t.lanes);
  if (auto inner = match<Un>(a); inner && inner->kind == kind && t.dtype == DType::boolean &&
                                 kind == UnaryKind::logical_not && type(inner->a).dtype == DType::boolean)
    return inner->a;
  return kernel_.intern({Un{kind, a}, {resultType(kind, t.dtype), t.lanes}});
}

ExprId Writer::binary(BinaryKind kind, ExprId a, ExprId b) {
  matchLanes(a, b);
  const ValueType t = type(a);
  TK_CHECK(t == type(b), fmt::format("{} of {} and {}", nameOf(kind), t.str(), type(b).str()));
  TK_CHECK(isDefined(kind, t.dtype) && !isHalf(t.dtype), fmt::format("{} of {}", nameOf(kind), t.str()));
  if (!isFloat(t.dtype))
    if (auto simple = simplifyBinary(kind, a, b)) return *simple;
  return kernel_.intern({Bin{kind, a, b}, {resultType(kind, t.dtype), t.lanes}});
}

ExprId Writer::both(ExprId a, ExprId b) {
  if (!a) return b;
  return b ? binary(BinaryKind::bit_and, a, b) : a;
}

ExprId Writer::select(ExprId condition, ExprId a, ExprId b) {
  TK_CHECK(type(condition).dtype == DType::boolean, "select chooses by a bool");
  matchLanes(a, b);
  matchLanes(a, condition);
  b = splat(b, lanes(a));
  TK_CHECK(type(a) == type(b), fmt::format("select between {} and {}", type(a).str(), type(b).str()));
  TK_CHECK(!isHalf(type(a).dtype), "select of halves: cast first");
  if (a == b) return a;
  if (auto known = asConstant(condition)) return *known ? a : b;
  return kernel_.intern({Sel{condition, a, b}, type(a)});
}

ExprId Writer::convert(ExprId a, DType dtype) {
  const ValueType t = type(a);
  if (t.dtype == dtype) return a;
  if (auto literal = match<Imm>(a); literal && !isHalf(dtype))
    return imm(convertScalar(literal->value, dtype), dtype, t.lanes);
  return kernel_.intern({Convert{a}, {dtype, t.lanes}});
}

ExprId Writer::load(BufferId buffer, ExprId index, int lanes, ExprId mask, Cache cache) {
  const Buffer& source = kernel_.buffer(buffer);
  const ValueType at = type(index);
  TK_CHECK(at.dtype == DType::i64 || at.dtype == DType::i32, fmt::format("{} indexed by {}", source.name, at.str()));
  if (at.lanes > 1) {
    TK_CHECK(lanes == 1 || lanes == at.lanes, "a gather has as many lanes as its index");
    lanes = at.lanes;
    if (auto ramp = match<Ramp>(index); ramp && at.dtype == DType::i64) index = ramp->base;
  }
  if (mask) {
    TK_CHECK(type(mask).dtype == DType::boolean, "a mask is bool");
    if (auto known = asConstant(mask)) {
      if (!*known) return imm(Scalar::of(int64_t{0}), source.dtype, lanes);
      mask = {};
    } else {
      mask = splat(mask, lanes);
    }
  }
  return kernel_.intern({Load{buffer, index, mask, isAligned(buffer, index, lanes), cache}, {source.dtype, lanes}});
}

ExprId Writer::splat(ExprId a, int lanes) {
  const ValueType t = type(a);
  if (t.lanes == lanes) return a;
  TK_CHECK(t.lanes == 1, fmt::format("{} where {} lanes are wanted", t.str(), lanes));
  if (auto literal = match<Imm>(a)) return imm(literal->value, t.dtype, lanes);
  if (auto cast = match<Convert>(a); cast && match<Imm>(cast->a)) return convert(splat(cast->a, lanes), t.dtype);
  return kernel_.intern({Splat{a}, {t.dtype, lanes}});
}

ExprId Writer::ramp(ExprId base, int lanes) {
  const ValueType t = type(base);
  TK_CHECK(t.lanes == 1 && (t.dtype == DType::i64 || t.dtype == DType::i32), fmt::format("ramp from {}", t.str()));
  if (lanes == 1) return base;
  return kernel_.intern({Ramp{base}, {t.dtype, lanes}});
}

static bool folds(BinaryKind kind) {
  return kind == BinaryKind::add || kind == BinaryKind::mul || kind == BinaryKind::max || kind == BinaryKind::min ||
         kind == BinaryKind::bit_and || kind == BinaryKind::bit_or;
}

ExprId Writer::fold(BinaryKind kind, ExprId a) {
  const ValueType t = type(a);
  TK_CHECK(folds(kind) && isDefined(kind, t.dtype) && !isHalf(t.dtype),
           fmt::format("fold {} of {}", nameOf(kind), t.str()));
  if (t.lanes == 1) return a;
  const bool idempotent = kind != BinaryKind::add && kind != BinaryKind::mul;
  if (auto same = match<Splat>(a); same && idempotent) return same->a;
  return kernel_.intern({Fold{kind, a}, {t.dtype, 1}});
}

ExprId Writer::prefix(BinaryKind kind, ExprId a) {
  const ValueType t = type(a);
  TK_CHECK(folds(kind) && kind < BinaryKind::bit_and && isDefined(kind, t.dtype) && !isHalf(t.dtype),
           fmt::format("prefix {} of {}", nameOf(kind), t.str()));
  return t.lanes == 1 ? a : kernel_.intern({Prefix{kind, a}, t});
}

ExprId Writer::extract(ExprId a, int lane) {
  const ValueType t = type(a);
  TK_CHECK(lane >= 0 && lane < t.lanes && !isHalf(t.dtype), fmt::format("lane {} of {}", lane, t.str()));
  if (t.lanes == 1) return a;
  if (auto literal = match<Imm>(a)) return imm(literal->value, t.dtype);
  if (auto same = match<Splat>(a)) return same->a;
  if (auto ramp = match<Ramp>(a)) return add(ramp->base, imm(Scalar::of(int64_t{lane}), t.dtype));
  return kernel_.intern({Extract{a, lane}, {t.dtype, 1}});
}

ExprId Writer::overWarp(ExprNode node, ExprId a) {
  const Expr e{std::move(node), type(a)};
  const std::string wrong = checkExpr(kernel_, e);
  TK_CHECK(wrong.empty(), wrong);
  return let("over", kernel_.intern(e));
}

ExprId Writer::warpFold(BinaryKind kind, ExprId a, int width, int stride) {
  return width == 1 ? a : overWarp(WarpFold{kind, a, width, stride}, a);
}

ExprId Writer::warpPrefix(BinaryKind kind, ExprId a, int width) {
  return width == 1 ? a : overWarp(WarpPrefix{kind, a, width}, a);
}

ExprId Writer::warpShift(ExprId a, ExprId first, int width) {
  return width == 1 ? first : overWarp(WarpShift{a, first, width}, a);
}

ExprId Writer::philox(ExprId seed, ExprId offset, ExprId index) {
  const ValueType word{DType::i64, 1};
  TK_CHECK(type(seed) == word && type(offset) == word && type(index).dtype == DType::i64,
           "philox takes a scalar i64 seed and offset and an i64 index");
  return kernel_.intern({Philox{seed, offset, index}, type(index)});
}

ExprId Writer::within(ExprId a, ExprId extent, ExprId mask) {
  if (!mask) mask = imm(Scalar::of(int64_t{1}), DType::boolean, lanes(a));
  TK_CHECK(type(a).dtype == DType::i64 && type(extent) == (ValueType{DType::i64, 1}) &&
               type(mask) == (ValueType{DType::boolean, lanes(a)}),
           "within takes an i64, a scalar i64 and a mask of as many lanes");
  return kernel_.intern({Within{a, extent, mask}, type(a)});
}

}  // namespace tokamak::kernel
