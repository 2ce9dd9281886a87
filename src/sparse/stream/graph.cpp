#include "sparse/stream/graph.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokamak::stream {

namespace {

constexpr std::array<char, 3> kInitials = {'c', 'r', 'v'};

/// The ports of a node once more with `from` replaced by `to` at one place.
void connect(Graph& graph, Port port, StreamId to) {
  graph.node(port.node).inputs[static_cast<size_t>(port.index)] = to;
}

std::vector<std::string> namesOf(const Graph& graph, const std::vector<StreamId>& ids) {
  std::vector<std::string> names;
  for (StreamId id : ids) names.push_back(id ? graph.stream(id).name : std::string());
  return names;
}

}  // namespace

StreamId Graph::addStream(StreamKind kind, int rank, std::string_view wanted) {
  std::string unique(wanted);
  if (unique.empty()) unique = fmt::format("{}{}", kInitials[static_cast<size_t>(kind)], streams_.size());
  const std::string base = unique;
  for (int suffix = 1; !names_.insert(unique).second; ++suffix) unique = fmt::format("{}_{}", base, suffix);
  streams_.push_back({kind, rank, std::move(unique)});
  return StreamId(streams_.size() - 1);
}

NodeId Graph::addNode(Node node) {
  nodes_.push_back(std::move(node));
  return NodeId(nodes_.size() - 1);
}

const Tensor* Graph::tensor(std::string_view wanted) const {
  const auto found = std::ranges::find(tensors_, wanted, &Tensor::name);
  return found == tensors_.end() ? nullptr : &*found;
}

Tensor* Graph::tensor(std::string_view wanted) {
  return const_cast<Tensor*>(static_cast<const Graph*>(this)->tensor(wanted));
}

bool Graph::operator==(const Graph& other) const {
  const auto same = [&](const Node& a, const Node& b) {
    return a.block == b.block && a.label == b.label && namesOf(*this, a.inputs) == namesOf(other, b.inputs) &&
           namesOf(*this, a.outputs) == namesOf(other, b.outputs);
  };
  return name == other.name && tensors_ == other.tensors_ && std::ranges::equal(nodes_, other.nodes_, same);
}

int arity(AluOp op) {
  if (op <= AluOp::matmul_tn) return 2;
  return op == AluOp::select ? 3 : 1;
}

Wiring wiringOf(const Graph& graph) {
  Wiring wiring;
  wiring.producers.resize(graph.streams().size());
  wiring.consumers.resize(graph.streams().size());
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i]) wiring.consumers[node.inputs[i].index].push_back({NodeId(n), static_cast<int>(i)});
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i]) wiring.producers[node.outputs[i].index].push_back({NodeId(n), static_cast<int>(i)});
  }
  return wiring;
}

bool isWrite(const Block& block) {
  return std::holds_alternative<WriteLevel>(block) || std::holds_alternative<WriteValues>(block);
}

void removeDeadNodes(Graph& graph) {
  for (bool changed = true; changed;) {
    const Wiring wiring = wiringOf(graph);
    const auto isDead = [&](const Node& node) {
      return !isWrite(node.block) && std::ranges::all_of(node.outputs, [&](StreamId output) {
        return !output || wiring.consumers[output.index].empty();
      });
    };
    changed = graph.removeNodes(isDead) > 0;
  }
  const Wiring wiring = wiringOf(graph);
  for (size_t s = 0; s < wiring.consumers.size(); ++s)
    if (wiring.consumers[s].empty())
      for (const Port& port : wiring.producers[s])
        graph.node(port.node).outputs[static_cast<size_t>(port.index)] = StreamId{};
}

void shareStreams(Graph& graph) {
  removeDeadNodes(graph);
  const Wiring wiring = wiringOf(graph);
  std::vector<std::vector<Node>> behind(graph.nodes().size());  // broadcasts, by the node whose output they share
  for (size_t s = 0; s < wiring.consumers.size(); ++s) {
    const auto& readers = wiring.consumers[s];
    if (readers.size() < 2 || wiring.producers[s].empty()) continue;
    const NodeId producer = wiring.producers[s][0].node;
    Node node{Broadcast{}, {StreamId(s)}, {}, graph.node(producer).label, {}};
    const Stream shared = graph.stream(StreamId(s));
    for (const Port& reader : readers) {
      node.outputs.push_back(graph.addStream(shared.kind, shared.rank, shared.name));
      connect(graph, reader, node.outputs.back());
    }
    behind[producer.index].push_back(std::move(node));
  }
  std::vector<Node> nodes;
  for (size_t n = 0; n < behind.size(); ++n) {
    nodes.push_back(graph.nodes()[n]);
    std::ranges::move(behind[n], std::back_inserter(nodes));
  }
  graph.setNodes(std::move(nodes));
}

std::vector<NodeId> topologicalOrder(const Graph& graph) {
  const Wiring wiring = wiringOf(graph);
  std::vector<int> waiting(graph.nodes().size(), 0);
  std::vector<NodeId> order;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    for (StreamId input : graph.nodes()[n].inputs) waiting[n] += input ? 1 : 0;
    if (waiting[n] == 0) order.push_back(NodeId(n));
  }
  for (size_t at = 0; at < order.size(); ++at)
    for (StreamId output : graph.node(order[at]).outputs) {
      if (!output) continue;
      for (const Port& port : wiring.consumers[output.index])
        if (--waiting[port.node.index] == 0) order.push_back(port.node);
    }
  return order;
}

std::string describe(const Graph& graph, NodeId node) {
  return fmt::format("node {} ({})", node.index, describe(graph.node(node).block));
}

}  // namespace tokamak::stream
