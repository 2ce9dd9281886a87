#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sparse/stream/graph.h"

namespace tokamak::stream {

namespace {

/// Checks one node, whose inputs have their kinds and ranks.
class NodeCheck {
 public:
  NodeCheck(const Graph& graph, NodeId id) : graph_(graph), id_(id), node_(graph.node(id)) {}

  Result<> run() {
    return std::visit([this](const auto& block) { return check(block); }, node_.block);
  }

 private:
  static constexpr StreamKind crd = StreamKind::crd, ref = StreamKind::ref, val = StreamKind::val;

  Result<> check(const Root& b) {
    TK_RETURN_IF_ERROR(ports(0, 1));
    return knownTensor(b.tensor);
  }
  Result<> check(const Scan& b) {
    TK_RETURN_IF_ERROR(ports(1, 2));
    TK_RETURN_IF_ERROR(knownLevel(b.tensor, b.level));
    return takes(0, ref);
  }
  Result<> check(const Joiner&) {
    const size_t count = node_.inputs.size() / 2;
    if (node_.inputs.size() < 4 || node_.inputs.size() % 2 != 0)
      return fail("T0942", "joins two or more operands, each a coordinate stream and a payload",
                  "give 4, 6, ... streams");
    TK_RETURN_IF_ERROR(ports(2 * count, count + 1));
    for (size_t i = 0; i < count; ++i) {
      TK_RETURN_IF_ERROR(takes(2 * i, crd));
      if (kind(2 * i + 1) == crd)
        return fail("T0943", port(2 * i + 1) + " is a payload, not coordinates", "give ref or val");
    }
    return equalRanks();
  }
  Result<> check(const Repeat&) {
    TK_RETURN_IF_ERROR(ports(2, 1));
    return rankIs(1, rank(0) + 1);
  }
  Result<> check(const Locate& b) {
    if (node_.inputs.size() != 2) TK_RETURN_IF_ERROR(ports(3, 3));
    TK_RETURN_IF_ERROR(ports(node_.inputs.size(), 3));
    TK_RETURN_IF_ERROR(takes(0, crd));
    for (size_t i = 1; i < node_.inputs.size(); ++i) TK_RETURN_IF_ERROR(takes(i, ref));
    TK_RETURN_IF_ERROR(knownLevel(b.tensor, b.level));
    if (graph_.tensor(b.tensor)->levels[static_cast<size_t>(b.level)].format != LevelFormat::dense)
      return fail("T0945", fmt::format("level {} of @{} is not dense", b.level, b.tensor),
                  "only dense levels can be located");
    if (b.level > 0 && node_.inputs.size() < 3)
      return fail("T0942", fmt::format("locates level {} of @{} without the parent's position", b.level, b.tensor),
                  "give the parent's reference as the third stream");
    return equalRanks();
  }
  Result<> check(const Array& b) {
    TK_RETURN_IF_ERROR(ports(1, 1));
    TK_RETURN_IF_ERROR(knownTensor(b.tensor));
    return takes(0, ref);
  }
  Result<> check(const Alu& b) {
    const int wanted = arity(b.op) - (b.scalar ? 1 : 0);
    if (wanted < 1) return fail("T0942", fmt::format("{} takes no scalar", nameOf(b.op)), "leave the number out");
    TK_RETURN_IF_ERROR(ports(static_cast<size_t>(wanted), 1));
    for (size_t i = 0; i < node_.inputs.size(); ++i) TK_RETURN_IF_ERROR(takes(i, val));
    TK_RETURN_IF_ERROR(shapesFit(b));
    return equalRanks();
  }
  Result<> check(const Reduce&) {
    TK_RETURN_IF_ERROR(ports(1, 1));
    TK_RETURN_IF_ERROR(takes(0, val));
    if (rank(0) < 1)
      return fail("T0944", port(0) + " has rank 0: there is no fiber to fold", "reduce a stream of fibers");
    return Unit{};
  }
  Result<> check(const Spacc& b) {
    if (b.order < 1) return fail("T0944", "an accumulator's order is at least 1", "use reduce for order 0");
    const auto order = static_cast<size_t>(b.order);
    TK_RETURN_IF_ERROR(ports(order + 2, order + 1));
    if (rank(0) < 1)
      return fail("T0944", port(0) + " has rank 0: there is no fiber to fold", "fold a stream of fibers");
    for (size_t i = 0; i <= order; ++i) {
      TK_RETURN_IF_ERROR(takes(i, crd));
      TK_RETURN_IF_ERROR(rankIs(i, rank(0) + static_cast<int>(i)));
    }
    TK_RETURN_IF_ERROR(takes(order + 1, val));
    return rankIs(order + 1, rank(order));
  }
  Result<> check(const CrdDrop&) {
    TK_RETURN_IF_ERROR(ports(2, 2));
    TK_RETURN_IF_ERROR(takes(0, crd));
    if (kind(1) == ref) return fail("T0943", port(1) + " is a stream of references", "drop by coordinates or values");
    return rankIs(1, rank(0) + 1);
  }
  Result<> check(const CrdHold&) {
    TK_RETURN_IF_ERROR(ports(2, 2));
    TK_RETURN_IF_ERROR(takes(0, crd));
    TK_RETURN_IF_ERROR(takes(1, crd));
    return rankIs(1, rank(0) + 1);
  }
  Result<> check(const Broadcast&) { return spread(); }
  Result<> check(const Fork&) {
    TK_RETURN_IF_ERROR(spread());
    if (rank(0) < 1)
      return fail("T0944", port(0) + " has rank 0: there is nothing to share out", "fork a stream of fibers");
    return Unit{};
  }
  Result<> check(const Join& b) {
    if (node_.inputs.size() < 2) return fail("T0942", "joins two lanes or more", "give the streams of all lanes");
    TK_RETURN_IF_ERROR(ports(node_.inputs.size(), 1));
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      TK_RETURN_IF_ERROR(takes(i, kind(0)));
      if (graph_.stream(node_.inputs[i]).block != graph_.stream(node_.inputs[0]).block)
        return fail("T0947", port(i) + " has other blocks than the first lane", "all lanes carry the same values");
    }
    if (b.depth < 0 || b.depth >= rank(0))
      return fail("T0944", fmt::format("joins at depth {} lanes of rank {}", b.depth, rank(0)),
                  "the depth is the rank of the lanes less the rank at their fork");
    return equalRanks();
  }
  Result<> check(const WriteLevel& b) {
    TK_RETURN_IF_ERROR(ports(1, 0));
    TK_RETURN_IF_ERROR(takes(0, crd));
    TK_RETURN_IF_ERROR(knownLevel(b.tensor, b.level, true));
    return rankIs(0, b.level + 1);
  }
  Result<> check(const WriteValues& b) {
    TK_RETURN_IF_ERROR(ports(1, 0));
    TK_RETURN_IF_ERROR(takes(0, val));
    TK_RETURN_IF_ERROR(knownTensor(b.tensor, true));
    const std::vector<int64_t>& block = graph_.tensor(b.tensor)->block;
    const BlockShape wanted = block.empty() ? BlockShape{} : BlockShape{block[0], block[1]};
    if (const BlockShape got = graph_.stream(node_.inputs[0]).block; got != wanted)
      return fail("T0947", fmt::format("{} is {} where {} is declared", port(0), describe(got), describe(wanted)),
                  "declare the output with the block that is written");
    return rankIs(0, static_cast<int>(graph_.tensor(b.tensor)->levels.size()));
  }

