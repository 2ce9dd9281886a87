#include "sparse/stream/sam_express.h"

#include "sparse/stream/sam_values.h"

namespace tokamak::stream::sam {

namespace {

class Expresser {
 public:
  explicit Expresser(const Graph& graph) : graph_(graph), wiring_(wiringOf(graph)), values_(graph_, nodes_) {}

  Graph run() {
    const std::vector<Node> before = graph_.nodes();
    bool changed = false;
    for (const Node& node : before) {
      const bool written = write(node);
      changed = changed || written;
      if (!written) nodes_.push_back(node);
    }
    if (!changed) return std::move(graph_);
    graph_.setNodes(std::move(nodes_));
    shareStreams(graph_);
    return std::move(graph_);
  }

 private:
  bool write(const Node& node) {
    if (const auto* alu = std::get_if<Alu>(&node.block)) return values_.write(node, *alu);
    if (const auto* reduce = std::get_if<Reduce>(&node.block)) return values_.write(node, *reduce);
    if (const auto* locate = std::get_if<Locate>(&node.block)) return walked(node, *locate);
    return false;
  }

  const Node* producer(StreamId stream) const {
    return wiring_.producers[stream.index].empty() ? nullptr : &graph_.node(wiring_.producers[stream.index][0].node);
  }

  /// Past broadcasts, which only pass a stream on.
  StreamId source(StreamId stream) const {
    const Node* from = producer(stream);
    return from && std::holds_alternative<Broadcast>(from->block) ? source(from->inputs[0]) : stream;
  }

  /// Whether references may be N: then nothing is found below them, and coordinates would be lost.
  bool mayBeAbsent(StreamId stream) const {
    const Node* from = producer(source(stream));
    if (!from) return true;
    if (std::holds_alternative<Root>(from->block) || std::holds_alternative<Scan>(from->block)) return false;
    if (std::holds_alternative<Repeat>(from->block)) return mayBeAbsent(from->inputs[0]);
    if (std::holds_alternative<Fork>(from->block)) return mayBeAbsent(from->inputs[0]);
    if (std::holds_alternative<Locate>(from->block)) {
      const bool found = from->outputs[0] == source(stream);
      if (found) return from->inputs.size() > 2 && mayBeAbsent(from->inputs[2]);
      return mayBeAbsent(from->inputs[1]);
    }
    if (const auto* join = std::get_if<Joiner>(&from->block); join && join->kind == JoinKind::intersect)
      for (size_t i = 1; i < from->outputs.size(); ++i)
        if (from->outputs[i] == source(stream)) return mayBeAbsent(from->inputs[2 * i - 1]);
    return true;
  }

  /// The level below each parent is walked and meets the coordinates, all of which it has. The parent is there once for
  /// each coordinate; the stream that was repeated so has it once for each fiber.
  bool walked(const Node& node, const Locate& locate) {
    if (node.inputs.size() < 3 || !node.inputs[2]) return false;
    const Node* repeat = producer(source(node.inputs[2]));
    if (!repeat || !std::holds_alternative<Repeat>(repeat->block)) return false;
    const StreamId parent = repeat->inputs[0];
    if (mayBeAbsent(parent)) return false;
    const int rank = graph_.stream(node.inputs[0]).rank;
    const StreamId crd = graph_.addStream(StreamKind::crd, rank), ref = graph_.addStream(StreamKind::ref, rank);
    nodes_.push_back({Scan{locate.tensor, locate.level}, {source(parent)}, {crd, ref}, node.label, {}});
    nodes_.push_back({Joiner{JoinKind::intersect},
                      {node.inputs[0], node.inputs[1], crd, ref},
                      {node.outputs[2], node.outputs[1], node.outputs[0]},
                      node.label,
                      {}});
    return true;
  }

  Graph graph_;
  Wiring wiring_;
  std::vector<Node> nodes_;
  Values values_;
};

}  // namespace

Graph expressed(const Graph& graph) { return Expresser(graph).run(); }

}  // namespace tokamak::stream::sam
