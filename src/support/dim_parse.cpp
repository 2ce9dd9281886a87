#include <fmt/format.h>

#include "support/dim.h"

namespace tokamak {

namespace {

constexpr int kMaxDepth = 64;              // of parentheses and calls
constexpr size_t kMaxText = 1024;          // of any intermediate expression: products of sums grow fast
constexpr uint64_t kMaxNorm = 1ull << 63;  // of the sum of coefficients: beyond it arithmetic would wrap

/// Recursive descent over
///   sum     = ['-'] product {('+' | '-') product}
///   product = factor {'*' factor}
///   factor  = integer | symbol | '(' sum ')' | function '(' sum ',' sum ')' | '-' factor
class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  Result<Dim> parse() {
    TK_TRY(Dim value, sum());
    skipSpace();
    if (at_ < text_.size()) return fail(at_, "unexpected text after the expression", "join terms with +, - or *");
    return value;
  }

 private:
  Diagnostic fail(size_t at, std::string message, std::string hint) const {
    return {"T0104", {{}, 1, static_cast<int>(at) + 1}, std::move(message), std::move(hint)};
  }
  Diagnostic tooLarge(size_t at) const {
    return {"T0105",
            {{}, 1, static_cast<int>(at) + 1},
            "the dimension expression is too large",
            "numbers have 64 bits; name a long part by a symbol of its own"};
  }

  void skipSpace() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
        ++at_;
      else if (text_.substr(at_, 2) == "//")
        at_ = std::min(text_.find('\n', at_), text_.size());
      else
        break;
    }
  }
  bool take(char c) {
    skipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  static bool isDigit(char c) { return c >= '0' && c <= '9'; }
  static bool isNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

  /// Sum of the magnitudes of the coefficients, saturated: what bounds every coefficient of a product.
  static uint64_t norm(const Dim& d) {
    auto magnitude = [](int64_t v) { return v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v); };
    if (auto c = d.constant()) return magnitude(*c);
    uint64_t sum = 0;
    for (const auto& term : d.terms())
      if (__builtin_add_overflow(sum, magnitude(term.coefficient), &sum)) return ~0ull;
    return sum;
  }
  static size_t termCount(const Dim& d) { return d.isConst() ? 1 : d.terms().size(); }

  Result<Dim> add(const Dim& a, const Dim& b, bool negate, size_t at) const {
    uint64_t bound = 0;
    if (__builtin_add_overflow(norm(a), norm(b), &bound) || bound > kMaxNorm) return tooLarge(at);
    if (a.str().size() + b.str().size() > kMaxText) return tooLarge(at);
    return negate ? a - b : a + b;
  }
  Result<Dim> multiply(const Dim& a, const Dim& b, size_t at) const {
    uint64_t bound = 0;
    if (__builtin_mul_overflow(norm(a), norm(b), &bound) || bound > kMaxNorm) return tooLarge(at);
    if (termCount(b) * a.str().size() + termCount(a) * b.str().size() > kMaxText) return tooLarge(at);
    return a * b;
  }

  Result<Dim> sum() {
    TK_TRY(Dim value, product());
    for (;;) {
      skipSpace();
      const size_t at = at_;
      const bool minus = take('-');
      if (!minus && !take('+')) return value;
      // `- 2*N` takes its sign along, so that the smallest integer, whose magnitude does not fit, parses.
      if (minus) at_ = at;
      TK_TRY(Dim term, product());
      TK_TRY(Dim next, add(value, term, false, at));
      value = std::move(next);
    }
  }

  Result<Dim> product() {
    TK_TRY(Dim value, factor());
    for (;;) {
      skipSpace();
      const size_t at = at_;
      if (!take('*')) return value;
      TK_TRY(Dim next, factor());
      TK_TRY(Dim both, multiply(value, next, at));
      value = std::move(both);
    }
  }

  Result<Dim> factor() {
    skipSpace();
    const size_t at = at_;
    if (++depth_ > kMaxDepth)
      return fail(at, "the expression is nested too deeply", fmt::format("use at most {} levels", kMaxDepth));
    auto value = factorWithin(at);
    --depth_;
    return value;
  }

  Result<Dim> factorWithin(size_t at) {
    if (at >= text_.size())
      return fail(at, "a dimension is missing", "write a number, a symbol or an expression such as 4*N + 1");
    const char c = text_[at];
    if (c == '-') {
      ++at_;
      skipSpace();
      if (at_ < text_.size() && isDigit(text_[at_])) return integer(true);
      TK_TRY(Dim value, factor());
      return multiply(value, Dim(-1), at);
    }
    if (isDigit(c)) return integer(false);
    if (isNameStart(c)) return symbolOrCall();
    if (take('(')) {
      TK_TRY(Dim value, sum());
      if (!take(')')) return fail(at_, "a closing parenthesis is missing", "add ')'");
      return value;
    }
    return fail(at, "unexpected character in a dimension", "write a number, a symbol or an expression such as 4*N + 1");
  }

  Result<Dim> integer(bool negative) {
    const size_t begin = at_;
    uint64_t value = 0;
    while (at_ < text_.size() && isDigit(text_[at_])) {
      if (__builtin_mul_overflow(value, 10u, &value) ||
          __builtin_add_overflow(value, uint64_t(text_[at_] - '0'), &value))
        return tooLarge(begin);
      ++at_;
    }
    if (value > kMaxNorm || (value == kMaxNorm && !negative)) return tooLarge(begin);
    return Dim(static_cast<int64_t>(negative ? 0 - value : value));
  }

  Result<Dim> symbolOrCall() {
    const size_t begin = at_;
    while (at_ < text_.size() && (isNameStart(text_[at_]) || isDigit(text_[at_]))) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    const bool function = name == "floordiv" || name == "ceildiv" || name == "mod" || name == "max" || name == "min";
    if (!take('(')) {
      if (function) return fail(begin, fmt::format("{} wants two operands", name), fmt::format("write {}(a, b)", name));
      if (name.size() > 64) return tooLarge(begin);
      return Dim::symbol(name);
    }
    if (!function)
      return fail(begin, fmt::format("{} is not a function of dimensions", name.substr(0, 64)),
                  "use floordiv, ceildiv, mod, max or min");
    TK_TRY(Dim a, sum());
    if (!take(',')) return fail(at_, fmt::format("{} wants two operands", name), fmt::format("write {}(a, b)", name));
    TK_TRY(Dim b, sum());
    if (!take(')')) return fail(at_, "a closing parenthesis is missing", "add ')'");
    if (a.str().size() + b.str().size() > kMaxText) return tooLarge(begin);
    if (b.is(0) && name != "max" && name != "min")
      return fail(begin, fmt::format("{} by zero", name), "divide by a positive extent");
    if (name == "floordiv") return Dim::floorDiv(a, b);
    if (name == "ceildiv") return Dim::ceilDiv(a, b);
    if (name == "mod") return Dim::mod(a, b);
    return name == "max" ? Dim::max(a, b) : Dim::min(a, b);
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Dim> Dim::parse(std::string_view text) { return DimParser(text).parse(); }

}  // namespace tokamak