  Result<> shapesFit(const Alu& b) {
    std::vector<BlockShape> shapes;
    std::vector<std::string> words;
    for (StreamId input : node_.inputs) {
      shapes.push_back(graph_.stream(input).block);
      words.push_back(describe(shapes.back()));
    }
    if (b.scalar) shapes.emplace_back();
    if (resultShape(b.op, shapes)) return Unit{};
    return fail("T0947", fmt::format("its values are {}, which do not fit", fmt::join(words, " and ")),
                "blocks meet element by element in equal extents or 1, and a product's inner extents are equal");
  }

  Result<> spread() {
    if (node_.outputs.empty()) return fail("T0942", "has no outputs", "give one or more");
    return ports(1, node_.outputs.size());
  }

  Diagnostic fail(std::string code, std::string message, std::string hint) const {
    return {std::move(code), node_.location, fmt::format("{}: {}", describe(graph_, id_), message), std::move(hint)};
  }
  StreamKind kind(size_t i) const { return graph_.stream(node_.inputs[i]).kind; }
  int rank(size_t i) const { return graph_.stream(node_.inputs[i]).rank; }
  std::string port(size_t i) const { return fmt::format("input {} (%{})", i, graph_.stream(node_.inputs[i]).name); }

  Result<> ports(size_t inputs, size_t outputs) const {
    if (node_.inputs.size() != inputs)
      return fail("T0942", fmt::format("takes {} streams and is given {}", inputs, node_.inputs.size()),
                  "connect every input of the block");
    if (node_.outputs.size() != outputs)
      return fail("T0942", fmt::format("puts {} streams and {} are named", outputs, node_.outputs.size()),
                  "name every output; `_` drops one");
    for (size_t i = 0; i < inputs; ++i)
      if (!node_.inputs[i]) return fail("T0942", fmt::format("input {} is not connected", i), "give it a stream");
    return Unit{};
  }
  Result<> takes(size_t i, StreamKind wanted) const {
    if (kind(i) == wanted) return Unit{};
    return fail("T0943", fmt::format("{} is a {} stream where {} is wanted", port(i), nameOf(kind(i)), nameOf(wanted)),
                "connect a stream of that kind");
  }
  Result<> rankIs(size_t i, int wanted) const {
    if (rank(i) == wanted) return Unit{};
    return fail("T0944", fmt::format("{} has rank {} where {} is wanted", port(i), rank(i), wanted),
                "a scan or repeat raises the rank, a reduce lowers it");
  }
  Result<> equalRanks() const {
    for (size_t i = 1; i < node_.inputs.size(); ++i) TK_RETURN_IF_ERROR(rankIs(i, rank(0)));
    return Unit{};
  }
  Result<> knownTensor(const std::string& name, bool written = false) const {
    const Tensor* tensor = graph_.tensor(name);
    if (tensor == nullptr)
      return fail("T0945", fmt::format("there is no tensor @{}", name), "declare it at the head of the graph");
    if (tensor->isOutput != written)
      return fail("T0945", fmt::format("@{} is {}", name, written ? "an input" : "an output"),
                  "a graph writes its outputs and reads the other tensors");
    return Unit{};
  }
  Result<> knownLevel(const std::string& name, int level, bool written = false) const {
    TK_RETURN_IF_ERROR(knownTensor(name, written));
    const size_t levels = graph_.tensor(name)->levels.size();
    if (level >= 0 && static_cast<size_t>(level) < levels) return Unit{};
    return fail("T0945", fmt::format("@{} has {} levels and none numbered {}", name, levels, level),
                "levels count from 0, outermost first");
  }
  const Graph& graph_;
  NodeId id_;
  const Node& node_;
};

Diagnostic wiringFault(const Graph& graph, const Port& at, std::string message, std::string hint) {
  return {"T0942", graph.node(at.node).location, fmt::format("{}: {}", describe(graph, at.node), message),
          std::move(hint)};
}

Result<> checkWiring(const Graph& graph) {
  const Wiring wiring = wiringOf(graph);
  for (size_t s = 0; s < graph.streams().size(); ++s) {
    const auto& from = wiring.producers[s];
    const auto& to = wiring.consumers[s];
    const std::string& name = graph.streams()[s].name;
    if (from.empty() && !to.empty())
      return wiringFault(graph, to[0], fmt::format("input {} takes %{}, which nothing puts", to[0].index, name),
                         "connect it to the output of a block");
    if (from.size() > 1)
      return wiringFault(
          graph, from[1],
          fmt::format("output {} puts %{}, which {} puts already", from[1].index, name, describe(graph, from[0].node)),
          "give each output a stream of its own");
    if (!from.empty() && to.empty())
      return wiringFault(graph, from[0], fmt::format("output {} puts %{}, which nothing takes", from[0].index, name),
                         "write _ for an output that is not wanted");
    if (to.size() > 1)
      return wiringFault(
          graph, to[1],
          fmt::format("input {} takes %{}, which {} takes already", to[1].index, name, describe(graph, to[0].node)),
          "put a broadcast behind it, one output for each reader");
  }
  return Unit{};
}

Result<> checkTensors(const Graph& graph) {
  for (const Tensor& tensor : graph.tensors()) {
    if (graph.tensor(tensor.name) != &tensor)
      return Diagnostic{"T0945", {}, fmt::format("two tensors are called @{}", tensor.name), "give each its own name"};
    const bool square = tensor.block.empty() || tensor.block.size() == 2;
    if (!square || std::ranges::any_of(tensor.block, [](int64_t extent) { return extent < 1; }))
      return Diagnostic{"T0945",
                        {},
                        fmt::format("@{} has blocks of [{}]", tensor.name, fmt::join(tensor.block, ", ")),
                        "a block has two extents, each at least 1"};
  }
  return Unit{};
}

}  // namespace

Result<> verify(Graph& graph) {
  TK_RETURN_IF_ERROR(checkTensors(graph));
  TK_RETURN_IF_ERROR(checkWiring(graph));
  const std::vector<NodeId> order = topologicalOrder(graph);
  if (order.size() < graph.nodes().size()) {
    std::vector<bool> ordered(graph.nodes().size(), false);
    for (NodeId id : order) ordered[id.index] = true;
    const NodeId in(static_cast<size_t>(std::ranges::find(ordered, false) - ordered.begin()));
    return Diagnostic{"T0946", graph.node(in).location, describe(graph, in) + ": its inputs depend on its own outputs",
                      "break the cycle: streams only run forward"};
  }
  for (NodeId id : order) {
    TK_RETURN_IF_ERROR(NodeCheck(graph, id).run());
    inferStreams(graph, id);
  }
  return Unit{};
}

}  // namespace tokamak::stream
