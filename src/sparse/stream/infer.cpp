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
    for (size_t i = 1; i < node_.outputs.size(); ++i) put(i, kind(2 * i - 1), rank(0), block(2 * i - 1));
  }
  void infer(const Repeat&) { put(0, kind(0), rank(1), block(0)); }
  void infer(const Locate&) {
    put(0, ref, rank(0));
    put(1, ref, rank(0));
    put(2, crd, rank(0));
  }
  void infer(const Array& b) {
    const Tensor* tensor = graph_.tensor(b.tensor);
    const bool blocked = tensor != nullptr && tensor->block.size() == 2;
    put(0, val, rank(0), blocked ? BlockShape{tensor->block[0], tensor->block[1]} : BlockShape{});
  }
  void infer(const Alu& b) {
    std::vector<BlockShape> shapes;
    for (size_t i = 0; i < node_.inputs.size(); ++i) shapes.push_back(block(i));
    if (b.scalar) shapes.emplace_back();
    put(0, val, rank(0), resultShape(b.op, shapes).value_or(BlockShape{}));
  }
  void infer(const Reduce&) { put(0, val, rank(0) - 1, block(0)); }
  void infer(const Spacc& b) {
    const auto order = static_cast<size_t>(b.order);
    for (size_t i = 0; i < order; ++i) put(i, crd, rank(0) + static_cast<int>(i));
    put(order, val, rank(0) + b.order - 1, block(order + 1));
  }
  void infer(const CrdDrop&) {
    put(0, crd, rank(0));
    put(1, kind(1), rank(1), block(1));
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
    for (size_t i = 0; i < node_.outputs.size(); ++i) put(i, kind(0), rank(0), block(0));
  }
  bool given(size_t i) const { return i < node_.inputs.size() && node_.inputs[i]; }
  StreamKind kind(size_t i) const { return given(i) ? graph_.stream(node_.inputs[i]).kind : ref; }
  int rank(size_t i) const { return given(i) ? graph_.stream(node_.inputs[i]).rank : 0; }
  BlockShape block(size_t i) const { return given(i) ? graph_.stream(node_.inputs[i]).block : BlockShape{}; }
  void put(size_t i, StreamKind kind, int rank, BlockShape block = {}) {
    if (i >= node_.outputs.size() || !node_.outputs[i]) return;
    Stream& stream = graph_.stream(node_.outputs[i]);
    stream.kind = kind;
    stream.rank = rank;
    stream.block = block;
  }

  Graph& graph_;
  const Node& node_;
};

/// The extent of two that meet element by element, or -1.
int64_t commonExtent(int64_t a, int64_t b) {
  if (a == b || b == 1) return a;
  return a == 1 ? b : -1;
}

std::optional<BlockShape> elementwise(const std::vector<BlockShape>& operands) {
  BlockShape result;
  for (const BlockShape& shape : operands) {
    if (shape.isNumber()) continue;
    if (result.isNumber()) result = shape;
    result = {commonExtent(result.rows, shape.rows), commonExtent(result.columns, shape.columns)};
    if (result.rows < 0 || result.columns < 0) return std::nullopt;
  }
  return result;
}

}  // namespace

std::optional<BlockShape> resultShape(AluOp op, const std::vector<BlockShape>& operands) {
  if (operands.empty()) return std::nullopt;
  const bool product = op == AluOp::matmul || op == AluOp::matmul_nt || op == AluOp::matmul_tn;
  if (!product && op < AluOp::transpose) return elementwise(operands);
  const BlockShape a = operands[0], b = product ? operands.back() : BlockShape{1, 1};
  if (a.isNumber() || b.isNumber()) return std::nullopt;
  switch (op) {
    case AluOp::matmul: return a.columns == b.rows ? std::optional(BlockShape{a.rows, b.columns}) : std::nullopt;
    case AluOp::matmul_nt: return a.columns == b.columns ? std::optional(BlockShape{a.rows, b.rows}) : std::nullopt;
    case AluOp::matmul_tn: return a.rows == b.rows ? std::optional(BlockShape{a.columns, b.columns}) : std::nullopt;
    case AluOp::transpose: return BlockShape{a.columns, a.rows};
    case AluOp::row_sum:
    case AluOp::row_max:
    case AluOp::row_min: return BlockShape{a.rows, 1};
    default: return BlockShape{1, a.columns};
  }
}

void inferStreams(Graph& graph, NodeId node) { NodeInference(graph, graph.node(node)).run(); }

}  // namespace tokamak::stream
