#pragma once

#include <unordered_map>

#include "kernel/kernel.h"
#include "kernel/lexer.h"

namespace tokamak::kernel {

/// Recursive descent over kernel text. parse.cpp reads kernels and statements, parse_expr.cpp expressions.
class Parser {
 public:
  Parser(std::string_view text, std::string_view file, std::vector<Token> tokens)
      : text_(text), file_(file), tokens_(std::move(tokens)) {}

  Result<Kernel> parseAll();

 private:
  /// An expression, or a number whose type its place has yet to give.
  struct Operand {
    ExprId id;
    Token at;
    bool isLiteral = false;
    bool negative = false;  // of a literal; `at` is its digits or word
  };
  using Wanted = std::optional<ValueType>;

  // Tokens
  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& next() { return tokens_[at_ < tokens_.size() - 1 ? at_++ : at_]; }
  bool is(std::string_view text) const;
  bool take(std::string_view text);
  Result<> expect(std::string_view text);
  Result<std::string> name(std::string_view what);
  Result<int64_t> integer(std::string_view what, int64_t least, int64_t most);
  Diagnostic fail(const Token& at, std::string_view code, std::string message, std::string hint) const;
  Diagnostic unexpected(std::string_view wanted) const;

  // Kernels and statements
  Result<> header();
  Result<> bufferOf(Scope scope, Access access);
  Result<Dim> size();
  Result<std::string> newName(std::string_view what);  // that no buffer or variable has
  Result<Block> block();
  Result<Block> blockWithin();
  Result<StmtNode> statement();
  Result<StmtNode> loop();
  Result<> loopBinding(For& loop);
  Result<StmtNode> condition();
  Result<StmtNode> binding(bool isMutable);
  Result<StmtNode> assignment();
  struct Element {
    BufferId buffer;
    ExprId index;
  };
  Result<Element> element();
  Result<StmtNode> prefetch();
  Result<StmtNode> store();
  Result<ValueType> valueType();
  Result<VarId> declare(std::string name, ValueType type, bool isMutable);

  // Expressions
  Result<ExprId> expr(Wanted wanted = {});
  Result<Operand> comparison(Wanted wanted);
  Result<Operand> sum(Wanted wanted);
  Result<Operand> product(Wanted wanted);
  Result<Operand> primary(Wanted wanted);
  Result<Operand> primaryWithin(Wanted wanted);
  Result<Operand> literal();
  Result<Operand> reference();
  Result<Operand> load(Wanted wanted);
  Result<Operand> call(Wanted wanted);
  Result<Operand> callBinary(const Token& at, BinaryKind kind);
  Result<Operand> select(const Token& at);
  Result<BinaryKind> combiner();
  Result<Operand> foldOrPrefix(const Token& at, bool isFold);
  Result<Operand> overWarp(const Token& at, bool isFold);
  Result<Operand> shift(const Token& at);
  Result<Operand> extract(const Token& at);
  Result<Operand> philox(const Token& at);
  Result<Operand> within(const Token& at);
  Result<int> laneCount(Wanted wanted);
  Result<ExprId> argument();
  Result<Operand> combine(const Token& at, BinaryKind kind, const Operand& a, const Operand& b);
  Result<> matchTypes(const Operand& a, const Operand& b, ExprId& left, ExprId& right);
  Result<ExprId> resolve(const Operand& operand, Wanted wanted);
  Result<Scalar> number(const Operand& literal, DType dtype);
  Result<Operand> made(const Token& at, ExprNode node, ValueType type);  // checked and interned

  std::string_view text_, file_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int exprDepth_ = 0, blockDepth_ = 0;
  Kernel kernel_;
  std::unordered_map<std::string, BufferId> bufferByName_;
  std::unordered_map<std::string, VarId> varByName_;  // those in scope
  std::vector<std::string> scope_;                    // names in varByName_, in order of definition
  std::unordered_map<std::string, Token> taken_;      // every name ever defined
};

}  // namespace tokamak::kernel
