#include "sim/report/critical_path.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokamak::sim {

using stream::NodeId;
using stream::StreamId;

Wait longestWaitOf(const NodeReport& node) {
  Wait longest;
  const auto offer = [&](WaitKind kind, size_t port, uint64_t cycles) {
    if (cycles > longest.cycles) longest = {kind, port, cycles};
  };
  for (size_t i = 0; i < node.waitInput.size(); ++i) offer(WaitKind::input, i, node.waitInput[i]);
  for (size_t i = 0; i < node.waitOutput.size(); ++i) offer(WaitKind::output, i, node.waitOutput[i]);
  offer(WaitKind::memory, 0, node.waitMemory);
  offer(WaitKind::compute, 0, node.waitCompute);
  return longest;
}

std::string describe(const stream::Graph& graph, NodeId id, const Wait& wait) {
  const stream::Node& node = graph.node(id);
  switch (wait.kind) {
    case WaitKind::none: return "nothing";
    case WaitKind::input: return fmt::format("%{}", graph.stream(node.inputs[wait.port]).name);
    case WaitKind::output: return fmt::format("room in %{}", graph.stream(node.outputs[wait.port]).name);
    case WaitKind::memory: return "memory";
    case WaitKind::compute: return "a compute unit";
  }
  return "";
}

namespace {

/// The node at the other end of what is waited for; none for memory and units.
NodeId causeOf(const stream::Graph& graph, const stream::Wiring& wiring, NodeId node, const Wait& wait) {
  if (wait.kind == WaitKind::input) {
    const StreamId from = graph.node(node).inputs[wait.port];
    return wiring.producers[from.index][0].node;
  }
  if (wait.kind != WaitKind::output) return {};
  const StreamId to = graph.node(node).outputs[wait.port];
  return to && !wiring.consumers[to.index].empty() ? wiring.consumers[to.index][0].node : NodeId{};
}

}  // namespace

std::vector<PathStep> criticalPath(const stream::Graph& graph, const Report& report) {
  std::vector<PathStep> path;
  const auto last = std::ranges::max_element(report.nodes, {}, &NodeReport::cycles);
  if (last == report.nodes.end()) return path;
  std::vector<const NodeReport*> of(graph.nodes().size(), nullptr);
  for (const NodeReport& node : report.nodes) of[node.node.index] = &node;
  const stream::Wiring wiring = wiringOf(graph);
  std::vector<bool> seen(graph.nodes().size(), false);
  for (NodeId at = last->node; at && !seen[at.index];) {
    seen[at.index] = true;
    const NodeReport* node = of[at.index];
    if (node == nullptr) {  // a broadcast that is a view: its input's producer
      at = wiring.producers[graph.node(at).inputs[0].index][0].node;
      continue;
    }
    const Wait wait = longestWaitOf(*node);
    const bool heldUp = wait.cycles > node->busy;
    path.push_back({at, heldUp ? wait : Wait{}});
    if (!heldUp) break;
    at = causeOf(graph, wiring, at, wait);
  }
  return path;
}

}  // namespace tokamak::sim
