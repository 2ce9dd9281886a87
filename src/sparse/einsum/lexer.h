#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace tokamak::sparse {

enum class TokenKind : uint8_t { word, number, punct, end };

/// A word, a number, or punctuation of one or two characters (`<=`, `==`); `line` and `column` are of its first one.
struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  int line = 0, column = 0;
};

/// The tokens of a program with a place among them. Spaces, line ends and `// comments` only separate.
class Cursor {
 public:
  /// T0920 on a character that has no place in a program.
  static Result<Cursor> over(std::string_view source, std::string_view file);

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& next() { return peek().kind == TokenKind::end ? tokens_[at_] : tokens_[at_++]; }
  bool at(std::string_view text) const { return peek().kind != TokenKind::end && peek().text == text; }
  bool atWord() const { return peek().kind == TokenKind::word; }
  bool atEnd() const { return peek().kind == TokenKind::end; }
  bool take(std::string_view text) { return at(text) && (next(), true); }

  Location place(const Token& token) const { return {file_, token.line, token.column}; }
  Diagnostic fail(std::string_view code, const Token& at, std::string message, std::string hint) const {
    return {std::string(code), place(at), std::move(message), std::move(hint)};
  }
  /// `expected ']' but found 'x'`, T0921.
  Diagnostic expected(std::string_view what, std::string hint) const;
  Result<> expect(std::string_view text, std::string hint);
  Result<Token> word(std::string_view what, std::string hint);
  /// A whole number from `least` up.
  Result<int64_t> integer(int64_t least, std::string hint);

 private:
  std::string file_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

/// The candidate with the fewest edits from `word`, if few enough to be a slip: `did you mean X?`; else empty.
std::string didYouMean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace tokamak::sparse
