#include "sparse/stream/graph.h"

namespace tokamak::stream {

namespace {

/// The kinds and ranks of one node's outputs, from its inputs'; total even on nodes that `verify` refuses.
class NodeInference {
 public:
  NodeInference(Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  void run() {
    std::visit([this](const auto& block) { infer(block); }, node_.block);
  }

 private:
  static constexpr StreamKind crd = StreamKind::crd, ref = StreamKind::ref, val = StreamKind::val;

  void infer(const Root&) { put(0, ref, 0); }
  void infer(const Scan&) {
    put(0, crd, rank(0) + 1);
    put(1, ref, rank(0) + 1);
  }
  void infer(const Joiner&) {
    put(0, crd, rank(0));
    for (size_t i = 1; i < node_.outputs.size(); ++i) put(i, kind(2 * i - 1), rank(0));
  }
  void infer(const Repeat&) { put(0, kind(0), rank(1)); }
  void infer(const Locate&) {
    put(0, ref, rank(0));
    put(1, ref, rank(0));
    put(2, crd, rank(0));
  }
  void infer(const Array&) { put(0, val, rank(0)); }
  void infer(const Alu&) { put(0, val, rank(0)); }
  void infer(const Reduce&) { put(0, val, rank(0) - 1); }
  void infer(const Spacc& b) {
    const auto order = static_cast<size_t>(b.order);
    for (size_t i = 0; i < order; ++i) put(i, crd, rank(0) + static_cast<int>(i));
    put(order, val, rank(0) + b.order - 1);
  }
  void infer(const CrdDrop&) {
    put(0, crd, rank(0));
    put(1, kind(1), rank(1));
  }
  void infer(const CrdHold&) {
    put(0, crd, rank(1));
    put(1, crd, rank(1));
  }
  void infer(const Broadcast&) { spread(); }
  void infer(const Fork&) { spread(); }
  void infer(const Join&) { spread(); }
  void infer(const WriteLevel&) {}
  void infer(const WriteValues&) {}

  void spread() {
    for (size_t i = 0; i < node_.outputs.size(); ++i) put(i, kind(0), rank(0));
  }
  bool given(size_t i) const { return i < node_.inputs.size() && node_.inputs[i]; }
  StreamKind kind(size_t i) const { return given(i) ? graph_.stream(node_.inputs[i]).kind : ref; }
  int rank(size_t i) const { return given(i) ? graph_.stream(node_.inputs[i]).rank : 0; }
  void put(size_t i, StreamKind kind, int rank) {
    if (i >= node_.outputs.size() || !node_.outputs[i]) return;
    Stream& stream = graph_.stream(node_.outputs[i]);
    stream.kind = kind;
    stream.rank = rank;
  }

  Graph& graph_;
  const Node& node_;
};

}  // namespace

void inferStreams(Graph& graph, NodeId node) { NodeInference(graph, graph.node(node)).run(); }

}  // namespace tokamak::stream
