#include <fmt/format.h>

#include <algorithm>

#include "sparse/einsum/resolve.h"
#include "sparse/einsum/syntax.h"

namespace tokamak::sparse {

namespace {

class ProgramParser {
 public:
  explicit ProgramParser(Cursor& cursor) : cursor_(cursor) {}

  Result<Program> run() {
    while (!cursor_.atEnd() && !cursor_.at("schedule")) {
      if (cursor_.take("dim"))
        TK_RETURN_IF_ERROR(dims());
      else if (cursor_.at("input") || cursor_.at("output") || cursor_.at("temp"))
        TK_RETURN_IF_ERROR(tensor());
      else
        TK_RETURN_IF_ERROR(statement());
    }
    return finish();
  }

 private:
  Result<> dims() {
    do {
      TK_TRY(const Token name, cursor_.word("a dimension", "write dim N or dim N = 64"));
      if (program_.findDim(name.text))
        return cursor_.fail("T0924", name, fmt::format("dimension {} is declared twice", name.text), "drop one");
      int64_t size = -1;
      if (cursor_.take("=")) { TK_TRY(size, cursor_.integer(0, "write dim N = 64, or dim N to take it from data")); }
      program_.addDim(std::string(name.text), size);
    } while (cursor_.take(","));
    return Unit{};
  }

  Result<DimId> dimension() {
    if (cursor_.peek().kind == TokenKind::number) {
      const std::string text(cursor_.peek().text);
      TK_TRY(const int64_t size, cursor_.integer(0, "write A[N, 64]"));
      const DimId known = program_.findDim(text);
      return known ? known : program_.addDim(text, size);
    }
    TK_TRY(const Token name, cursor_.word("a dimension", "write A[N, 64]"));
    if (const DimId known = program_.findDim(name.text)) return known;
    std::vector<std::string> names;
    for (const Dim& dim : program_.dims()) names.push_back(dim.name);
    const std::string guess = didYouMean(name.text, names);
    return cursor_.fail("T0925", name, fmt::format("dimension {} is not declared", name.text),
                        guess.empty() ? fmt::format("write dim {} above", name.text) : guess);
  }

  Result<> tensor() {
    TensorDecl decl;
    const Token role = cursor_.next();
    decl.role = role.text == "input" ? Role::input : role.text == "output" ? Role::output : Role::temp;
    TK_TRY(const Token name, cursor_.word("a tensor", "write input A[N, N]: csr"));
    if (program_.findTensor(name.text))
      return cursor_.fail("T0924", name, fmt::format("tensor {} is declared twice", name.text), "drop one");
    decl.name = name.text;
    decl.location = cursor_.place(name);
    if (cursor_.take("[") && !cursor_.take("]")) {
      do {
        TK_TRY(const DimId dim, dimension());
        decl.dims.push_back(dim);
      } while (cursor_.take(","));
      TK_RETURN_IF_ERROR(cursor_.expect("]", "close the list of dimensions"));
    }
    if (cursor_.take(":")) {
      const std::optional<DType> dtype = fromName<DType>(cursor_.peek().text);
      if (dtype) decl.dtype = *dtype, cursor_.next();
      const bool more = cursor_.at("{") || (cursor_.atWord() && isFormatName(cursor_.peek().text));
      if (!dtype || more) { TK_TRY(decl.format, parseFormat(cursor_, static_cast<int>(decl.dims.size()))); }
    }
    program_.addTensor(std::move(decl));
    return Unit{};
  }

  static bool isFormatName(std::string_view word) {
    static constexpr std::string_view kNames[] = {"dense", "csr", "csc", "dcsr", "dcsc", "coo", "csf", "bcsr"};
    return std::find(std::begin(kNames), std::end(kNames), word) != std::end(kNames);
  }

  Result<> statement() {
    if (!cursor_.atWord())
      return cursor_.expected("a declaration or a statement", "write dim, input, output, temp or Y[i] = ...");
    TK_TRY(SyntaxPtr target, parseAccess(cursor_));
    if (!cursor_.at("="))
      return cursor_.expected("'='",
                              "a statement is Y[i, j] = ...; declarations begin with dim, input, output or temp");
    cursor_.next();
    TK_TRY(SyntaxPtr value, parseExpression(cursor_));
    if (cursor_.at("where")) {
      auto wrapped = std::make_unique<Syntax>();
      wrapped->kind = Syntax::Kind::where;
      wrapped->token = cursor_.next();
      TK_TRY(SyntaxPtr pattern, parseAccess(cursor_));
      wrapped->args.push_back(std::move(pattern));
      wrapped->args.push_back(std::move(value));
      value = std::move(wrapped);
    }
    return addStatement(program_, cursor_, *target, *value);
  }

  Result<Program> finish() {
    std::vector<bool> defined(program_.tensors().size(), false);
    for (const Statement& statement : program_.statements()) defined[statement.tensor.index] = true;
    for (size_t i = 0; i < defined.size(); ++i) {
      const TensorDecl& decl = program_.tensors()[i];
      if (!defined[i] && decl.role != Role::input)
        return Diagnostic{"T0926", decl.location,
                          fmt::format("{} is declared but no statement gives it a value", decl.name),
                          fmt::format("write {} = ... or declare it as input", decl.name)};
    }
    if (program_.statements().empty())
      return cursor_.fail("T0926", cursor_.peek(), "the program has no statement", "write Y[i] = A[i, j] * x[j]");
    return std::move(program_);
  }

  Cursor& cursor_;
  Program program_;
};

}  // namespace

Result<Program> parseProgram(Cursor& cursor) { return ProgramParser(cursor).run(); }

Result<Program> parseProgram(std::string_view text, std::string_view file) {
  TK_TRY(Cursor cursor, Cursor::over(text, file));
  return parseProgram(cursor);
}

}  // namespace tokamak::sparse
