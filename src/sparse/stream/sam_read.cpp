#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sparse/stream/sam.h"
#include "sparse/stream/sam_fields.h"
#include "sparse/stream/wire.h"

namespace tokamak::stream {

namespace {

using namespace sam;

/// Reads the operators one by one; streams are known by kind and number.
class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  Result<Graph> run(std::string_view bytes) {
    size_t fault = 0;
    const auto whole = WireMessage::parse(bytes, &fault);
    if (!whole)
      return cut(fmt::format("the file is cut or no SAM graph: what begins at byte {} is not whole in its {} bytes",
                             fault, bytes.size()));
    graph_.name = std::string(whole->bytes(1).empty() ? "sam" : whole->bytes(1));
    const auto program = whole->message(3);
    const auto operators = program ? program->messages(2) : std::nullopt;
    if (!operators || operators->empty()) return cut("the file has no operators");
    for (const WireMessage& op : *operators) TK_RETURN_IF_ERROR(addOperator(op));
    return std::move(graph_);
  }

 private:
  Diagnostic cut(std::string_view what) const {
    return {"T0950",
            {std::string(file_), 0, 0},
            std::string(what),
            "write it with a compiler for the Sparse Abstract Machine, or with tokamak sparse compile --emit sam"};
  }
  Diagnostic cannot(std::string_view what) const {
    return {"T0951",
            {std::string(file_), 0, 0},
            fmt::format("operator {} ({}): {}", graph_.nodes().size(), name_, what),
            "docs/stream.md lists the blocks"};
  }

  Result<> addOperator(const WireMessage& op) {
    name_ = op.bytes(1);
    const auto kind = std::ranges::find_if(op.fields(), [](const WireField& f) { return f.number >= kRoot; });
    if (kind == op.fields().end()) return cut(fmt::format("operator {} has no kind", graph_.nodes().size()));
    const auto body = WireMessage::parse(kind->bytes);
    if (!kind->isBytes || !body) return cut(fmt::format("operator {} is cut", graph_.nodes().size()));
    node_ = Node{};
    TK_RETURN_IF_ERROR(addBlock(kind->number, *body));
    graph_.addNode(std::move(node_));
    return Unit{};
  }

  Result<> addBlock(uint32_t kind, const WireMessage& m) {
    switch (kind) {
      case kRoot: node_.block = Root{text(m, 2)}; return out(m, 3, StreamKind::ref);
      case kJoiner: return joiner(m);
      case kFiberLookup: return lookup(m);
      case kFiberWrite: node_.block = WriteLevel{text(m, 4), -1}; return in(m, 2, StreamKind::crd);
      case kRepeat: return repeat(m);
      case kAlu: return alu(m);
      case kReduce: return reduce(m);
      case kCoordHold: node_.block = CrdHold{}; return pair(m);
      case kCoordDrop: node_.block = CrdDrop{}; return pair(m);
      case kArray:
        node_.block = Array{text(m, 1)};
        TK_RETURN_IF_ERROR(in(m, 2, StreamKind::ref));
        return out(m, 3, StreamKind::val);
      case kSpacc: return spacc(m);
      case kValWrite: node_.block = WriteValues{text(m, 5)}; return in(m, 1, StreamKind::val);
      case kBroadcast: node_.block = Broadcast{}; return bundle(m, false);
      case kFork: node_.block = Fork{}; return bundle(m, false);
      case kJoin: node_.block = Join{0}; return bundle(m, true);
      case kLocate: return locate(m);
      default: return cannot(fmt::format("blocks of kind {} are not known here", kind));
    }
  }

