#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "kernel/check_expr.h"
#include "kernel/parser.h"
#include "kernel/words.h"

namespace tokamak::kernel {

// ---- tokens ----

bool Parser::is(std::string_view text) const {
  return (peek().kind == TokenKind::mark || peek().kind == TokenKind::name) && peek().text == text;
}

bool Parser::take(std::string_view text) {
  if (!is(text)) return false;
  next();
  return true;
}

Diagnostic Parser::fail(const Token& at, std::string_view code, std::string message, std::string hint) const {
  return {std::string(code), {std::string(file_), at.line, at.column}, std::move(message), std::move(hint)};
}

Diagnostic Parser::unexpected(std::string_view wanted) const {
  const std::string found =
      peek().kind == TokenKind::end ? "the text ends" : fmt::format("found '{}'", peek().text.substr(0, 40));
  return fail(peek(), "T0410", fmt::format("{} where {} should be", found, wanted),
              "docs/ir.md has the form of every statement");
}

Result<> Parser::expect(std::string_view text) {
  if (take(text)) return Unit{};
  return unexpected(fmt::format("'{}'", text));
}

Result<std::string> Parser::name(std::string_view what) {
  if (peek().kind != TokenKind::name) return unexpected(what);
  return std::string(next().text);
}

Result<int64_t> Parser::integer(std::string_view what, int64_t least, int64_t most) {
  const Token at = peek();
  if (at.kind != TokenKind::number) return unexpected(what);
  next();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(at.text.data(), at.text.data() + at.text.size(), value);
  if (error == std::errc{} && end == at.text.data() + at.text.size() && value >= least && value <= most) return value;
  return fail(at, "T0412", fmt::format("{} is not {}", at.text.substr(0, 40), what),
              fmt::format("an integer from {} to {}", least, most));
}

Result<std::string> Parser::newName(std::string_view what) {
  const Token at = peek();
  TK_TRY(std::string text, name(what));
  if (isReserved(text))
    return fail(at, "T0411", fmt::format("{} is a word of the language", text), "choose another name");
  if (auto [it, fresh] = taken_.try_emplace(text, at); !fresh)
    return fail(at, "T0411", fmt::format("{} is defined already, in line {}", text, it->second.line),
                "every buffer and variable of a kernel has a name of its own");
  return text;
}

// ---- kernels ----

Result<Kernel> Parser::parseAll() {
  TK_RETURN_IF_ERROR(header());
  while (is("local") || is("shared") || is("cluster") || is("inbox"))
    TK_RETURN_IF_ERROR(bufferOf(*fromName<Scope>(next().text), Access::scratch));
  TK_TRY(kernel_.body, blockWithin());
  if (peek().kind != TokenKind::end) return unexpected("the end of the text");
  return std::move(kernel_);
}

Result<> Parser::header() {
  TK_RETURN_IF_ERROR(expect("kernel"));
  TK_RETURN_IF_ERROR(expect("@"));
  TK_TRY(kernel_.name, name("the kernel's name"));
  TK_RETURN_IF_ERROR(expect("("));
  while (!is(")") && !is(";")) {
    const auto access = peek().kind == TokenKind::name ? fromName<Access>(peek().text) : std::nullopt;
    if (!access) return unexpected("in, out, inout or scratch");
    next();
    TK_RETURN_IF_ERROR(bufferOf(Scope::global, *access));
    if (!take(",")) break;
  }
  if (take(";")) {
    do {
      const Token at = peek();
      if (at.kind != TokenKind::name && at.kind != TokenKind::symbol) return unexpected("a symbol");
      kernel_.symbols.emplace_back(next().text);
      if (std::count(kernel_.symbols.begin(), kernel_.symbols.end(), at.text) > 1)
        return fail(at, "T0411", fmt::format("{} is listed twice", at.text), "list every symbol once");
    } while (take(","));
  }
  TK_RETURN_IF_ERROR(expect(")"));
  if (take("resident")) {
    TK_TRY(const int64_t blocks, integer("a number of blocks", 1, kMaxResident));
    kernel_.residentBlocks = static_cast<int>(blocks);
  }
  if (take("cluster")) {
    TK_TRY(const int64_t blocks, integer("a number of blocks", 2, kMaxCluster));
    kernel_.clusterBlocks = static_cast<int>(blocks);
  }
  if (take("reach")) { TK_TRY(kernel_.reach, size()); }
  return expect("{");
}

Result<> Parser::bufferOf(Scope scope, Access access) {
  TK_TRY(std::string text, newName("a buffer's name"));
  TK_RETURN_IF_ERROR(expect(":"));
  const auto dtype = peek().kind == TokenKind::name ? fromName<DType>(peek().text) : std::nullopt;
  if (!dtype) return unexpected("an element type such as f32");
  next();
  TK_TRY(Dim extent, size());
  bufferByName_[text] = kernel_.addBuffer({text, *dtype, std::move(extent), scope, access});
  return Unit{};
}

/// `[4*M + 1]`: everything up to the bracket is a dimension, whose text has a parser of its own.
Result<Dim> Parser::size() {
  TK_RETURN_IF_ERROR(expect("["));
  const Token first = peek();
  while (!is("]") && peek().kind != TokenKind::end) next();
  if (peek().kind == TokenKind::end) return unexpected("']'");
  auto extent = Dim::parse(text_.substr(first.offset, peek().offset - first.offset));
  next();
  if (extent) return extent;
  Diagnostic error = extent.error();
  error.location = {std::string(file_), first.line, first.column + std::max(0, error.location.column - 1)};
  return error;
}

// ---- statements ----

Result<Block> Parser::block() {
  TK_RETURN_IF_ERROR(expect("{"));
  return blockWithin();
}

/// After the opening brace. What the block defines is out of scope after it.
Result<Block> Parser::blockWithin() {
  if (++blockDepth_ > kMaxNesting)
    return fail(peek(), "T0413", "loops and conditions nest too deeply", fmt::format("at most {} levels", kMaxNesting));
  const size_t outer = scope_.size();
  Block statements;
  while (!is("}")) {
    TK_TRY(StmtNode node, statement());
    statements.push_back({std::move(node)});
  }
  next();
  for (; scope_.size() > outer; scope_.pop_back()) varByName_.erase(scope_.back());
  --blockDepth_;
  return statements;
}

Result<StmtNode> Parser::statement() {
  if (is("for")) return loop();
  if (is("if")) return condition();
  if (take("let")) return binding(false);
  if (take("var")) return binding(true);
  if (is("store")) return store();
  if (is("prefetch")) return prefetch();
  if (take("barrier")) {
    using enum Barrier::Of;
    return StmtNode(Barrier{take("cluster") ? cluster : take("inbox") ? inbox : block});
  }
  if (peek().kind == TokenKind::name) return assignment();
  return unexpected("a statement or '}'");
}

Result<VarId> Parser::declare(std::string name, ValueType type, bool isMutable) {
  const VarId var = kernel_.addVariable(name, type, isMutable);
  varByName_[name] = var;
  scope_.push_back(std::move(name));
  return var;
}

Result<StmtNode> Parser::loop() {
  next();
  TK_TRY(std::string text, newName("the loop's variable"));
  TK_RETURN_IF_ERROR(expect("in"));
  For result;
  TK_TRY(result.begin, expr());
  TK_RETURN_IF_ERROR(expect(".."));
  TK_TRY(result.end, expr());
  if (take("step")) { TK_TRY(result.step, integer("a step", 1, int64_t{1} << 62)); }
  TK_RETURN_IF_ERROR(loopBinding(result));
  const size_t outer = scope_.size();
  TK_TRY(result.var, declare(std::move(text), {DType::i64, 1}, false));
  TK_TRY(result.body, block());
  for (; scope_.size() > outer; scope_.pop_back()) varByName_.erase(scope_.back());
  return StmtNode(std::move(result));
}

Result<> Parser::loopBinding(For& loop) {
  if (is("{")) return Unit{};
  const Token at = peek();
  std::string text;
  if (at.kind == TokenKind::name) text = next().text;
  if ((text == "block" || text == "thread") && take(".")) {
    text += '.';
    if (peek().kind == TokenKind::name) text += next().text;
  }
  const auto found = fromName<Binding>(text);
  if (!found)
    return fail(at, "T0410", "a loop is run by unroll, parallel, block.x or thread.x (y, z), or by nothing said",
                "for i in 0..M parallel {");
  loop.binding = *found;
  if (*found != Binding::parallel || !take("(")) return Unit{};
  TK_RETURN_IF_ERROR(expect("grain"));
  TK_TRY(loop.grain, integer("a grain", 1, int64_t{1} << 62));
  return expect(")");
}

Result<StmtNode> Parser::condition() {
  next();
  If result;
  TK_TRY(result.condition, expr());
  TK_TRY(result.then, block());
  if (take("else")) { TK_TRY(result.otherwise, block()); }
  return StmtNode(std::move(result));
}

Result<ValueType> Parser::valueType() {
  const Token at = peek();
  TK_TRY(std::string text, name("a type"));
  const size_t cut = text.find('x');
  const auto dtype = fromName<DType>(std::string_view(text).substr(0, cut));
  int lanes = 1;
  bool right = dtype.has_value();
  if (right && cut != std::string::npos) {
    const char* end = text.data() + text.size();
    const auto [last, error] = std::from_chars(text.data() + cut + 1, end, lanes);
    right = error == std::errc{} && last == end && lanes > 1 && lanes <= kMaxLanes && text[cut + 1] != '0';
  }
  if (right) return ValueType{*dtype, lanes};
  return fail(at, "T0412", fmt::format("{} is not a type", text.substr(0, 40)),
              fmt::format("an element type, or one with 2 to {} lanes: f32, i64x8", kMaxLanes));
}

Result<StmtNode> Parser::binding(bool isMutable) {
  TK_TRY(std::string text, newName("a variable's name"));
  TK_RETURN_IF_ERROR(expect(":"));
  TK_TRY(const ValueType type, valueType());
  TK_RETURN_IF_ERROR(expect("="));
  TK_TRY(const ExprId value, expr(type));
  TK_TRY(const VarId var, declare(std::move(text), type, isMutable));
  return isMutable ? StmtNode(Declare{var, value}) : StmtNode(Let{var, value});
}

Result<StmtNode> Parser::assignment() {
  const Token at = next();
  const auto it = varByName_.find(std::string(at.text));
  if (it == varByName_.end())
    return fail(at, "T0411", fmt::format("{} is no statement, nor a variable in scope", at.text.substr(0, 40)),
                "a variable is made with let or var");
  TK_RETURN_IF_ERROR(expect("="));
  TK_TRY(const ExprId value, expr(kernel_.variable(it->second).type));
  return StmtNode(Assign{it->second, value});
}

/// `NAME[INDEX]` after a statement's word.
Result<Parser::Element> Parser::element() {
  next();
  const Token at = peek();
  TK_TRY(std::string text, name("a buffer's name"));
  const auto it = bufferByName_.find(text);
  if (it == bufferByName_.end())
    return fail(at, "T0411", fmt::format("no buffer is called {}", text), "buffers stand in the kernel's first lines");
  Element result{it->second, {}};
  TK_RETURN_IF_ERROR(expect("["));
  TK_TRY(result.index, expr());
  TK_RETURN_IF_ERROR(expect("]"));
  return result;
}

Result<StmtNode> Parser::prefetch() {
  TK_TRY(Element at, element());
  return StmtNode(Prefetch{at.buffer, at.index, take("near")});
}

Result<StmtNode> Parser::store() {
  TK_TRY(Element at, element());
  Store result{.buffer = at.buffer, .index = at.index, .value = {}, .mask = {}};
  if (take("mask")) {
    TK_TRY(Operand mask, primary({}));
    TK_TRY(result.mask, resolve(mask, {}));
  }
  result.aligned = take("aligned");
  TK_RETURN_IF_ERROR(expect("="));
  TK_TRY(result.value, expr());
  result.streaming = take("streaming");
  return StmtNode(result);
}

Result<Kernel> parseKernel(std::string_view text, std::string_view file) {
  TK_TRY(std::vector<Token> tokens, tokenize(text, file));
  return Parser(text, file, std::move(tokens)).parseAll();
}

}  // namespace tokamak::kernel
