#include "sparse/stream/lexer.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

namespace tokamak::stream {

namespace {

bool isWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<std::vector<Token>> run() {
    std::vector<Token> tokens;
    while (skipBlanks()) {
      TK_TRY(Token token, one());
      tokens.push_back(token);
    }
    tokens.push_back({TokenKind::end, {}, line_, column()});
    return tokens;
  }

 private:
  int column() const { return static_cast<int>(at_ - lineStart_) + 1; }

  bool skipBlanks() {
    while (at_ < text_.size()) {
      if (text_[at_] == '\n') {
        ++line_;
        lineStart_ = ++at_;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        return true;
      }
    }
    return false;
  }

  Token cut(TokenKind kind, size_t from, size_t to) {
    const Token token{kind, text_.substr(from, to - from), line_, column()};
    at_ = to;
    return token;
  }

  size_t wordEnd(size_t from) const {
    while (from < text_.size() && isWordChar(text_[from])) ++from;
    return from;
  }

  /// A number runs over its digits, and over a sign behind an exponent: `1e-05`.
  size_t numberEnd() const {
    size_t end = at_ + 1;
    while (end < text_.size()) {
      const bool exponentSign =
          (text_[end] == '-' || text_[end] == '+') && (text_[end - 1] == 'e' || text_[end - 1] == 'E');
      if (!isWordChar(text_[end]) && !exponentSign) break;
      ++end;
    }
    return end;
  }

  Result<Token> one() {
    const char c = text_[at_];
    if (c == '@' || c == '%') {
      const size_t end = wordEnd(at_ + 1);
      if (end == at_ + 1) return fail("a name should follow");
      return cut(c == '@' ? TokenKind::tensor : TokenKind::stream, at_ + 1, end);
    }
    if (c == '"') {
      for (size_t end = at_ + 1; end < text_.size() && text_[end] != '\n'; ++end) {
        if (text_[end] == '\\')
          ++end;
        else if (text_[end] == '"')
          return cut(TokenKind::text, at_, end + 1);
      }
      return fail("the label does not end on its line");
    }
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-') return cut(TokenKind::number, at_, numberEnd());
    if (isWordChar(c)) return cut(TokenKind::word, at_, wordEnd(at_));
    if (std::string_view("{}[],=:?").find(c) != std::string_view::npos) return cut(TokenKind::word, at_, at_ + 1);
    return fail("unknown character");
  }

  Diagnostic fail(std::string_view what) const {
    return {"T0940",
            {std::string(file_), line_, column()},
            fmt::format("{} at '{}'", what, text_.substr(at_, 1)),
            "docs/stream.md has the form of every block"};
  }

  std::string_view text_, file_;
  size_t at_ = 0, lineStart_ = 0;
  int line_ = 1;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view text, std::string_view file) { return Lexer(text, file).run(); }

std::optional<int64_t> asInteger(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> asNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string unquoted(std::string_view text) {
  std::string out;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '\\' && i + 2 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

}  // namespace tokamak::stream
