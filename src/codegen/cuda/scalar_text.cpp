#include "codegen/cuda/scalar_text.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "support/check.h"

namespace tokamak::codegen::cuda {

Text infix(const Text& a, std::string_view symbol, const Text& b, Level level) {
  const auto tighter = static_cast<Level>(static_cast<int>(level) + 1);
  // Sums and products group to the left; comparisons and logic say how they group.
  const bool chains = level == Level::sum || level == Level::product;
  return {fmt::format("{} {} {}", a.at(chains ? level : tighter), symbol, b.at(tighter)), level};
}

Text call(const std::string& function, std::initializer_list<Text> arguments) {
  std::string text = function + "(";
  bool first = true;
  for (const Text& argument : arguments) {
    if (!first) text += ", ";
    first = false;
    text += argument.text;
  }
  return {text + ")", Level::atom};
}

Text castTo(std::string_view type, const Text& a) {
  return {fmt::format("({}){}", type, a.at(Level::unary)), Level::unary};
}

std::string typeName(Snippets& snippets, DType t) {
  switch (t) {
    case DType::boolean: return "bool";
    case DType::u8: return "unsigned char";
    case DType::i8: return "signed char";
    case DType::i16: return "short";
    case DType::i32: return "int";
    case DType::i64: return "long long";
    case DType::f16: return snippets.use("f16");
    case DType::bf16: return snippets.use("bf16");
    case DType::f32: return "float";
    case DType::f64: return "double";
  }
  failCheck("a dtype", __FILE__, __LINE__, "");
}

std::string memoryTypeName(Snippets& snippets, DType t) {
  return t == DType::boolean ? "unsigned char" : typeName(snippets, t);
}

std::string_view unsignedName(DType t) { return t == DType::i64 ? "unsigned long long" : "unsigned"; }

namespace {

Text floatText(DType t, double value) {
  const bool single = t == DType::f32;
  if (std::isnan(value))
    return {single ? "__int_as_float(0x7fc00000)" : "__longlong_as_double(0x7ff8000000000000ll)", Level::atom};
  const Level level = std::signbit(value) ? Level::unary : Level::atom;
  const std::string sign = std::signbit(value) ? "-" : "";
  if (std::isinf(value))
    return {sign + (single ? "__int_as_float(0x7f800000)" : "__longlong_as_double(0x7ff0000000000000ll)"), level};
  std::string digits = single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return {digits + (single ? "f" : ""), level};
}

}  // namespace

Text immediateText(DType t, const Scalar& value) {
  if (t == DType::boolean) return {value.asInt() ? "true" : "false", Level::atom};
  if (isFloat(t)) {
    // An integer goes straight to f32: through float64 it would be rounded twice.
    const bool direct = t == DType::f32 && !value.isFloat;
    return floatText(t, direct ? static_cast<double>(static_cast<float>(value.i)) : value.asDouble());
  }
  const int64_t i = wrapTo(t, value.asInt());
  if (i == INT64_MIN) return {"(-9223372036854775807ll - 1)", Level::atom};
  if (i == INT32_MIN && t == DType::i32) return {"(-2147483647 - 1)", Level::atom};
  const bool isLong = i > INT32_MAX || i < INT32_MIN;
  Text text{fmt::format("{}{}", i, isLong ? "ll" : ""), i < 0 ? Level::unary : Level::atom};
  if (t == DType::i32 || t == DType::i64) return text;
  Snippets none;
  return castTo(typeName(none, t), text);
}

Text zeroText(Snippets& snippets, DType t) {
  return isHalf(t) ? Text{typeName(snippets, t) + "{0}", Level::atom} : immediateText(t, Scalar::of(int64_t{0}));
}

namespace {

/// The C name of a function that CUDA has, without the `f` of its single form; empty where it has none.
std::string_view cudaName(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::abs: return "fabs";
    case UnaryKind::round: return "rint";
    case UnaryKind::exp:
    case UnaryKind::exp2:
    case UnaryKind::expm1:
    case UnaryKind::log:
    case UnaryKind::log2:
    case UnaryKind::log10:
    case UnaryKind::log1p:
    case UnaryKind::sqrt:
    case UnaryKind::rsqrt:
    case UnaryKind::sin:
    case UnaryKind::cos:
    case UnaryKind::tan:
    case UnaryKind::asin:
    case UnaryKind::acos:
    case UnaryKind::atan:
    case UnaryKind::sinh:
    case UnaryKind::cosh:
    case UnaryKind::tanh:
    case UnaryKind::asinh:
    case UnaryKind::acosh:
    case UnaryKind::atanh:
    case UnaryKind::erf:
    case UnaryKind::erfc:
    case UnaryKind::floor:
    case UnaryKind::ceil:
    case UnaryKind::trunc: return nameOf(kind);
    default: return {};
  }
}

Text floatUnary(Snippets& snippets, UnaryKind kind, DType t, const Text& a) {
  if (snippets.quick() && t == DType::f32) {
    if (kind == UnaryKind::exp) return call(snippets.use("exp_quick"), {a});
    if (kind == UnaryKind::sigmoid) return call(snippets.use("sigmoid_quick"), {a});
    if (kind == UnaryKind::erf) return call(snippets.use("erf_quick"), {a});
    if (kind == UnaryKind::reciprocal) return call(snippets.use("div_quick"), {floatText(t, 1), a});
  }
  const std::string_view suffix = t == DType::f32 ? "f" : "";
  if (auto name = cudaName(kind); !name.empty()) return call(fmt::format("{}{}", name, suffix), {a});
  const Text infinity = floatText(t, std::numeric_limits<double>::infinity());
  const Text magnitude = call(fmt::format("fabs{}", suffix), {a});
  switch (kind) {
    case UnaryKind::neg: return {"-" + a.at(Level::atom), Level::unary};
    case UnaryKind::sign: return call(snippets.use("sign"), {a});
    case UnaryKind::reciprocal: return infix(floatText(t, 1), "/", a, Level::product);
    case UnaryKind::sigmoid: return call(snippets.use(t == DType::f32 ? "sigmoidf" : "sigmoidd"), {a});
    case UnaryKind::isnan: return infix(a, "!=", a, Level::comparison);
    case UnaryKind::isinf: return infix(magnitude, "==", infinity, Level::comparison);
    case UnaryKind::isfinite: return infix(magnitude, "<", infinity, Level::comparison);
    case UnaryKind::logical_not: return infix(a, "==", floatText(t, 0), Level::comparison);
    default: failCheck("a function of floats", __FILE__, __LINE__, nameOf(kind));
  }
}

std::string wrapping(Snippets& snippets, std::string_view name, DType t) {
  return fmt::format("{}<{}>", snippets.use(name), unsignedName(t));
}

Text integerUnary(Snippets& snippets, UnaryKind kind, DType t, const Text& a) {
  switch (kind) {
    case UnaryKind::neg: return call(wrapping(snippets, "neg", t), {a});
    case UnaryKind::abs: return isSigned(t) ? call(wrapping(snippets, "abs", t), {a}) : a;
    case UnaryKind::sign: return call(snippets.use("sign"), {a});
    case UnaryKind::floor:
    case UnaryKind::ceil:
    case UnaryKind::round:
    case UnaryKind::trunc: return a;
    case UnaryKind::isnan:
    case UnaryKind::isinf: return {"false", Level::atom};
    case UnaryKind::isfinite: return {"true", Level::atom};
    case UnaryKind::logical_not:
      if (t != DType::boolean) return infix(a, "==", {"0", Level::atom}, Level::comparison);
      return {"!" + a.at(Level::atom), Level::unary};
    case UnaryKind::bitnot:
      if (t == DType::boolean) return {"!" + a.at(Level::atom), Level::unary};
      return castTo(typeName(snippets, t), {"~" + a.at(Level::atom), Level::unary});
    default: failCheck("a function of integers", __FILE__, __LINE__, nameOf(kind));
  }
}

std::string_view comparison(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::eq: return "==";
    case BinaryKind::ne: return "!=";
    case BinaryKind::lt: return "<";
    case BinaryKind::le: return "<=";
    case BinaryKind::gt: return ">";
    case BinaryKind::ge: return ">=";
    default: return {};
  }
}

