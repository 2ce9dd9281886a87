#include "graph/text/lexer.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokamak {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isWordPart(char c) { return isWordStart(c) || isDigit(c); }
bool isNamePart(char c) { return isWordPart(c) || c == '.'; }
bool isHexDigit(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool isContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// Length of the UTF-8 character at `at`, or 0 if the bytes there are none.
size_t characterLength(std::string_view s, size_t at) {
  const auto byte = [&](size_t i) { return at + i < s.size() ? static_cast<unsigned char>(s[at + i]) : 0u; };
  const unsigned first = byte(0);
  const size_t length = first < 0x80   ? 1
                        : first < 0xc2 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) || (first == 0xf0 && byte(1) < 0x90) ||
      (first == 0xf4 && byte(1) > 0x8f))
    return 0;
  return length;
}

class Lexer {
 public:
  Lexer(std::string_view source, std::string_view file) : source_(source), file_(file) {}

  Result<std::vector<Token>> run() {
    if (source_.substr(0, 3) == "\xef\xbb\xbf") at_ = lineStart_ = 3;
    for (;;) {
      TK_RETURN_IF_ERROR(skipSpace());
      if (at_ >= source_.size()) break;
      TK_RETURN_IF_ERROR(token());
    }
    push(TokenKind::end, at_, at_, at_);
    return std::move(tokens_);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }

  Diagnostic fail(std::string code, size_t at, std::string message, std::string hint) const {
    return {std::move(code), place(at), std::move(message), std::move(hint)};
  }

  /// Columns count characters. Only comments hold longer ones than a byte, so a token's column is its byte's.
  Location place(size_t at) const {
    const std::string_view before = source_.substr(lineStart_, at - lineStart_);
    const auto characters = std::count_if(before.begin(), before.end(), [](char c) { return !isContinuation(c); });
    return {std::string(file_), line_, static_cast<int>(characters) + 1};
  }

  Result<> skipSpace() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '\n') {
        lineStart_ = ++at_;
        ++line_;
      } else if (c == '/' && peek(1) == '/') {
        while (at_ < source_.size() && source_[at_] != '\n') {
          const size_t length = characterLength(source_, at_);
          if (length == 0)
            return fail("T0101", at_, "a comment holds bytes that are not UTF-8", "save the file as UTF-8");
          at_ += length;
        }
      } else {
        break;
      }
    }
    return Unit{};
  }

  void push(TokenKind kind, size_t begin, size_t textBegin, size_t textEnd) {
    tokens_.push_back({kind, source_.substr(textBegin, textEnd - textBegin), begin, at_, line_,
                       static_cast<int>(begin - lineStart_) + 1});
  }

  Result<> token() {
    const size_t begin = at_;
    const char c = peek();
    if (c == '%' || c == '@') return sigil(c);
    if (isDigit(c)) return number();
    if (isWordStart(c)) {
      while (isWordPart(peek())) ++at_;
      if (source_.substr(begin, at_ - begin) == "hex" && peek() == '"') return hexString(begin);
      push(TokenKind::word, begin, begin, at_);
      return Unit{};
    }
    if (std::string_view("(){}[],:=+-*").find(c) != std::string_view::npos && c != '\0') {
      ++at_;
      push(TokenKind::punct, begin, begin, at_);
      return Unit{};
    }
    return badCharacter();
  }

  Result<> sigil(char mark) {
    const size_t begin = at_++;
    const size_t name = at_;
    while (isNamePart(peek())) ++at_;
    if (at_ == name)
      return fail("T0101", begin, fmt::format("a name is missing after {}", mark), fmt::format("write {}name", mark));
    push(mark == '%' ? TokenKind::value : TokenKind::global, begin, name, at_);
    return Unit{};
  }

  Result<> number() {
    const size_t begin = at_;
    while (isDigit(peek())) ++at_;
    if (peek() == '.' && isDigit(peek(1))) {
      ++at_;
      while (isDigit(peek())) ++at_;
    }
    if (peek() == 'e' || peek() == 'E') {
      const size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (isDigit(peek(1 + sign))) {
        at_ += 1 + sign;
        while (isDigit(peek())) ++at_;
      }
    }
    if (isNamePart(peek()))
      return fail("T0103", begin, "this is not a number",
                  "write an integer such as 12, or 0.5, or 1e-05; put a space or an operator after it");
    push(TokenKind::number, begin, begin, at_);
    return Unit{};
  }

  Result<> hexString(size_t begin) {
    const size_t text = ++at_;
    while (isHexDigit(peek())) ++at_;
    if (peek() != '"')
      return fail("T0101", at_, "a hex string holds something else, or does not end",
                  "write pairs of hexadecimal digits between quotes: hex\"00ff\"");
    ++at_;
    push(TokenKind::hex, begin, text, at_ - 1);
    return Unit{};
  }

  Result<> badCharacter() const {
    const size_t length = characterLength(source_, at_);
    const auto byte = static_cast<unsigned char>(source_[at_]);
    if (length == 0)
      return fail("T0101", at_, fmt::format("the byte 0x{:02x} is not UTF-8", byte), "save the file as UTF-8 text");
    if (length == 1 && (byte < 0x20 || byte == 0x7f))
      return fail("T0101", at_, fmt::format("unexpected control character 0x{:02x}", byte), "is this a text file?");
    return fail("T0101", at_, fmt::format("unexpected character '{}'", source_.substr(at_, length)),
                "names are letters, digits, _ and .; comments start with //");
  }

  std::string_view source_, file_;
  size_t at_ = 0, lineStart_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> lex(std::string_view source, std::string_view file) { return Lexer(source, file).run(); }

}  // namespace tokamak
