#include <fmt/format.h>

#include <algorithm>

#include "sparse/stream/sam_fields.h"

/// What an exchange file leaves out: the tensors' levels, which tensor a locate reaches, which level a write stores,
/// how deep a join's lanes are.
namespace tokamak::stream::sam {

namespace {

using Formats = std::map<std::pair<std::string, int>, LevelFormat>;

/// The first block that uses references of a stream to reach into a tensor, past blocks that only pass them on.
const Block* reachedBy(const Graph& graph, const Wiring& wiring, StreamId stream, std::vector<bool>& seen) {
  if (seen[stream.index]) return nullptr;  // a cycle, which `verify` will name
  seen[stream.index] = true;
  for (const Port& port : wiring.consumers[stream.index]) {
    const Node& node = graph.node(port.node);
    if (std::holds_alternative<Scan>(node.block) || std::holds_alternative<Array>(node.block)) return &node.block;
    std::vector<StreamId> next;
    if (std::holds_alternative<Joiner>(node.block))
      next = {node.outputs[static_cast<size_t>(port.index + 1) / 2]};
    else if (!std::holds_alternative<Repeat>(node.block) || port.index == 0)
      next = node.outputs;
    for (StreamId output : next) {
      if (!output) continue;
      if (const Block* found = reachedBy(graph, wiring, output, seen)) return found;
    }
  }
  return nullptr;
}

int levelsScanned(const Formats& formats, const std::string& tensor) {
  int levels = 0;
  for (const auto& [key, format] : formats)
    if (key.first == tensor) levels = std::max(levels, key.second + 1);
  return levels;
}

/// A locate's first result is a position in the level above the scan that it feeds, or in the last one before an array.
Result<> findLocated(Graph& graph, Formats& formats) {
  const Wiring wiring = wiringOf(graph);
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    Node& node = graph.node(NodeId(n));
    auto* locate = std::get_if<Locate>(&node.block);
    if (locate == nullptr) continue;
    std::vector<bool> seen(graph.streams().size(), false);
    const Block* reached = node.outputs[0] ? reachedBy(graph, wiring, node.outputs[0], seen) : nullptr;
    if (reached == nullptr)
      return Diagnostic{"T0951",
                        {},
                        fmt::format("node {} (locate): output 0 finds what nothing uses", n),
                        "drop the operator, or connect its first result"};
    if (const auto* scan = std::get_if<Scan>(reached))
      *locate = {scan->tensor, scan->level - 1};
    else
      *locate = {std::get<Array>(*reached).tensor,
                 std::max(levelsScanned(formats, std::get<Array>(*reached).tensor), 1) - 1};
    formats.try_emplace({locate->tensor, locate->level}, LevelFormat::dense);
  }
  return Unit{};
}

/// The fork that a lane comes from, found against the streams: its rank.
int rankAtFork(const Graph& graph, const Wiring& wiring, StreamId lane) {
  int joins = 0;
  for (size_t steps = 0; steps < graph.nodes().size() && !wiring.producers[lane.index].empty(); ++steps) {
    const Node& node = graph.node(wiring.producers[lane.index][0].node);
    if (std::holds_alternative<Join>(node.block)) ++joins;
    if (std::holds_alternative<Fork>(node.block) && joins-- == 0) return graph.stream(lane).rank;
    const size_t along = std::holds_alternative<Repeat>(node.block) ? 1 : 0;
    if (node.inputs.size() <= along || !node.inputs[along]) break;
    lane = node.inputs[along];
  }
  return graph.stream(lane).rank;
}

/// A tensor with a root and no level that anyone enters is a number; values without a root are a vector's.
void declareInputs(Graph& graph, const Formats& formats) {
  const auto declare = [&](const std::string& name, int least) {
    if (graph.tensor(name) != nullptr) return;
    Tensor tensor{name, {}, {}, false};
    for (int level = 0; level < std::max(levelsScanned(formats, name), least); ++level) {
      const auto found = formats.find({name, level});
      tensor.levels.push_back({found == formats.end() ? LevelFormat::dense : found->second, -1});
    }
    graph.addTensor(std::move(tensor));
  };
  for (const Node& node : graph.nodes())
    if (const auto* root = std::get_if<Root>(&node.block)) declare(root->tensor, 0);
  for (const Node& node : graph.nodes()) {
    if (const auto* scan = std::get_if<Scan>(&node.block)) declare(scan->tensor, 1);
    if (const auto* array = std::get_if<Array>(&node.block)) declare(array->tensor, 1);
  }
}

/// Levels that are written are known by the ranks of their coordinates, tensors by their values'.
void declareOutputs(Graph& graph) {
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    Node& node = graph.node(NodeId(n));
    if (node.inputs.empty() || !node.inputs[0]) continue;
    const int rank = graph.stream(node.inputs[0]).rank;
    if (auto* level = std::get_if<WriteLevel>(&node.block)) level->level = rank - 1;
    if (const auto* values = std::get_if<WriteValues>(&node.block))
      graph.addTensor({values->tensor,
                       std::vector<Level>(static_cast<size_t>(std::max(rank, 0)), {LevelFormat::compressed, -1}),
                       {},
                       true});
  }
}

/// Outermost first: of the outer coordinates the one of the lowest rank is folded.
void sortAccumulator(Graph& graph, NodeId id) {
  Node& node = graph.node(id);
  if (const auto* spacc = std::get_if<Spacc>(&node.block); spacc != nullptr && spacc->order > 1)
    std::stable_sort(node.inputs.begin(), node.inputs.begin() + spacc->order, [&](StreamId a, StreamId b) {
      return (a ? graph.stream(a).rank : -1) < (b ? graph.stream(b).rank : -1);
    });
}

}  // namespace

Result<> completeSam(Graph& graph, const Formats& given) {
  Formats formats = given;
  TK_RETURN_IF_ERROR(findLocated(graph, formats));
  declareInputs(graph, formats);
  for (NodeId id : topologicalOrder(graph)) {
    sortAccumulator(graph, id);
    inferStreams(graph, id);
  }
  declareOutputs(graph);
  const Wiring wiring = wiringOf(graph);
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    Node& node = graph.node(NodeId(n));
    if (auto* join = std::get_if<Join>(&node.block); join != nullptr && !node.inputs.empty() && node.inputs[0])
      join->depth = graph.stream(node.inputs[0]).rank - rankAtFork(graph, wiring, node.inputs[0]);
  }
  return verify(graph);
}

}  // namespace tokamak::stream::sam
