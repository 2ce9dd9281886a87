#include "graph/text/attribute.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "support/scalar_op.h"

namespace tokamak {

namespace {

bool isIntegerText(std::string_view text) { return text.find_first_not_of("0123456789") == std::string_view::npos; }

/// All of `text` as a T; nullopt when it does not fit.
template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

constexpr const char* kIntegerHint = "integers have 64 bits";
constexpr const char* kFloatHint = "beyond the range of the type write inf or 0.0";

}  // namespace

Result<> AttributeReader::read(bool& out) {
  const Token& token = cursor_.next();
  if (token.kind != TokenKind::word || (token.text != "true" && token.text != "false"))
    return wrong(token, "use true or false");
  out = token.text == "true";
  return Unit{};
}

Result<> AttributeReader::read(int64_t& out) {
  const bool negative = cursor_.take('-');
  const Token& token = cursor_.next();
  if (token.kind != TokenKind::number || !isIntegerText(token.text)) return wrong(token, "write an integer such as 2");
  const auto magnitude = number<uint64_t>(token.text);
  constexpr uint64_t kLimit = 1ull << 63;
  if (!magnitude || *magnitude > kLimit || (*magnitude == kLimit && !negative))
    return cursor_.fail("T0103", token, "the integer is too large", kIntegerHint);
  out = static_cast<int64_t>(negative ? 0 - *magnitude : *magnitude);
  return Unit{};
}

Result<> AttributeReader::read(double& out) {
  const bool negative = cursor_.take('-');
  const Token& token = cursor_.next();
  if (token.kind == TokenKind::word && token.text == "inf")
    out = std::numeric_limits<double>::infinity();
  else if (token.kind == TokenKind::word && token.text == "nan")
    out = std::numeric_limits<double>::quiet_NaN();
  else if (token.kind != TokenKind::number)
    return wrong(token, "write a number such as 0.5, inf or nan");
  else if (auto value = number<double>(token.text))
    out = *value;
  else
    return cursor_.fail("T0103", token, "the number is out of range", kFloatHint);
  if (negative && !std::isnan(out)) out = -out;
  return Unit{};
}

Result<> AttributeReader::read(Scalar& out) {
  const size_t start = cursor_.position();
  if (cursor_.takeWord("true") || cursor_.takeWord("false")) {
    cursor_.seek(start);
    out = Scalar::of(static_cast<int64_t>(cursor_.next().text == "true"));
    return Unit{};
  }
  cursor_.take('-');
  const bool integer = cursor_.peek().kind == TokenKind::number && isIntegerText(cursor_.peek().text);
  cursor_.seek(start);
  if (integer) {
    int64_t value = 0;
    TK_RETURN_IF_ERROR(read(value));
    out = Scalar::of(value);
  } else {
    double value = 0;
    TK_RETURN_IF_ERROR(read(value));
    out = Scalar::of(value);
  }
  return Unit{};
}

Result<> AttributeReader::read(std::vector<Dim>& out) {
  TK_TRY(out, cursor_.dimList());
  return Unit{};
}

/// The number of elements of the declared type, small enough that their bytes can be counted.
Result<int64_t> AttributeReader::elementCount(const Token& at) const {
  int64_t count = 1;
  for (const Dim& extent : declared_.shape) {
    const auto n = extent.constant();
    if (!n || *n < 0 || __builtin_mul_overflow(count, *n, &count) || count > (int64_t{1} << 56))
      return cursor_.fail("T0112", at, fmt::format("data cannot have the type {}", declared_.str()),
                          "constants have extents that are numbers and fit in memory");
  }
  return count;
}

Result<> AttributeReader::read(std::shared_ptr<const Array>& out) {
  const Token& token = cursor_.peek();
  TK_TRY(const int64_t count, elementCount(token));
  int64_t given = 0;
  if (token.kind == TokenKind::hex) {
    if (static_cast<int64_t>(token.text.size()) != 2 * count * byteWidth(declared_.dtype))
      return cursor_.fail("T0112", token,
                          fmt::format("data has {} hexadecimal digits but {} wants {}", token.text.size(),
                                      declared_.str(), 2 * count * byteWidth(declared_.dtype)),
                          "write the elements' bytes in memory order, two digits a byte");
    given = count;
  } else {
    const size_t start = cursor_.position();
    if (!cursor_.take('[')) return wrong(token, "write a list such as [1.0, 2.0], or bytes as hex\"0000803f\"");
    given = !cursor_.atPunct(']');
    for (; cursor_.peek().kind != TokenKind::end && !cursor_.atPunct(']'); cursor_.next())
      given += cursor_.atPunct(',');
    cursor_.seek(start);
  }
  if (given != count)
    return cursor_.fail("T0112", token,
                        fmt::format("data has {} elements but {} has {}", given, declared_.str(), count),
                        "list every element in row-major order; use full for one repeated value");
  std::vector<int64_t> shape;
  for (const Dim& extent : declared_.shape) shape.push_back(*extent.constant());
  auto array = std::make_shared<Array>(declared_.dtype, std::move(shape));
  TK_RETURN_IF_ERROR(token.kind == TokenKind::hex ? readBytes(*array, cursor_.next()) : readList(*array));
  out = std::move(array);
  return Unit{};
}

Result<> AttributeReader::readList(Array& array) {
  cursor_.next();
  for (int64_t i = 0; i < array.size(); ++i) {
    TK_RETURN_IF_ERROR(readElement(array, i));
    if (i + 1 < array.size()) TK_RETURN_IF_ERROR(cursor_.expect(',', "separate elements by ','"));
  }
  return cursor_.expect(']', "separate elements by ',' and close the list with ']'");
}

Result<> AttributeReader::readElement(Array& array, int64_t i) {
  const DType dtype = array.dtype();
  const size_t start = cursor_.position();
  const bool negative = cursor_.take('-');
  const Token& token = cursor_.peek();
  cursor_.seek(start);
  if (dtype == DType::f32 && token.kind == TokenKind::number) {
    // Straight to float: by way of double it could round twice.
    const auto value = number<float>(token.text);
    if (!value) return cursor_.fail("T0103", token, "the number is out of range of f32", kFloatHint);
    if (negative) cursor_.next();
    cursor_.next();
    array.as<float>()[i] = negative ? -*value : *value;
    return Unit{};
  }
  Scalar value;
  TK_RETURN_IF_ERROR(read(value));
  if (isFloat(dtype)) {
    array.setDouble(i, value.asDouble());
    if (std::isinf(array.getDouble(i)) && !std::isinf(value.asDouble()))
      return cursor_.fail("T0103", token, fmt::format("the number is out of range of {}", nameOf(dtype)), kFloatHint);
    return Unit{};
  }
  if (value.isFloat || (dtype == DType::boolean ? value.i != 0 && value.i != 1 : wrapTo(dtype, value.i) != value.i))
    return cursor_.fail("T0112", token, fmt::format("{} is not a value of {}", value.str(), nameOf(dtype)),
                        "declare a type that holds every element");
  array.setInt(i, value.i);
  return Unit{};
}

Result<> AttributeReader::readBytes(Array& array, const Token& token) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
  auto* bytes = array.as<unsigned char>();
  for (int64_t i = 0; i < array.bytes(); ++i) {
    const auto at = static_cast<size_t>(2 * i);
    bytes[i] = static_cast<unsigned char>(digit(token.text[at]) * 16 + digit(token.text[at + 1]));
    if (array.dtype() == DType::boolean && bytes[i] > 1)
      return cursor_.fail("T0112", token, "a byte of bool data is neither 00 nor 01",
                          "write 01 for true and 00 for false");
  }
  return Unit{};
}

}  // namespace tokamak
