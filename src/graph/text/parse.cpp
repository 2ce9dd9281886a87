#include <unordered_map>

#include "graph/graph.h"
#include "graph/op_list.h"
#include "graph/text/attribute.h"

namespace tokamak {

namespace {

const std::unordered_map<std::string_view, Op>& opsByMnemonic() {
  static const auto table = [] {
    std::unordered_map<std::string_view, Op> made;
    forEachOp([&](const auto& op) { made.emplace(mnemonicOf(op), op); });
    return made;
  }();
  return table;
}

struct Attribute {
  const Token* name;
  size_t begin, end;  // tokens of the value
};

/// Recursive descent without recursion: the grammar nests only in dimensions, which bound their depth.
///   graph     = 'graph' @name '(' [input {',' input}] ')' '{' {statement} 'return' %v {',' %v} '}'
///   input     = %name ':' type
///   statement = %name '=' op [%v {',' %v}] ['{' [name '=' value {',' name '=' value}] '}'] ':' type
class GraphParser {
 public:
  explicit GraphParser(Cursor cursor) : cursor_(std::move(cursor)) {}

  Result<Graph> parse() {
    TK_RETURN_IF_ERROR(header());
    while (cursor_.peek().kind == TokenKind::value) TK_RETURN_IF_ERROR(statement());
    TK_RETURN_IF_ERROR(outputs());
    TK_RETURN_IF_ERROR(cursor_.expect('}', "close the graph after its return"));
    if (cursor_.peek().kind != TokenKind::end) return cursor_.expected("the end of the text", "write one graph a file");
    TK_RETURN_IF_ERROR(verify(graph_));
    return std::move(graph_);
  }

  /// `{name = value, ...}` and nothing else, as the attributes of this op.
  Result<Op> attributesOf(Op op, const TensorType& declared) {
    TK_TRY(const auto attributes, attributeList());
    TK_RETURN_IF_ERROR(std::visit([&](auto& o) { return fill(o, attributes, declared); }, op));
    return op;
  }

 private:
  Result<> header() {
    if (!cursor_.takeWord("graph"))
      return cursor_.expected("'graph'", "a program reads: graph @name(%x: f32[8]) { ... return %0 }");
    if (cursor_.peek().kind != TokenKind::global) return cursor_.expected("the graph's name", "write graph @name(...)");
    const Token& name = cursor_.next();
    if (isNumber(name.text))
      return cursor_.fail("T0111", name, "a graph's name is not a number", "start the name with a letter");
    graph_.name = name.text;
    TK_RETURN_IF_ERROR(cursor_.expect('(', "list the inputs in parentheses: (%x: f32[8])"));
    if (!cursor_.take(')')) {
      do { TK_RETURN_IF_ERROR(input()); } while (cursor_.take(','));
      TK_RETURN_IF_ERROR(cursor_.expect(')', "separate inputs by ',' and close the list with ')'"));
    }
    return cursor_.expect('{', "open the graph's body with '{'");
  }

  Result<> input() {
    if (cursor_.peek().kind != TokenKind::value) return cursor_.expected("an input", "write %name: type");
    const Token& name = cursor_.next();
    if (isNumber(name.text))
      return cursor_.fail("T0111", name, "an input's name is a number",
                          "inputs have names such as %x; numbers are for results");
    TK_RETURN_IF_ERROR(cursor_.expect(':', "write %name: type"));
    TK_TRY(TensorType declared, type());
    return define(name, graph_.addInput(std::string(name.text), std::move(declared), cursor_.place(name)));
  }

  Result<> define(const Token& name, ValueId value) {
    if (values_.emplace(name.text, value).second) return Unit{};
    return cursor_.fail("T0111", name, fmt::format("%{} is defined twice", name.text), "give one of them another name");
  }

  Result<TensorType> type() {
    if (cursor_.peek().kind != TokenKind::word) return cursor_.expected("a type", "write a type such as f32[M, 64]");
    const Token& name = cursor_.next();
    const auto dtype = fromName<DType>(name.text);
    if (!dtype)
      return cursor_.fail("T0113", name, fmt::format("{} is not an element type", cursor_.describe(name)),
                          "use " + orList({EnumNames<DType>::names.begin(), EnumNames<DType>::names.end()}));
    TK_TRY(Shape shape, cursor_.dimList());
    return TensorType{*dtype, std::move(shape)};
  }

  Result<> statement() {
    const Token& name = cursor_.next();
    TK_RETURN_IF_ERROR(cursor_.expect('=', "write %name = op %operand : type"));
    if (cursor_.peek().kind != TokenKind::word) return cursor_.expected("an op", "write %name = op %operand : type");
    const Token& word = cursor_.next();
    const auto op = ops_.find(word.text);
    if (op == ops_.end()) return unknownOp(word);
    Node node{op->second, {}, {}, isNumber(name.text) ? "" : std::string(name.text), cursor_.place(word)};
    if (cursor_.peek().kind == TokenKind::value) { TK_TRY(node.operands, valueList()); }
    std::vector<Attribute> attributes;
    if (cursor_.atPunct('{')) { TK_TRY(attributes, attributeList()); }
    TK_RETURN_IF_ERROR(cursor_.expect(':', "a statement ends with the type of its result: ' : f32[64]'"));
    TK_TRY(node.type, type());
    const size_t after = cursor_.position();
    TK_RETURN_IF_ERROR(std::visit([&](auto& o) { return fill(o, attributes, node.type); }, node.op));
    cursor_.seek(after);
    if (values_.contains(name.text)) return define(name, {});
    return define(name, graph_.append(std::move(node)));
  }

