#pragma once

#include <memory>

#include "sparse/einsum/lexer.h"
#include "sparse/einsum/program.h"

namespace tokamak::sparse {

/// An expression as written, before names are looked up.
struct Syntax {
  enum class Kind : uint8_t { number, access, apply, where, reduce };
  Kind kind = Kind::number;
  double value = 0;
  Fn fn = Fn::add;
  Fold fold = Fold::sum;
  Token token;                                // of the name, the operator or the function
  std::vector<Token> vars;                    // of an access or a reduce
  std::vector<std::unique_ptr<Syntax>> args;  // as in Expr
};
using SyntaxPtr = std::unique_ptr<Syntax>;

/// Reads one expression. By falling precedence: `^`, `-x`, `* /`, `+ -`, comparisons.
Result<SyntaxPtr> parseExpression(Cursor& cursor);
/// `name[i, j]` or `name`.
Result<SyntaxPtr> parseAccess(Cursor& cursor);
/// `csr`, `bcsr(16, 16)`, `{dense 0, compressed 1}`: a format for a tensor of this rank. T0922. `loose`: a list may
/// hold levels that are no format, as the results of loops in any order are.
Result<Format> parseFormat(Cursor& cursor, int rank, bool loose = false);

/// Reads a program up to the end or to the word `schedule`.
Result<Program> parseProgram(Cursor& cursor);

}  // namespace tokamak::sparse