  Result<> joiner(const WireMessage& m) {
    if (m.varint(1) > 1) return cannot("joins are intersections or unions");
    node_.block = Joiner{m.varint(1) == 0 ? JoinKind::intersect : JoinKind::unite};
    const auto pairs = m.messages(2), outs = m.messages(5);
    if (!pairs || !outs || pairs->size() != outs->size()) return cannot("its pairs and results do not match");
    TK_RETURN_IF_ERROR(out(m, 6, StreamKind::crd));
    for (size_t i = 0; i < pairs->size(); ++i) {
      TK_RETURN_IF_ERROR(in((*pairs)[i], 1, StreamKind::crd));
      const auto payload = (*pairs)[i].message(2);
      if (!payload) return cannot("an operand has no payload");
      TK_RETURN_IF_ERROR(payload->has(1) ? in(*payload, 1, StreamKind::ref) : in(*payload, 2, StreamKind::val));
      const WireMessage& result = (*outs)[i];
      TK_RETURN_IF_ERROR(payload->has(1) ? out(result, 1, StreamKind::ref) : out(result, 2, StreamKind::val));
    }
    return Unit{};
  }

  Result<> lookup(const WireMessage& m) {
    const std::string_view format = m.bytes(8);
    if (format != "dense" && format != "compressed") return cannot(fmt::format("level format '{}'", format));
    const int level = static_cast<int>(m.varint(7));
    node_.block = Scan{text(m, 6), level};
    formats_[{text(m, 6), level}] = format == "dense" ? LevelFormat::dense : LevelFormat::compressed;
    TK_RETURN_IF_ERROR(in(m, 2, StreamKind::ref));
    TK_RETURN_IF_ERROR(out(m, 4, StreamKind::crd));
    return out(m, 3, StreamKind::ref);
  }

  Result<> repeat(const WireMessage& m) {
    node_.block = Repeat{};
    TK_RETURN_IF_ERROR(m.has(1) ? in(m, 1, StreamKind::ref) : in(m, 2, StreamKind::val));
    TK_RETURN_IF_ERROR(m.has(5) ? in(m, 5, StreamKind::ref) : in(m, 6, StreamKind::val));
    return m.has(1) ? out(m, 3, StreamKind::ref) : out(m, 4, StreamKind::val);
  }

  Result<> alu(const WireMessage& m) {
    const auto values = m.message(1);
    const auto inputs = values ? values->messages(1) : std::nullopt;
    const auto stages = m.messages(3);
    if (!m.has(1) || !inputs || !stages || stages->size() != 1) return cannot("an alu of values has one stage here");
    const uint64_t code = (*stages)[0].varint(3);
    if (code >= kAluOps.size()) return cannot(fmt::format("operation {} is not known here", code));
    Alu alu{kAluOps[code].op, {}, false};
    if (alu.op == AluOp::mul && code == 2 && m.varint(7) != 0) alu.op = AluOp::matmul;
    if (kAluOps[code].scalar || (arity(alu.op) == 2 && inputs->size() == 1)) alu.scalar = m.number(8);
    node_.block = alu;
    for (const WireMessage& input : *inputs) TK_RETURN_IF_ERROR(inId(input, StreamKind::val));
    return values->has(2) ? out(*values, 2, StreamKind::val) : out(m, 4, StreamKind::val);
  }

  Result<> reduce(const WireMessage& m) {
    if (m.varint(6) > 1) return cannot("reductions are add or max");
    node_.block = Reduce{m.varint(6) == 0 ? FoldOp::add : FoldOp::max, {}};
    TK_RETURN_IF_ERROR(in(m, 1, StreamKind::val));
    return out(m, 2, StreamKind::val);
  }

  Result<> spacc(const WireMessage& m) {
    const auto outer = m.messages(3), outs = m.messages(10);
    if (!outer || !outs || outer->empty() || outs->size() + 1 < outer->size())
      return cannot("its coordinates are missing");
    node_.block = Spacc{static_cast<int>(outer->size()), FoldOp::add};
    for (const WireMessage& crd : *outer) TK_RETURN_IF_ERROR(inId(crd, StreamKind::crd));
    TK_RETURN_IF_ERROR(in(m, 1, StreamKind::crd));
    TK_RETURN_IF_ERROR(in(m, 4, StreamKind::val));
    for (size_t i = 0; i + 1 < outer->size(); ++i) TK_RETURN_IF_ERROR(outId((*outs)[i], StreamKind::crd));
    TK_RETURN_IF_ERROR(out(m, 2, StreamKind::crd));
    return out(m, 5, StreamKind::val);
  }

