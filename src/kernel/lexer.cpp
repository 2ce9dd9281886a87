#include "kernel/lexer.h"

#include <fmt/format.h>

#include <array>

namespace tokamak::kernel {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isNamePart(char c) { return isNameStart(c) || isDigit(c); }

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  Result<std::vector<Token>> run() {
    std::vector<Token> tokens;
    for (skipSpace(); at_ < text_.size(); skipSpace()) {
      Token token{TokenKind::end, {}, at_, line_, static_cast<int>(at_ - lineStart_) + 1};
      const size_t length = measure(token.kind);
      if (length == 0) return unexpected(token);
      token.text = text_.substr(at_, length);
      if (token.kind == TokenKind::symbol) token.text.remove_prefix(1);
      tokens.push_back(token);
      at_ += length;
    }
    tokens.push_back({TokenKind::end, {}, at_, line_, static_cast<int>(at_ - lineStart_) + 1});
    return tokens;
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void skipSpace() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') ++line_, lineStart_ = at_ + 1;
      if (c == '/' && peek(1) == '/')
        while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
      else if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
        return;
      ++at_;
    }
  }

  size_t spanOf(size_t from, bool (*accepts)(char)) const {
    while (at_ + from < text_.size() && accepts(text_[at_ + from])) ++from;
    return from;
  }

  /// Kind and length of the token here; 0 if none starts so.
  size_t measure(TokenKind& kind) const {
    if (isNameStart(peek())) return kind = TokenKind::name, spanOf(1, isNamePart);
    if (peek() == '$' && isNameStart(peek(1))) return kind = TokenKind::symbol, spanOf(2, isNamePart);
    if (isDigit(peek())) return kind = TokenKind::number, measureNumber();
    constexpr std::array<std::string_view, 22> marks = {"..", "<=", ">=", "==", "!=", "(", ")", "[", "]", "{", "}",
                                                        ",",  ";",  ":",  "@",  "=",  "<", ">", "+", "-", "*", "/"};
    kind = TokenKind::mark;
    for (std::string_view mark : marks)
      if (text_.substr(at_, mark.size()) == mark) return mark.size();
    return peek() == '.' ? 1 : 0;
  }

  /// `0..M` is the number 0 and a range: a point belongs to a number only if a digit follows.
  size_t measureNumber() const {
    size_t length = spanOf(1, isDigit);
    if (peek(length) == '.' && isDigit(peek(length + 1))) length = spanOf(length + 1, isDigit);
    if (peek(length) == 'e') {
      const size_t sign = peek(length + 1) == '-' || peek(length + 1) == '+' ? 1 : 0;
      if (isDigit(peek(length + 1 + sign))) length = spanOf(length + 1 + sign, isDigit);
    }
    return length;
  }

  Diagnostic unexpected(const Token& at) const {
    const auto byte = static_cast<unsigned char>(text_[at.offset]);
    const bool printable = byte > 0x20 && byte < 0x7f;
    return {"T0410",
            {std::string(file_), at.line, at.column},
            printable ? fmt::format("'{}' has no meaning here", static_cast<char>(byte))
                      : fmt::format("the byte 0x{:02x} has no meaning here", byte),
            "kernel text is plain ASCII; names are letters, digits and _"};
  }

  std::string_view text_, file_;
  size_t at_ = 0, lineStart_ = 0;
  int line_ = 1;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view text, std::string_view file) { return Lexer(text, file).run(); }

}  // namespace tokamak::kernel