  Diagnostic unknownOp(const Token& word) const {
    if (word.text == "input")
      return cursor_.fail("T0106", word, "an input is not a statement", "declare it in the graph's header");
    std::vector<std::string_view> names;
    names.reserve(ops_.size());
    for (const auto& [mnemonic, op] : ops_) names.push_back(mnemonic);
    std::sort(names.begin(), names.end());
    const auto close = nearest(word.text, names);
    return cursor_.fail("T0106", word, fmt::format("{} is not an op", cursor_.describe(word)),
                        close.empty() ? "docs/ir.md lists the ops" : fmt::format("did you mean {}?", close));
  }

  Result<std::vector<ValueId>> valueList() {
    std::vector<ValueId> values;
    do {
      if (cursor_.peek().kind != TokenKind::value)
        return cursor_.expected("a value", "write values as %name, separated by ','");
      const Token& token = cursor_.next();
      const auto it = values_.find(token.text);
      if (it == values_.end()) return undefined(token);
      values.push_back(it->second);
    } while (cursor_.take(','));
    return values;
  }

  Diagnostic undefined(const Token& token) const {
    std::vector<std::string_view> names;
    names.reserve(values_.size());
    for (const auto& [name, value] : values_) names.push_back(name);
    std::sort(names.begin(), names.end());
    const auto close = isNumber(token.text) ? std::string_view{} : nearest(token.text, names);
    return cursor_.fail(
        "T0109", token, fmt::format("{} is not defined", cursor_.describe(token)),
        close.empty() ? "values are defined above their uses" : fmt::format("did you mean %{}?", close));
  }

  /// Names and extents of the values; they are read once the type is known.
  Result<std::vector<Attribute>> attributeList() {
    cursor_.next();
    std::vector<Attribute> attributes;
    if (cursor_.take('}')) return attributes;
    do {
      if (cursor_.peek().kind != TokenKind::word) return cursor_.expected("an attribute", "write name = value");
      Attribute attribute{&cursor_.next(), 0, 0};
      TK_RETURN_IF_ERROR(cursor_.expect('=', "write name = value"));
      attribute.begin = cursor_.position();
      TK_RETURN_IF_ERROR(cursor_.skipValue());
      attribute.end = cursor_.position();
      attributes.push_back(attribute);
    } while (cursor_.take(','));
    TK_RETURN_IF_ERROR(cursor_.expect('}', "separate attributes by ',' and close the list with '}'"));
    return attributes;
  }

  template <class T>
  Result<> fill(T& op, const std::vector<Attribute>& attributes, const TensorType& declared) {
    std::vector<std::string_view> names, seen;
    forEachField(op, [&](std::string_view name, const auto&) { names.push_back(name); });
    for (const Attribute& attribute : attributes) {
      const std::string_view wanted = attribute.name->text;
      if (std::find(names.begin(), names.end(), wanted) == names.end())
        return cursor_.fail(
            "T0107", *attribute.name,
            fmt::format("{} has no attribute {}", mnemonicOf(op), cursor_.describe(*attribute.name)),
            names.empty() ? "it has none" : fmt::format("its attributes are {}", fmt::join(names, ", ")));
      if (std::find(seen.begin(), seen.end(), wanted) != seen.end())
        return cursor_.fail("T0107", *attribute.name, fmt::format("{} is given twice", wanted), "keep one of them");
      seen.push_back(wanted);
      Result<> status = Unit{};
      cursor_.seek(attribute.begin);
      forEachField(op, [&](std::string_view name, auto& member) {
        if (name == wanted) status = AttributeReader(cursor_, name, declared).read(member);
      });
      if (!status) return status.error();
      if (cursor_.position() != attribute.end)
        return cursor_.expected("the end of the value", "separate attributes by ','");
    }
    return Unit{};
  }

  Result<> outputs() {
    if (!cursor_.takeWord("return"))
      return cursor_.expected("a statement or 'return'", "end the graph with return %value");
    TK_TRY(auto values, valueList());
    graph_.setOutputs(std::move(values));
    return Unit{};
  }

  static bool isNumber(std::string_view text) { return text.find_first_not_of("0123456789") == std::string_view::npos; }

  Cursor cursor_;
  Graph graph_;
  const std::unordered_map<std::string_view, Op>& ops_ = opsByMnemonic();
  std::unordered_map<std::string_view, ValueId> values_;
};

}  // namespace

Result<Op> parseOp(std::string_view mnemonic, std::string_view attributes, const TensorType& declared) {
  const auto op = opsByMnemonic().find(mnemonic);
  if (op == opsByMnemonic().end())
    return Diagnostic{"T0106", {}, fmt::format("'{}' is not an op", mnemonic), "docs/ir.md lists the ops"};
  if (attributes.empty()) return op->second;
  const std::string text = fmt::format("{{{}}}", attributes);
  TK_TRY(auto tokens, lex(text, {}));
  return GraphParser(Cursor(text, {}, std::move(tokens))).attributesOf(op->second, declared);
}

Result<Graph> parseGraph(std::string_view text, std::string_view file) {
  TK_TRY(auto tokens, lex(text, file));
  return GraphParser(Cursor(text, file, std::move(tokens))).parse();
}

}  // namespace tokamak