Text boolBinary(BinaryKind kind, const Text& a, const Text& b) {
  switch (kind) {
    case BinaryKind::add:
    case BinaryKind::max:
    case BinaryKind::bit_or: return infix(a, "||", b, Level::logic);
    case BinaryKind::mul:
    case BinaryKind::min:
    case BinaryKind::bit_and: return infix(a, "&&", b, Level::logic);
    case BinaryKind::bit_xor: return infix(a, "!=", b, Level::comparison);
    default: failCheck("a function of bools", __FILE__, __LINE__, nameOf(kind));
  }
}

Text floatBinary(Snippets& snippets, BinaryKind kind, DType t, const Text& a, const Text& b) {
  const bool single = t == DType::f32;
  switch (kind) {
    case BinaryKind::add: return infix(a, "+", b, Level::sum);
    case BinaryKind::sub: return infix(a, "-", b, Level::sum);
    case BinaryKind::mul: return infix(a, "*", b, Level::product);
    case BinaryKind::div:
      if (single && snippets.quick()) return call(snippets.use("div_quick"), {a, b});
      return infix(a, "/", b, Level::product);
    case BinaryKind::max: return call(snippets.use(single ? "maxf" : "maxd"), {a, b});
    case BinaryKind::min: return call(snippets.use(single ? "minf" : "mind"), {a, b});
    case BinaryKind::floordiv: return call(snippets.use("floordivf"), {a, b});
    case BinaryKind::rem: return call(snippets.use("remf"), {a, b});
    case BinaryKind::fmod: return call(single ? "fmodf" : "fmod", {a, b});
    case BinaryKind::pow: return call(single ? "powf" : "pow", {a, b});
    case BinaryKind::atan2: return call(single ? "atan2f" : "atan2", {a, b});
    default: failCheck("a function of floats", __FILE__, __LINE__, nameOf(kind));
  }
}

