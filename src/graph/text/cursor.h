#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "graph/text/lexer.h"
#include "support/dim.h"

namespace tokamak {

/// A place among the tokens of a text, with what every rule of the grammar needs.
class Cursor {
 public:
  Cursor(std::string_view source, std::string_view file, std::vector<Token> tokens)
      : source_(source), file_(file), tokens_(std::move(tokens)) {}

  const Token& peek() const { return tokens_[at_]; }
  /// The current token, then moves past it; stays at the end.
  const Token& next() { return peek().kind == TokenKind::end ? tokens_[at_] : tokens_[at_++]; }
  bool atPunct(char c) const { return peek().kind == TokenKind::punct && peek().text[0] == c; }
  bool take(char c) { return atPunct(c) && (next(), true); }
  bool takeWord(std::string_view word) {
    return peek().kind == TokenKind::word && peek().text == word && (next(), true);
  }

  size_t position() const { return at_; }
  void seek(size_t position) { at_ = position; }

  Location place(const Token& token) const { return {std::string(file_), token.line, token.column}; }
  Diagnostic fail(std::string code, const Token& at, std::string message, std::string hint) const {
    return {std::move(code), place(at), std::move(message), std::move(hint)};
  }
  /// `expected ',' but found 'foo'`, code T0102.
  Diagnostic expected(std::string_view what, std::string hint) const {
    return fail("T0102", peek(), fmt::format("expected {} but found {}", what, describe(peek())), std::move(hint));
  }
  Result<> expect(char c, std::string hint) {
    if (take(c)) return Unit{};
    return expected(fmt::format("'{}'", c), std::move(hint));
  }

  std::string describe(const Token& token) const {
    if (token.kind == TokenKind::end) return "the end of the text";
    const std::string_view written = source_.substr(token.begin, token.end - token.begin);
    return written.size() > 40 ? fmt::format("'{}...'", written.substr(0, 40)) : fmt::format("'{}'", written);
  }

  /// `[M, 4*N + 1]`, from the bracket on.
  Result<std::vector<Dim>> dimList();
  /// Moves past one attribute value: up to a ',' or '}' outside brackets.
  Result<> skipValue();

 private:
  Result<Dim> dim();

  std::string_view source_, file_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace tokamak
