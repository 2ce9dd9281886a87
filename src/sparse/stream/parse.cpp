#include <fmt/format.h>

#include <unordered_map>

#include "sparse/stream/graph.h"
#include "sparse/stream/lexer.h"

namespace tokamak::stream {

namespace {

constexpr std::string_view kForm = "docs/stream.md has the form of every block";

/// Recursive descent over the text of one graph. Streams may be read above the line that puts them.
class Parser {
 public:
  Parser(std::string_view file, std::vector<Token> tokens) : file_(file), tokens_(std::move(tokens)) {}

  Result<Graph> run() {
    TK_RETURN_IF_ERROR(expect("stream"));
    TK_TRY(graph_.name, tensorName());
    TK_RETURN_IF_ERROR(expect("{"));
    while (is("tensor") || is("output")) TK_RETURN_IF_ERROR(tensor());
    while (!is("}")) TK_RETURN_IF_ERROR(node());
    next();
    if (peek().kind != TokenKind::end) return unexpected("the end of the text");
    TK_RETURN_IF_ERROR(verify(graph_));
    return std::move(graph_);
  }

 private:
  const Token& peek() const { return tokens_[at_]; }
  Token next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is(std::string_view text) const { return peek().kind == TokenKind::word && peek().text == text; }
  bool take(std::string_view text) {
    if (!is(text)) return false;
    next();
    return true;
  }
  Diagnostic fail(const Token& at, std::string_view code, std::string message, std::string_view hint) const {
    return {std::string(code), {std::string(file_), at.line, at.column}, std::move(message), std::string(hint)};
  }
  Diagnostic unexpected(std::string_view wanted) const {
    const std::string found =
        peek().kind == TokenKind::end ? "the text ends" : fmt::format("found '{}'", peek().text.substr(0, 40));
    return fail(peek(), "T0940", fmt::format("{} where {} should be", found, wanted), kForm);
  }
  Result<> expect(std::string_view text) {
    if (take(text)) return Unit{};
    return unexpected(fmt::format("'{}'", text));
  }
  Result<std::string> tensorName() {
    if (peek().kind != TokenKind::tensor) return unexpected("a name with @");
    return std::string(next().text);
  }
  Result<int64_t> integer(std::string_view what) {
    if (peek().kind == TokenKind::number)
      if (const auto value = asInteger(peek().text)) {
        next();
        return *value;
      }
    return unexpected(what);
  }
  Result<double> number(std::string_view what) {
    if (const auto value = asNumber(peek().text)) {
      next();
      return *value;
    }
    return unexpected(what);
  }
  /// A word that does not exist; at the end of the text it is one that was cut.
  Diagnostic unknown(const Token& at, std::string_view wanted, std::string message, std::string_view hint) const {
    if (peek().kind == TokenKind::end) return unexpected(wanted);
    return fail(at, "T0941", std::move(message), hint);
  }
  template <NamedEnum E>
  Result<E> word(std::string_view what) {
    const Token at = next();
    if (const auto value = fromName<E>(at.text); value && at.kind == TokenKind::word) return *value;
    std::string known;
    for (std::string_view name : EnumNames<E>::names) known += (known.empty() ? "" : ", ") + std::string(name);
    return unknown(at, what, fmt::format("'{}' is not {}", at.text.substr(0, 40), what), "one of " + known);
  }

  Result<> tensor() {
    Tensor tensor;
    tensor.isOutput = next().text == "output";
    TK_TRY(tensor.name, tensorName());
    TK_RETURN_IF_ERROR(expect("["));
    while (!is("]")) {
      if (!tensor.levels.empty()) TK_RETURN_IF_ERROR(expect(","));
      tensor.levels.emplace_back();
      if (take("?")) continue;
      TK_TRY(tensor.levels.back().size, integer("the size of a level"));
    }
    next();
    for (size_t i = 0; i < tensor.levels.size(); ++i) {
      if (i > 0) TK_RETURN_IF_ERROR(expect(","));
      TK_TRY(tensor.levels[i].format, word<LevelFormat>("a level format"));
    }
    if (take("block")) {
      TK_RETURN_IF_ERROR(expect("["));
      TK_TRY(const int64_t rows, integer("the rows of a block"));
      TK_RETURN_IF_ERROR(expect(","));
      TK_TRY(const int64_t columns, integer("the columns of a block"));
      TK_RETURN_IF_ERROR(expect("]"));
      tensor.block = {rows, columns};
    }
    graph_.addTensor(std::move(tensor));
    return Unit{};
  }