Text integerBinary(Snippets& snippets, BinaryKind kind, DType t, const Text& a, const Text& b) {
  const auto bits = [&](std::string_view symbol) {
    Text text = infix(a, symbol, b, Level::logic);
    return bitWidth(t) < 32 ? castTo(typeName(snippets, t), text) : text;
  };
  switch (kind) {
    case BinaryKind::bit_and: return bits("&");
    case BinaryKind::bit_or: return bits("|");
    case BinaryKind::bit_xor: return bits("^");
    case BinaryKind::max:
    case BinaryKind::min:
    case BinaryKind::fmod:
    case BinaryKind::rem:
    case BinaryKind::shr: return call(snippets.use(nameOf(kind)), {a, b});
    default: return call(wrapping(snippets, nameOf(kind), t), {a, b});
  }
}

}  // namespace

Text unaryText(Snippets& snippets, UnaryKind kind, DType t, const Text& a) {
  return isFloat(t) ? floatUnary(snippets, kind, t, a) : integerUnary(snippets, kind, t, a);
}

Text binaryText(Snippets& snippets, BinaryKind kind, DType t, const Text& a, const Text& b) {
  if (auto symbol = comparison(kind); !symbol.empty()) return infix(a, symbol, b, Level::comparison);
  if (t == DType::boolean) return boolBinary(kind, a, b);
  return isFloat(t) ? floatBinary(snippets, kind, t, a, b) : integerBinary(snippets, kind, t, a, b);
}

Text convertText(Snippets& snippets, DType from, DType to, const Text& a) {
  if (from == to) return a;
  if (isHalf(from)) {
    const Text single = call(snippets.use(from == DType::bf16 ? "f32_of_bf16" : "f32_of_f16"), {a});
    return convertText(snippets, DType::f32, to, single);
  }
  if (isHalf(to)) {
    // What f32 does not hold exactly is rounded once, by way of f64 and round-to-odd.
    const bool inexact = from == DType::i32 || from == DType::i64 || from == DType::f64;
    const Text single = inexact ? call(snippets.use("f32_to_odd"), {convertText(snippets, from, DType::f64, a)})
                                : convertText(snippets, from, DType::f32, a);
    return call(snippets.use(to == DType::bf16 ? "bf16_of_f32" : "f16_of_f32"), {single});
  }
  if (to == DType::boolean) return infix(a, "!=", {isFloat(from) ? "0.0f" : "0", Level::atom}, Level::comparison);
  if (isFloat(from) && !isFloat(to)) {
    const Text whole = call(snippets.use(from == DType::f32 ? "i64_of_f32" : "i64_of_f64"), {a});
    return to == DType::i64 ? whole : castTo(typeName(snippets, to), whole);
  }
  return castTo(typeName(snippets, to), a);
}

}  // namespace tokamak::codegen::cuda