  Result<> pair(const WireMessage& m) {
    TK_RETURN_IF_ERROR(in(m, 2, StreamKind::crd));
    TK_RETURN_IF_ERROR(in(m, 1, StreamKind::crd));
    TK_RETURN_IF_ERROR(out(m, 4, StreamKind::crd));
    return out(m, 3, StreamKind::crd);
  }

  Result<> locate(const WireMessage& m) {
    node_.block = Locate{{}, 0};
    TK_RETURN_IF_ERROR(in(m, 1, StreamKind::crd));
    TK_RETURN_IF_ERROR(in(m, 2, StreamKind::ref));
    TK_RETURN_IF_ERROR(out(m, 3, StreamKind::ref));
    TK_RETURN_IF_ERROR(out(m, 4, StreamKind::ref));
    return out(m, 5, StreamKind::crd);
  }

  /// broadcast and fork: one input, many outputs; join the other way round. The field says the kind.
  Result<> bundle(const WireMessage& m, bool many) {
    for (const auto& [field, kind] : kBundleKinds) {
      if (!m.has(field)) continue;
      const auto streams = m.message(field);
      const auto list = streams ? streams->messages(2) : std::nullopt;
      if (!list) return cannot("its streams are cut");
      for (const WireMessage& one : *list) TK_RETURN_IF_ERROR(many ? inId(one, kind) : outId(one, kind));
      return many ? out(*streams, 1, kind) : in(*streams, 1, kind);
    }
    return cannot("it has no streams of coordinates, references or values");
  }

  static std::string text(const WireMessage& m, uint32_t field) { return std::string(m.bytes(field)); }

  /// A stream message: { 1: id { 1: number } }. Number 0 is no stream.
  Result<StreamId> stream(const WireMessage& m, StreamKind kind) {
    const auto id = m.message(1);
    if (!id) return cannot("a stream is cut");
    const uint64_t number = id->varint(1);
    if (number == 0) return StreamId{};
    const auto [it, fresh] = streams_.try_emplace({kind, number});
    if (fresh)
      it->second = graph_.addStream(kind, 0, fmt::format("{}{}", kInitials[static_cast<size_t>(kind)], number));
    return it->second;
  }
  Result<> inId(const WireMessage& m, StreamKind kind) {
    TK_TRY(const StreamId id, stream(m, kind));
    node_.inputs.push_back(id);
    return Unit{};
  }
  Result<> outId(const WireMessage& m, StreamKind kind) {
    TK_TRY(const StreamId id, stream(m, kind));
    node_.outputs.push_back(id);
    return Unit{};
  }
  Result<> in(const WireMessage& m, uint32_t field, StreamKind kind) {
    const auto one = m.message(field);
    return one ? inId(*one, kind) : Result<>(cannot("a stream is cut"));
  }
  Result<> out(const WireMessage& m, uint32_t field, StreamKind kind) {
    const auto one = m.message(field);
    return one ? outId(*one, kind) : Result<>(cannot("a stream is cut"));
  }

  std::string_view file_;
  std::string name_;
  Node node_;
  Graph graph_;

 public:
  std::map<std::pair<std::string, int>, LevelFormat> formats_;
  std::map<std::pair<StreamKind, uint64_t>, StreamId> streams_;
};

}  // namespace

Result<Graph> readSam(std::string_view bytes, std::string_view file) {
  Reader reader(file);
  TK_TRY(Graph graph, reader.run(bytes));
  if (const Result<> complete = completeSam(graph, reader.formats_); !complete) {
    Diagnostic error = complete.error();  // it names the node; the file is all the place that there is
    error.location.file = file;
    return error;
  }
  return graph;
}

}  // namespace tokamak::stream
