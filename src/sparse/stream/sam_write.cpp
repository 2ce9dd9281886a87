#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "sparse/stream/sam.h"
#include "sparse/stream/sam_express.h"
#include "sparse/stream/sam_fields.h"
#include "sparse/stream/wire.h"

namespace tokamak::stream {

namespace {

using namespace sam;

constexpr const char* kWithout = "the graph runs here, but not in Comal: write the program without it";

/// Writes the operators one by one. Streams are numbered by kind; `r7` keeps its 7.
class Writer {
 public:
  /// `graph` says in blocks of the format what `written` says.
  Writer(const Graph& graph, const Graph& written)
      : graph_(graph), written_(written), numbers_(graph.streams().size(), 0), unread_(graph.streams().size(), false) {
    number();
    passValues();
  }

  Result<std::string> run() {
    WireWriter program;
    for (size_t n = 0; n < graph_.nodes().size(); ++n) {
      node_ = &graph_.nodes()[n];
      id_ = NodeId(n);
      if (passed_[n]) continue;
      WireWriter op;
      op.text(1, std::visit([](const auto& block) { return nameOfBlock(block); }, node_->block)).varint(2, n);
      TK_RETURN_IF_ERROR(std::visit([&](const auto& block) { return write(block, op); }, node_->block));
      program.message(2, op);
    }
    WireWriter file;
    file.text(1, graph_.name).varint(2, 1024).message(3, program);
    return file.bytes();
  }

 private:
  template <class B>
  static std::string nameOfBlock(const B& block) {
    const std::string words = describe(Block(block));
    return words.substr(0, words.find(' '));
  }

  void number() {
    std::array<std::unordered_set<uint64_t>, 3> taken;
    std::vector<size_t> rest;
    for (size_t s = 0; s < numbers_.size(); ++s) {
      const Stream& stream = graph_.streams()[s];
      const auto kind = static_cast<size_t>(stream.kind);
      const auto wanted = stream.name.size() < 10 && stream.name.front() == kInitials[kind]
                              ? std::strtoull(stream.name.c_str() + 1, nullptr, 10)
                              : 0;
      if (wanted > 0 && stream.name == fmt::format("{}{}", kInitials[kind], wanted) &&
          taken[kind].insert(wanted).second)
        numbers_[s] = wanted;
      else
        rest.push_back(s);
    }
    std::array<uint64_t, 3> next = {1, 1, 1};
    for (size_t s : rest) {
      const auto kind = static_cast<size_t>(graph_.streams()[s].kind);
      while (!taken[kind].insert(next[kind]).second) ++next[kind];
      numbers_[s] = next[kind];
    }
  }

  /// A drop of values that are only written: with the empty fibers that it takes away the values are the same, so they
  /// pass it by.
  bool isPassed(const Node& node, const Wiring& wiring) const {
    if (!std::holds_alternative<CrdDrop>(node.block) || node.outputs[0] || !node.outputs[1]) return false;
    if (graph_.stream(node.inputs[1]).kind != StreamKind::val) return false;
    const auto& readers = wiring.consumers[node.outputs[1].index];
    return std::all_of(readers.begin(), readers.end(), [&](const Port& port) {
      return std::holds_alternative<WriteValues>(graph_.node(port.node).block);
    });
  }
  void passValues() {
    const Wiring wiring = wiringOf(graph_);
    for (const Node& node : graph_.nodes()) {
      passed_.push_back(isPassed(node, wiring));
      if (!passed_.back()) continue;
      unread_[node.inputs[0].index] = true;
      numbers_[node.outputs[1].index] = numbers_[node.inputs[1].index];
    }
  }

  Diagnostic cannot(std::string_view what, std::string hint) const {
    const auto same = std::find_if(written_.nodes().begin(), written_.nodes().end(),
                                   [&](const Node& n) { return n.outputs == node_->outputs && n.inputs.size() > 0; });
    const std::string name = same == written_.nodes().end()
                                 ? describe(node_->block)
                                 : describe(written_, NodeId(static_cast<size_t>(same - written_.nodes().begin())));
    return {"T0951", node_->location, fmt::format("{}: {}", name, what), std::move(hint)};
  }