  StreamId stream(std::string_view name) {
    const auto [it, fresh] = byName_.try_emplace(std::string(name));
    if (fresh) it->second = graph_.addStream(StreamKind::crd, 0, name);
    return it->second;
  }
  Result<StreamId> result() {
    if (take("_")) return StreamId{};
    if (peek().kind != TokenKind::stream) return unexpected("the name of a stream");
    return stream(next().text);
  }

  Result<> node() {
    Node node;
    node.location = {std::string(file_), peek().line, peek().column};
    if (peek().kind == TokenKind::stream || is("_")) {
      do {
        TK_TRY(const StreamId id, result());
        node.outputs.push_back(id);
      } while (take(","));
      TK_RETURN_IF_ERROR(expect("="));
    }
    TK_TRY(node.block, block());
    TK_RETURN_IF_ERROR(operands(node));
    if (take(":")) {
      if (peek().kind != TokenKind::text) return unexpected("a label in quotes");
      node.label = unquoted(next().text);
    }
    graph_.addNode(std::move(node));
    return Unit{};
  }

  Result<> operands(Node& node) {
    Alu* alu = std::get_if<Alu>(&node.block);
    const auto isScalar = [&] { return alu != nullptr && asNumber(peek().text).has_value(); };
    if (peek().line != tokens_[at_ - 1].line) return Unit{};  // what follows belongs to the next node
    if (peek().kind != TokenKind::stream && !isScalar()) return Unit{};
    do {
      if (isScalar() && !alu->scalar) {
        alu->scalarFirst = node.inputs.empty();
        TK_TRY(alu->scalar, number("a number"));
        continue;
      }
      if (peek().kind != TokenKind::stream) return unexpected("the name of a stream");
      node.inputs.push_back(stream(next().text));
    } while (take(","));
    return Unit{};
  }

  template <class T>
  Result<Block> ofTensor() {
    TK_TRY(std::string tensor, tensorName());
    return Block(T{std::move(tensor)});
  }
  template <class T>
  Result<Block> ofLevel() {
    TK_TRY(std::string tensor, tensorName());
    TK_TRY(const int64_t level, integer("the number of a level"));
    return Block(T{std::move(tensor), static_cast<int>(level)});
  }

  Result<Block> block() {
    const Token at = next();
    const std::string_view name = at.kind == TokenKind::word ? at.text : std::string_view();
    if (name == "root") return ofTensor<Root>();
    if (name == "scan") return ofLevel<Scan>();
    if (const auto kind = fromName<JoinKind>(name)) return Block(Joiner{*kind});
    if (name == "repeat") return Block(Repeat{});
    if (name == "locate") return ofLevel<Locate>();
    if (name == "array") return ofTensor<Array>();
    if (name == "alu") {
      TK_TRY(const AluOp op, word<AluOp>("an operation"));
      return Block(Alu{op, {}, false});
    }
    if (name == "reduce") return reduce();
    if (name == "spacc") {
      TK_TRY(const FoldOp op, word<FoldOp>("a fold"));
      TK_TRY(const int64_t order, integer("the order of an accumulator"));
      return Block(Spacc{static_cast<int>(order), op});
    }
    if (name == "drop") return Block(CrdDrop{});
    if (name == "hold") return Block(CrdHold{});
    if (name == "broadcast") return Block(Broadcast{});
    if (name == "fork") return Block(Fork{});
    if (name == "join") {
      TK_TRY(const int64_t depth, integer("the depth of a join"));
      return Block(Join{static_cast<int>(depth)});
    }
    if (name == "write_level") return ofLevel<WriteLevel>();
    if (name == "write_values") return ofTensor<WriteValues>();
    return unknown(at, "a block", fmt::format("there is no block '{}'", at.text.substr(0, 40)), kForm);
  }

  Result<Block> reduce() {
    Reduce reduce;
    TK_TRY(reduce.op, word<FoldOp>("a fold"));
    if (take("from")) { TK_TRY(reduce.init, number("a number")); }
    return Block(reduce);
  }

  std::string_view file_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  Graph graph_;
  std::unordered_map<std::string, StreamId> byName_;
};

}  // namespace

Result<Graph> parse(std::string_view text, std::string_view file) {
  TK_TRY(std::vector<Token> tokens, tokenize(text, file));
  return Parser(file, std::move(tokens)).run();
}

}  // namespace tokamak::stream
