#include "graph/text/cursor.h"

namespace tokamak {

Result<std::vector<Dim>> Cursor::dimList() {
  TK_RETURN_IF_ERROR(expect('[', "a shape is a list of extents, such as [M, 64], or []"));
  std::vector<Dim> dims;
  if (take(']')) return dims;
  do {
    TK_TRY(Dim extent, dim());
    dims.push_back(std::move(extent));
  } while (take(','));
  TK_RETURN_IF_ERROR(expect(']', "separate extents by ',' and close the list with ']'"));
  return dims;
}

/// Hands the tokens up to the ',' or ']' that ends the expression to Dim::parse, and its complaint back to its place.
Result<Dim> Cursor::dim() {
  const size_t first = at_;
  for (int depth = 0; peek().kind != TokenKind::end; next()) {
    if (atPunct('(')) ++depth;
    if (atPunct(')')) --depth;
    if (atPunct(']') || atPunct('{') || atPunct('}') || (atPunct(',') && depth <= 0)) break;
  }
  if (at_ == first) return expected("an extent", "write a number, a symbol or an expression such as 4*N + 1");
  const size_t begin = tokens_[first].begin, end = tokens_[at_ - 1].end;
  auto value = Dim::parse(source_.substr(begin, end - begin));
  if (value) return value;
  Diagnostic error = value.error();
  const size_t wrong = begin + static_cast<size_t>(error.location.column - 1);
  size_t token = first;
  while (token < at_ && tokens_[token].end <= wrong) ++token;
  error.location = place(tokens_[token]);
  return error;
}

Result<> Cursor::skipValue() {
  const size_t first = at_;
  for (int depth = 0; peek().kind != TokenKind::end; next()) {
    if (atPunct('[') || atPunct('(')) ++depth;
    if (atPunct('{') || (depth <= 0 && (atPunct(',') || atPunct('}')))) break;
    if (atPunct(']') || atPunct(')')) --depth;
    if (atPunct('}')) break;
  }
  if (at_ == first) return expected("a value", "write name = value");
  return Unit{};
}

}  // namespace tokamak