  WireWriter stream(StreamId id) const {
    WireWriter number, result;
    if (id && !unread_[id.index]) number.varint(1, numbers_[id.index]);
    result.message(1, number);
    return result;
  }
  WireWriter in(size_t i) const { return stream(node_->inputs[i]); }
  WireWriter out(size_t i) const { return stream(node_->outputs[i]); }
  StreamKind kindIn(size_t i) const { return graph_.stream(node_->inputs[i]).kind; }
  bool isVal(size_t i) const { return kindIn(i) == StreamKind::val; }

  Result<> write(const Root& b, WireWriter& op) {
    op.message(kRoot, WireWriter().text(2, b.tensor).message(3, out(0)));
    return Unit{};
  }
  Result<> write(const Scan& b, WireWriter& op) {
    const LevelFormat format = graph_.tensor(b.tensor)->levels[static_cast<size_t>(b.level)].format;
    if (format == LevelFormat::singleton)
      return cannot("the exchange format has no singleton levels",
                    fmt::format("store {} with compressed levels: dcsr or csf instead of coo", b.tensor));
    op.message(kFiberLookup, WireWriter()
                                 .message(2, in(0))
                                 .message(3, out(1))
                                 .message(4, out(0))
                                 .text(6, b.tensor)
                                 .varint(7, static_cast<uint64_t>(b.level))
                                 .text(8, nameOf(format)));
    return Unit{};
  }
  Result<> write(const Joiner& b, WireWriter& op) {
    WireWriter body;
    body.varint(1, b.kind == JoinKind::intersect ? 0 : 1);
    const size_t count = node_->inputs.size() / 2;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t field = isVal(2 * i + 1) ? 2 : 1;
      body.message(2, WireWriter().message(1, in(2 * i)).message(2, WireWriter().message(field, in(2 * i + 1))));
    }
    for (size_t i = 0; i < count; ++i) body.message(5, WireWriter().message(isVal(2 * i + 1) ? 2 : 1, out(i + 1)));
    body.message(6, out(0));
    op.message(kJoiner, body);
    return Unit{};
  }
  Result<> write(const Repeat&, WireWriter& op) {
    if (kindIn(0) == StreamKind::crd || kindIn(1) == StreamKind::crd)
      return cannot("only references and values repeat, along one of those, in the exchange format",
                    "repeat the references behind the coordinates");
    op.message(kRepeat, WireWriter()
                            .message(isVal(0) ? 2 : 1, in(0))
                            .message(isVal(0) ? 4 : 3, out(0))
                            .message(isVal(1) ? 6 : 5, in(1)));
    return Unit{};
  }
  Result<> write(const Locate& b, WireWriter& op) {
    if (node_->inputs.size() > 2)
      return cannot("the exchange format's locate knows no parent position, and this one may be absent",
                    fmt::format("walk the tensor instead: iterate {} in the schedule", b.tensor));
    op.message(kLocate, WireWriter().message(1, in(0)).message(2, in(1)).message(3, out(0)).message(4, out(1)).message(
                            5, out(2)));
    return Unit{};
  }
  Result<> write(const Array& b, WireWriter& op) {
    op.message(kArray, WireWriter().text(1, b.tensor).message(2, in(0)).message(3, out(0)));
    return blocksRefused(0);
  }
  /// Real blocks of values are ours alone: the exchange format only marks their latency.
  Result<> blocksRefused(size_t output) const {
    if (node_->outputs[output] && !graph_.stream(node_->outputs[output]).block.isNumber())
      return cannot("the exchange format has no values that are blocks", "give the blocks levels of their own: bcsr");
    return Unit{};
  }
  Result<> write(const Alu& b, WireWriter& op) {
    AluOp wanted = b.op;
    std::optional<double> scalar = b.scalar;
    if (b.scalarFirst && b.op != AluOp::add && b.op != AluOp::mul && b.op != AluOp::max)
      return cannot("the exchange format has a number as second operand only", kWithout);
    if (wanted == AluOp::relu) {
      wanted = AluOp::max;
      scalar = 0.0;
    } else if (wanted == AluOp::neg) {
      wanted = AluOp::mul;
      scalar = -1.0;
    } else if (wanted == AluOp::sub && scalar) {
      wanted = AluOp::add;
      scalar = -*scalar;
    }
    uint64_t code = 0;
    const bool byScalar = scalar.has_value() && wanted != AluOp::max;
    while (code < kAluOps.size() && (kAluOps[code].op != wanted || kAluOps[code].scalar != byScalar)) ++code;
    if (code == kAluOps.size())
      return cannot(fmt::format("the exchange format has no {}, nor what it could be made of", nameOf(b.op)),
                    b.op == AluOp::gelu  ? "write gelu_tanh, which can be made of sigmoid"
                    : b.op == AluOp::pow ? "exponents are whole numbers up to 64, 0.5 or -0.5"
                                         : kWithout);
    WireWriter values;
    for (size_t i = 0; i < node_->inputs.size(); ++i) values.message(1, in(i));
    values.message(2, out(0));
    op.message(
        kAlu, WireWriter().message(1, values).message(3, WireWriter().varint(3, code)).number(8, scalar.value_or(0.0)));
    return blocksRefused(0);
  }
  Result<> write(const Reduce& b, WireWriter& op) {
    if ((b.op != FoldOp::add && b.op != FoldOp::max) || b.init)
      return cannot("the exchange format has sums and maxima, no products", kWithout);
    op.message(kReduce, WireWriter().message(1, in(0)).message(2, out(0)).varint(6, b.op == FoldOp::add ? 0 : 1));
    return Unit{};
  }
  Result<> write(const Spacc& b, WireWriter& op) {
    if (b.op != FoldOp::add || b.order > 2)
      return cannot("the exchange format's accumulators add, over one or two variables",
                    "choose an order in which what is folded is the innermost loop");
    const auto order = static_cast<size_t>(b.order);
    WireWriter body;
    body.message(1, in(order)).message(2, out(order - 1));
    for (size_t i = order; i-- > 0;) body.message(3, in(i));  // the innermost of them first
    body.message(4, in(order + 1)).message(5, out(order)).varint(6, order);
    for (size_t i = 0; i + 1 < order; ++i) body.message(10, out(i));
    op.message(kSpacc, body);
    return Unit{};
  }
  Result<> write(const CrdDrop&, WireWriter& op) {
    if (isVal(1))
      return cannot("the exchange format drops coordinates by coordinates, not by values",
                    "store the result with dense levels");
    return pair(kCoordDrop, op);
  }
  Result<> write(const CrdHold&, WireWriter& op) { return pair(kCoordHold, op); }
  Result<> pair(uint32_t field, WireWriter& op) {
    op.message(field, WireWriter().message(1, in(1)).message(2, in(0)).message(3, out(1)).message(4, out(0)));
    return Unit{};
  }
  Result<> write(const Broadcast&, WireWriter& op) { return bundle(kBroadcast, in(0), node_->outputs, op); }
  Result<> write(const Fork&, WireWriter& op) { return bundle(kFork, in(0), node_->outputs, op); }
  Result<> write(const Join& join, WireWriter& op) {
    if (join.depth == 0)
      return cannot("the exchange format joins lanes fiber by fiber, not value by value",
                    "let a loop further out run in lanes");
    return bundle(kJoin, out(0), node_->inputs, op);
  }
  Result<> bundle(uint32_t field, const WireWriter& one, const std::vector<StreamId>& many, WireWriter& op) {
    WireWriter streams;
    streams.message(1, one);
    for (StreamId id : many)
      if (!id || !unread_[id.index]) streams.message(2, stream(id));
    const uint32_t kind = kBundleKinds[static_cast<size_t>(kindIn(0))].first;
    op.message(field, WireWriter().message(kind, streams));
    return Unit{};
  }
  Result<> write(const WriteLevel& b, WireWriter& op) {
    op.message(
        kFiberWrite,
        WireWriter().message(2, in(0)).text(4, b.tensor).text(5, fmt::format("{}", b.level)).text(6, "compressed"));
    return Unit{};
  }
  Result<> write(const WriteValues& b, WireWriter& op) {
    op.message(kValWrite, WireWriter().message(1, in(0)).text(5, b.tensor));
    return Unit{};
  }

  const Graph& graph_;
  const Graph& written_;
  std::vector<uint64_t> numbers_;  // by stream
  std::vector<bool> unread_;       // by stream: its reader is left out
  std::vector<bool> passed_;       // by node: left out
  const Node* node_ = nullptr;
  NodeId id_;
};

}  // namespace

Result<std::string> writeSam(const Graph& graph) {
  const Graph said = expressed(graph);
  return Writer(said, graph).run();
}

}  // namespace tokamak::stream
