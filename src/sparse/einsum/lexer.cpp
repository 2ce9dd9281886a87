#include "sparse/einsum/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace tokamak::sparse {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isWordPart(char c) { return isWordStart(c) || isDigit(c); }

/// The length of the number at `at`: digits, a fraction, an exponent.
size_t numberLength(std::string_view s, size_t at) {
  const size_t begin = at;
  const auto digit = [&](size_t i) { return i < s.size() && isDigit(s[i]); };
  while (digit(at)) ++at;
  if (at < s.size() && s[at] == '.' && digit(at + 1))
    for (++at; digit(at);) ++at;
  if (at < s.size() && (s[at] == 'e' || s[at] == 'E')) {
    const size_t sign = at + 1 < s.size() && (s[at + 1] == '+' || s[at + 1] == '-') ? 1 : 0;
    if (digit(at + 1 + sign))
      for (at += 1 + sign; digit(at);) ++at;
  }
  return at - begin;
}

}  // namespace

Result<Cursor> Cursor::over(std::string_view source, std::string_view file) {
  Cursor out;
  out.file_ = file;
  size_t at = source.substr(0, 3) == "\xef\xbb\xbf" ? 3 : 0, lineStart = at;
  int line = 1;
  while (at < source.size()) {
    const char c = source[at];
    if (c == '\n') {
      lineStart = ++at;
      ++line;
      continue;
    }
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at;
      continue;
    }
    if (source.substr(at, 2) == "//") {
      at = std::min(source.find('\n', at), source.size());
      continue;
    }
    const int column = static_cast<int>(at - lineStart) + 1;
    TokenKind kind = TokenKind::punct;
    size_t length = 1;
    if (isWordStart(c)) {
      kind = TokenKind::word;
      while (at + length < source.size() && isWordPart(source[at + length])) ++length;
    } else if (isDigit(c)) {
      kind = TokenKind::number;
      length = numberLength(source, at);
    } else if (const std::string_view two = source.substr(at, 2);
               two == "<=" || two == ">=" || two == "==" || two == "!=") {
      length = 2;
    } else if (c == '\0' || std::string_view("()[]{},:=+-*/^<>%").find(c) == std::string_view::npos) {
      const auto byte = static_cast<unsigned char>(c);
      const std::string shown = byte > 0x20 && byte < 0x7f ? fmt::format("'{}'", c) : fmt::format("0x{:02x}", byte);
      return Diagnostic{"T0920",
                        {out.file_, line, column},
                        fmt::format("unexpected character {}", shown),
                        "programs are ASCII: names are letters, digits and _; comments start with //"};
    }
    out.tokens_.push_back({kind, source.substr(at, length), line, column});
    at += length;
  }
  out.tokens_.push_back({TokenKind::end, {}, line, static_cast<int>(at - lineStart) + 1});
  return out;
}

Diagnostic Cursor::expected(std::string_view what, std::string hint) const {
  const std::string found = atEnd() ? "the end of the text" : fmt::format("'{}'", peek().text.substr(0, 40));
  return fail("T0921", peek(), fmt::format("expected {} but found {}", what, found), std::move(hint));
}

Result<> Cursor::expect(std::string_view text, std::string hint) {
  if (take(text)) return Unit{};
  return expected(fmt::format("'{}'", text), std::move(hint));
}

Result<Token> Cursor::word(std::string_view what, std::string hint) {
  if (!atWord()) return expected(what, std::move(hint));
  return next();
}

Result<int64_t> Cursor::integer(int64_t least, std::string hint) {
  int64_t value = 0;
  const std::string_view text = peek().text;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (peek().kind != TokenKind::number || error != std::errc{} || end != text.data() + text.size() || value < least)
    return expected(fmt::format("a whole number from {} up", least), std::move(hint));
  next();
  return value;
}

std::string didYouMean(std::string_view word, const std::vector<std::string>& candidates) {
  const auto distance = [](std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= b.size(); ++j) {
        const size_t above = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
        diagonal = above;
      }
    }
    return row[b.size()];
  };
  const std::string* best = nullptr;
  size_t fewest = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates)
    if (const size_t edits = distance(word, candidate); edits < fewest) {
      fewest = edits;
      best = &candidate;
    }
  return best ? fmt::format("did you mean {}?", *best) : "";
}

}  // namespace tokamak::sparse
