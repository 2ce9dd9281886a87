#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "kernel/check_expr.h"
#include "kernel/convert.h"
#include "kernel/parser.h"

/// expression = comparison
/// comparison = sum [('<' | '<=' | '>' | '>=' | '==' | '!=') sum]
/// sum        = product {('+' | '-') product}
/// product    = primary {('*' | '/') primary}
/// primary    = number | name | call | load | '(' expression ')'
namespace tokamak::kernel {

namespace {
constexpr int kMaxExprDepth = 100;

std::optional<BinaryKind> comparisonOf(std::string_view mark) {
  constexpr std::array<std::string_view, 6> marks = {"==", "!=", "<", "<=", ">", ">="};
  const auto it = std::find(marks.begin(), marks.end(), mark);
  if (it == marks.end()) return std::nullopt;
  return static_cast<BinaryKind>(static_cast<int>(BinaryKind::eq) + static_cast<int>(it - marks.begin()));
}
}  // namespace

Result<ExprId> Parser::expr(Wanted wanted) {
  TK_TRY(const Operand operand, comparison(wanted));
  return resolve(operand, wanted);
}

Result<Parser::Operand> Parser::made(const Token& at, ExprNode node, ValueType type) {
  Expr e{std::move(node), type};
  if (std::string wrong = checkExpr(kernel_, e); !wrong.empty())
    return fail(at, "T0420", std::move(wrong), "cast with cast<f32>(x), widen with splat<16>(x)");
  return Operand{kernel_.intern(std::move(e)), at};
}

// ---- numbers ----

/// The value of a bare number as one of `dtype`; also whether it can be.
Result<Scalar> Parser::number(const Operand& operand, DType dtype) {
  const std::string_view text = operand.at.text;
  const char *begin = text.data(), *end = begin + text.size();
  const auto bad = [&] {
    return fail(
        operand.at, "T0412",
        fmt::format("{}{} is not a value of {}", operand.negative ? "-" : "", text.substr(0, 40), nameOf(dtype)),
        "integers are written 3, floats 3.0, bool true or false; a type follows a colon: 3:i32");
  };
  const bool word = operand.at.kind == TokenKind::name;
  if (dtype == DType::boolean) {
    if (!word || text == "inf" || text == "nan" || operand.negative) return bad();
    return Scalar::of(static_cast<int64_t>(text == "true"));
  }
  if (!isFloat(dtype)) {
    uint64_t magnitude = 0;
    const auto [last, error] = std::from_chars(begin, end, magnitude);
    const uint64_t most = uint64_t{1} << 63;
    if (word || error != std::errc{} || last != end || magnitude > most || (magnitude == most && !operand.negative))
      return bad();
    const Scalar value = Scalar::of(static_cast<int64_t>(operand.negative ? 0 - magnitude : magnitude));
    return wrapTo(dtype, value.i) == value.i ? Result<Scalar>(value) : bad();
  }
  if (text == "nan") return Scalar::of(std::nan(""));
  double value = INFINITY;
  if (text != "inf") {
    if (word || isHalf(dtype) || text.find_first_of(".e") == std::string_view::npos) return bad();
    float narrow = 0;
    const auto error =
        dtype == DType::f32 ? std::from_chars(begin, end, narrow).ec : std::from_chars(begin, end, value).ec;
    if (error != std::errc{}) return bad();
    if (dtype == DType::f32) value = narrow;
  }
  return Scalar::of(operand.negative ? -value : value);
}

/// Gives a bare number the type its place wants, if it can have it, or its own: i64, f32, bool.
Result<ExprId> Parser::resolve(const Operand& operand, Wanted wanted) {
  if (!operand.isLiteral) return operand.id;
  const std::string_view text = operand.at.text;
  const bool boolean = text == "true" || text == "false";
  const bool floating = text == "inf" || text == "nan" || text.find_first_of(".e") != std::string_view::npos;
  ValueType type{boolean ? DType::boolean : floating ? DType::f32 : DType::i64, 1};
  if (wanted && (boolean    ? wanted->dtype == DType::boolean
                 : floating ? isFloat(wanted->dtype)
                            : isInteger(wanted->dtype)))
    type = *wanted;
  TK_TRY(Scalar value, number(operand, type.dtype));
  TK_TRY(Operand result, made(operand.at, Imm{value}, type));
  return result.id;
}

Result<Parser::Operand> Parser::literal() {
  Operand result;
  result.isLiteral = true;
  result.negative = take("-");
  result.at = next();
  if (!take(":")) return result;
  TK_TRY(const ValueType type, valueType());
  TK_TRY(const Scalar value, number(result, type.dtype));
  return made(result.at, Imm{value}, type);
}

// ---- operators ----

/// A bare number takes its type from the other operand; two bare numbers have their own.
Result<> Parser::matchTypes(const Operand& a, const Operand& b, ExprId& left, ExprId& right) {
  const auto typeOf = [&](const Operand& o) { return o.isLiteral ? Wanted{} : Wanted(kernel_.type(o.id)); };
  TK_TRY(left, resolve(a, typeOf(b)));
  TK_TRY(right, resolve(b, typeOf(a)));
  return Unit{};
}

Result<Parser::Operand> Parser::combine(const Token& at, BinaryKind kind, const Operand& a, const Operand& b) {
  ExprId left, right;
  TK_RETURN_IF_ERROR(matchTypes(a, b, left, right));
  const ValueType type = kernel_.type(left);
  return made(at, Bin{kind, left, right}, {resultType(kind, type.dtype), type.lanes});
}

Result<Parser::Operand> Parser::comparison(Wanted wanted) {
  TK_TRY(Operand left, sum(wanted));
  const auto kind = peek().kind == TokenKind::mark ? comparisonOf(peek().text) : std::nullopt;
  if (!kind) return left;
  const Token at = next();
  TK_TRY(const Operand right, sum(wanted));
  return combine(at, *kind, left, right);
}

Result<Parser::Operand> Parser::sum(Wanted wanted) {
  TK_TRY(Operand left, product(wanted));
  while (is("+") || is("-")) {
    const Token at = next();
    TK_TRY(const Operand right, product(wanted));
    TK_TRY(left, combine(at, at.text == "+" ? BinaryKind::add : BinaryKind::sub, left, right));
  }
  return left;
}

Result<Parser::Operand> Parser::product(Wanted wanted) {
  TK_TRY(Operand left, primary(wanted));
  while (is("*") || is("/")) {
    const Token at = next();
    TK_TRY(const Operand right, primary(wanted));
    TK_TRY(left, combine(at, at.text == "*" ? BinaryKind::mul : BinaryKind::div, left, right));
  }
  return left;
}

// ---- primaries ----

Result<Parser::Operand> Parser::primary(Wanted wanted) {
  if (++exprDepth_ > kMaxExprDepth)
    return fail(peek(), "T0413", "the expression nests too deeply", "bind a part of it to a name with let");
  auto result = primaryWithin(wanted);
  --exprDepth_;
  return result;
}

Result<Parser::Operand> Parser::primaryWithin(Wanted wanted) {
  const Token& at = peek();
  if (at.kind == TokenKind::number || is("true") || is("false") || is("inf") || is("nan")) return literal();
  if (is("-")) {
    const bool number = peek(1).kind == TokenKind::number || peek(1).text == "inf";
    if (!number) return fail(at, "T0410", "a minus sign stands only before a number", "write neg(x)");
    return literal();
  }
  if (take("(")) {
    TK_TRY(Operand inner, comparison(wanted));
    TK_RETURN_IF_ERROR(expect(")"));
    return inner;
  }
  if (at.kind == TokenKind::symbol) return reference();
  if (at.kind != TokenKind::name) return unexpected("a value");
  if (is("load")) return load(wanted);
  const bool bracket = is("cast") || is("splat") || is("ramp");
  return bracket || peek(1).text == "(" ? call(wanted) : reference();
}

Result<Parser::Operand> Parser::reference() {
  const Token at = next();
  const std::string text(at.text);
  if (at.kind == TokenKind::name)
    if (auto it = varByName_.find(text); it != varByName_.end())
      return made(at, Var{it->second}, kernel_.variable(it->second).type);
  if (std::find(kernel_.symbols.begin(), kernel_.symbols.end(), text) != kernel_.symbols.end())
    return made(at, Symbol{text}, {DType::i64, 1});
  if (bufferByName_.contains(text))
    return fail(at, "T0411", fmt::format("{} is a buffer", text), fmt::format("read an element: load {}[i]", text));
  return fail(
      at, "T0411", fmt::format("{} is not defined here", text.substr(0, 40)),
      "a variable lives to the end of the block that defines it; symbols are listed after ';' in the first line");
}

/// `<16>`; where the place tells the lanes, or there is one, nothing.
Result<int> Parser::laneCount(Wanted wanted) {
  if (!take("<")) return wanted ? wanted->lanes : 1;
  TK_TRY(const int64_t lanes, integer("a number of lanes", 1, kMaxLanes));
  TK_RETURN_IF_ERROR(expect(">"));
  return static_cast<int>(lanes);
}

Result<Parser::Operand> Parser::load(Wanted wanted) {
  next();
  const bool explicitLanes = is("<");
  TK_TRY(int lanes, laneCount(wanted));
  const Token at = peek();
  TK_TRY(const std::string text, name("a buffer's name"));
  const auto it = bufferByName_.find(text);
  if (it == bufferByName_.end())
    return fail(at, "T0411", fmt::format("no buffer is called {}", text.substr(0, 40)),
                "buffers stand in the kernel's first lines");
  TK_RETURN_IF_ERROR(expect("["));
  TK_TRY(const ExprId index, expr());
  TK_RETURN_IF_ERROR(expect("]"));
  if (!explicitLanes && kernel_.type(index).lanes > 1) lanes = kernel_.type(index).lanes;
  Load result{.buffer = it->second, .index = index, .mask = {}};
  if (take("mask")) {
    TK_TRY(const Operand mask, primary({}));
    TK_TRY(result.mask, resolve(mask, {}));
  }
  result.aligned = take("aligned");
  if (take("evict_first")) result.cache = Cache::evict_first;
  if (take("evict_last")) result.cache = Cache::evict_last;
  if (take("streaming")) result.cache = Cache::streaming;
  return made(at, result, {kernel_.buffer(it->second).dtype, lanes});
}

Result<ExprId> Parser::argument() {
  TK_TRY(const ExprId value, expr());
  if (!is(")")) TK_RETURN_IF_ERROR(expect(","));
  return value;
}

Result<Parser::Operand> Parser::call(Wanted wanted) {
  const Token at = next();
  if (at.text == "cast") {
    TK_RETURN_IF_ERROR(expect("<"));
    const auto dtype = peek().kind == TokenKind::name ? fromName<DType>(peek().text) : std::nullopt;
    if (!dtype) return unexpected("an element type such as f32");
    next();
    TK_RETURN_IF_ERROR(expect(">"));
    TK_RETURN_IF_ERROR(expect("("));
    TK_TRY(const ExprId a, argument());
    TK_RETURN_IF_ERROR(expect(")"));
    return made(at, Convert{a}, {*dtype, kernel_.type(a).lanes});
  }
  if (at.text == "splat" || at.text == "ramp") {
    TK_TRY(const int lanes, laneCount(wanted));
    TK_RETURN_IF_ERROR(expect("("));
    TK_TRY(const ExprId a, argument());
    TK_RETURN_IF_ERROR(expect(")"));
    const ValueType type{kernel_.type(a).dtype, lanes};
    return at.text == "splat" ? made(at, Splat{a}, type) : made(at, Ramp{a}, type);
  }
  TK_RETURN_IF_ERROR(expect("("));
  if (at.text == "select") return select(at);
  if (at.text == "fold" || at.text == "prefix") return foldOrPrefix(at, at.text == "fold");
  if (at.text == "warpfold" || at.text == "warpprefix") return overWarp(at, at.text == "warpfold");
  if (at.text == "warpshift") return shift(at);
  if (at.text == "extract") return extract(at);
  if (at.text == "philox") return philox(at);
  if (at.text == "within") return within(at);
  if (auto kind = fromName<BinaryKind>(at.text)) return callBinary(at, *kind);
  const auto kind = fromName<UnaryKind>(at.text);
  if (!kind)
    return fail(at, "T0411", fmt::format("no function is called {}", at.text.substr(0, 40)),
                "docs/ir.md lists the functions");
  TK_TRY(const ExprId a, argument());
  TK_RETURN_IF_ERROR(expect(")"));
  const ValueType type = kernel_.type(a);
  return made(at, Un{*kind, a}, {resultType(*kind, type.dtype), type.lanes});
}

Result<Parser::Operand> Parser::callBinary(const Token& at, BinaryKind kind) {
  TK_TRY(const Operand a, comparison({}));
  TK_RETURN_IF_ERROR(expect(","));
  TK_TRY(const Operand b, comparison({}));
  TK_RETURN_IF_ERROR(expect(")"));
  return combine(at, kind, a, b);
}

Result<Parser::Operand> Parser::select(const Token& at) {
  TK_TRY(const ExprId condition, argument());
  TK_TRY(const Operand a, comparison({}));
  TK_RETURN_IF_ERROR(expect(","));
  TK_TRY(const Operand b, comparison({}));
  TK_RETURN_IF_ERROR(expect(")"));
  ExprId left, right;
  TK_RETURN_IF_ERROR(matchTypes(a, b, left, right));
  return made(at, Sel{condition, left, right}, kernel_.type(left));
}

/// `add,` at the head of a fold's arguments.
Result<BinaryKind> Parser::combiner() {
  const auto kind = peek().kind == TokenKind::name ? fromName<BinaryKind>(peek().text) : std::nullopt;
  if (!kind) return unexpected("add, mul, max, min, and, or");
  next();
  TK_RETURN_IF_ERROR(expect(","));
  return *kind;
}

Result<Parser::Operand> Parser::foldOrPrefix(const Token& at, bool isFold) {
  TK_TRY(const BinaryKind kind, combiner());
  TK_TRY(const ExprId a, argument());
  TK_RETURN_IF_ERROR(expect(")"));
  const ValueType type = kernel_.type(a);
  return isFold ? made(at, Fold{kind, a}, {type.dtype, 1}) : made(at, Prefix{kind, a}, type);
}

Result<Parser::Operand> Parser::overWarp(const Token& at, bool isFold) {
  TK_TRY(const BinaryKind kind, combiner());
  TK_TRY(const ExprId a, argument());
  TK_TRY(const int64_t wide, integer("a number of threads", 2, kWarpSize));
  int64_t stride = 1;
  if (isFold && take(",")) { TK_TRY(stride, integer("how far apart they are", 1, kWarpSize)); }
  TK_RETURN_IF_ERROR(expect(")"));
  const int width = static_cast<int>(wide);
  return isFold ? made(at, WarpFold{kind, a, width, static_cast<int>(stride)}, kernel_.type(a))
                : made(at, WarpPrefix{kind, a, width}, kernel_.type(a));
}

Result<Parser::Operand> Parser::shift(const Token& at) {
  TK_TRY(const Operand a, comparison({}));
  TK_RETURN_IF_ERROR(expect(","));
  TK_TRY(const Operand first, comparison({}));
  TK_RETURN_IF_ERROR(expect(","));
  TK_TRY(const int64_t width, integer("a number of threads", 2, kWarpSize));
  TK_RETURN_IF_ERROR(expect(")"));
  WarpShift node{{}, {}, static_cast<int>(width)};
  TK_RETURN_IF_ERROR(matchTypes(a, first, node.a, node.first));
  return made(at, node, kernel_.type(node.a));
}

Result<Parser::Operand> Parser::extract(const Token& at) {
  TK_TRY(const ExprId a, argument());
  TK_TRY(const int64_t lane, integer("a lane", 0, kMaxLanes - 1));
  TK_RETURN_IF_ERROR(expect(")"));
  return made(at, Extract{a, static_cast<int>(lane)}, {kernel_.type(a).dtype, 1});
}

Result<Parser::Operand> Parser::philox(const Token& at) {
  TK_TRY(const ExprId seed, argument());
  TK_TRY(const ExprId offset, argument());
  TK_TRY(const ExprId index, argument());
  TK_RETURN_IF_ERROR(expect(")"));
  return made(at, Philox{seed, offset, index}, kernel_.type(index));
}

Result<Parser::Operand> Parser::within(const Token& at) {
  TK_TRY(const ExprId a, argument());
  TK_TRY(const ExprId extent, argument());
  TK_TRY(const ExprId mask, argument());
  TK_RETURN_IF_ERROR(expect(")"));
  return made(at, Within{a, extent, mask}, kernel_.type(a));
}

}  // namespace tokamak::kernel
