#include "fusion/epilogue.h"

#include <algorithm>

#include "fusion/cost.h"

namespace tokamak {

bool servedByLibrary(const Graph& graph, ValueId product, const FusionOptions& options) {
  const Node& node = graph.node(product);
  const DType type = graph.type(node.operands[0]).dtype;
  for (ValueId operand : node.operands)
    if (graph.type(operand).dtype != type) return false;
  if (std::find(options.libraryTypes.begin(), options.libraryTypes.end(), type) == options.libraryTypes.end())
    return false;
  if (std::holds_alternative<MatMul>(node.op))
    return options.libraryFewRows || !(isFewRows(graph, product) || isNarrowRow(graph, product));
  if (!options.libraryConvs) return false;
  // Windows that lie wholly in the padding are beyond what the library is asked for.
  const auto& op = std::get<Conv>(node.op);
  const Shape& weights = graph.type(node.operands[1]).shape;
  for (size_t s = 0; s < op.stride.size(); ++s) {
    const auto taps = weights[2 + s].constant();
    if (!taps || op.low[s] > op.dilation[s] * (*taps - 1) || op.high[s] > op.dilation[s] * (*taps - 1)) return false;
  }
  return true;
}

namespace {

class Matcher {
 public:
  Matcher(const Graph& graph, const std::vector<std::vector<ValueId>>& readers, const std::vector<bool>& stored,
          const FusionOptions& options)
      : graph_(graph), readers_(readers), stored_(stored), options_(options) {}

  std::vector<EpilogueStep> run(ValueId product) {
    std::vector<EpilogueStep> steps;
    ValueId at = product;
    while (steps.size() < 4 && !stored_[at.index]) {
      EpilogueStep step;
      if (!matchBinary(product, at, step) && !matchActivation(at, step)) break;
      at = step.result;
      steps.push_back(step);
      if (!options_.acceptsEpilogue || options_.acceptsEpilogue(graph_, product, steps)) continue;
      steps.pop_back();
      break;
    }
    return steps;
  }

 private:
  bool matchBinary(ValueId product, ValueId at, EpilogueStep& step) const {
    const auto& readers = readers_[at.index];
    if (readers.size() != 1) return false;
    const Node& node = graph_.node(readers[0]);
    auto* op = std::get_if<Binary>(&node.op);
    if (!op || !(node.type == graph_.type(at))) return false;
    const bool commutes = op->kind == BinaryKind::add || op->kind == BinaryKind::mul;
    if (!commutes && op->kind != BinaryKind::sub) return false;
    ValueId other;
    if (node.operands[0] == at && node.operands[1] != at)
      other = node.operands[1];
    else if (commutes && node.operands[1] == at && node.operands[0] != at)
      other = node.operands[0];
    if (!other) return false;
    step.kind = EpilogueStep::Kind::binary;
    step.binary = op->kind;
    step.result = readers[0];
    const auto* conv = std::get_if<Conv>(&graph_.node(product).op);
    const size_t rank = node.type.rank();
    const auto column = static_cast<Axis>(conv ? conv->channelAxis(rank) : rank - 1);
    if (auto* broadcast = opAs<Broadcast>(graph_, other)) {
      const ValueId vector = graph_.node(other).operands[0];
      if (graph_.type(vector).rank() != 1 || broadcast->axes != std::vector<Axis>{column} || !isStorable(vector))
        return false;
      if (!(graph_.type(vector).shape[0] == node.type.shape[column])) return false;
      step.operand = vector;
      step.across = EpilogueStep::Across::rows;
      return true;
    }
    step.operand = other;
    step.across = EpilogueStep::Across::none;
    return isStorable(other);
  }

  /// Values that are in memory, or are computed by an op that can store them.
  bool isStorable(ValueId v) const {
    const Op& op = graph_.node(v).op;
    return std::holds_alternative<Input>(op) || isElementwise(op) || std::holds_alternative<Reduce>(op) ||
           std::holds_alternative<MatMul>(op) || std::holds_alternative<Conv>(op) || std::holds_alternative<Scan>(op) ||
           (std::holds_alternative<Constant>(op) && std::get<Constant>(op).data->size() > 1);
  }

  bool matchActivation(ValueId at, EpilogueStep& step) {
    if (!options_.decomposed) return false;
    static constexpr ActivationKind kinds[] = {ActivationKind::gelu, ActivationKind::gelu_tanh, ActivationKind::silu,
                                               ActivationKind::relu};
    for (ActivationKind kind : kinds) {
      const Activation activation{kind};
      const Graph pattern = options_.decomposed(activation, graph_.type(at));
      if (pattern.outputs().empty()) continue;
      for (ValueId root : forward(at, pattern.size())) {
        matched_.assign(1, at);
        if (!(graph_.type(root) == pattern.type(pattern.outputs()[0]))) continue;
        if (!same(pattern, pattern.outputs()[0], root, at) || !isClosed(at, root)) continue;
        step.kind = EpilogueStep::Kind::activation;
        step.activation = activation;
        step.result = root;
        return true;
      }
    }
    return false;
  }

  /// Readers of readers, as many steps as the pattern has nodes.
  std::vector<ValueId> forward(ValueId from, size_t steps) const {
    std::vector<ValueId> out{from};
    for (size_t i = 0; i < out.size() && out.size() <= 4 * steps; ++i)
      for (ValueId r : readers_[out[i].index])
        if (isElementwise(graph_.node(r).op) && std::find(out.begin(), out.end(), r) == out.end()) out.push_back(r);
    out.erase(out.begin());
    return out;
  }

  /// Casts that the program did not write round nothing, so that they may be anywhere.
  static ValueId withoutCasts(const Graph& graph, ValueId v, std::vector<ValueId>* passed = nullptr) {
    while (auto* cast = opAs<Cast>(graph, v)) {
      if (!cast->synthetic) break;
      if (passed) passed->push_back(v);
      v = graph.node(v).operands[0];
    }
    return v;
  }

  static bool sameType(const TensorType& a, const TensorType& b) {
    const auto wide = [](DType t) { return isHalf(t) ? DType::f32 : t; };
    return a.shape == b.shape && wide(a.dtype) == wide(b.dtype);
  }

  bool same(const Graph& pattern, ValueId p, ValueId g, ValueId at) {
    const auto keep = matched_;
    p = withoutCasts(pattern, p), g = withoutCasts(graph_, g, &matched_);
    const Node &want = pattern.node(p), &have = graph_.node(g);
    if (std::holds_alternative<Input>(want.op)) return g == at;
    if (!(want.op == have.op) || !sameType(want.type, have.type) || want.operands.size() != have.operands.size())
      return false;
    const auto reached = matched_;
    bool equal = true;
    for (size_t i = 0; i < want.operands.size() && equal; ++i)
      equal = same(pattern, want.operands[i], have.operands[i], at);
    auto* binary = std::get_if<Binary>(&want.op);
    if (!equal && binary && (binary->kind == BinaryKind::add || binary->kind == BinaryKind::mul)) {
      matched_ = reached;
      equal = same(pattern, want.operands[0], have.operands[1], at) &&
              same(pattern, want.operands[1], have.operands[0], at);
    }
    if (!equal) {
      matched_ = keep;
      return false;
    }
    matched_.push_back(g);
    return true;
  }

  /// Nothing but the matched nodes reads what the chain would no longer store.
  bool isClosed(ValueId at, ValueId root) const {
    auto isIn = [&](ValueId v) { return std::find(matched_.begin(), matched_.end(), v) != matched_.end(); };
    for (ValueId v : matched_) {
      if (v == root || (!isElementwise(graph_.node(v).op) && v != at)) continue;
      if (stored_[v.index] || !std::all_of(readers_[v.index].begin(), readers_[v.index].end(), isIn)) return false;
    }
    return true;
  }

  const Graph& graph_;
  const std::vector<std::vector<ValueId>>& readers_;
  const std::vector<bool>& stored_;
  const FusionOptions& options_;
  std::vector<ValueId> matched_;
};

}  // namespace

std::vector<EpilogueStep> matchEpilogue(const Graph& graph, ValueId product,
                                        const std::vector<std::vector<ValueId>>& readers,
                                        const std::vector<bool>& stored, const FusionOptions& options) {
  return Matcher(graph, readers, stored, options).run(product);
}

std::vector<ValueId> epilogueNodes(const Graph& graph, ValueId from, ValueId to) {
  std::vector<ValueId> work{to}, out;
  while (!work.empty()) {
    const ValueId v = work.back();
    work.pop_back();
    if (v.index <= from.index || !isElementwise(graph.node(v).op) || std::find(out.begin(), out.end(), v) != out.end())
      continue;
    out.push_back(v);
    for (ValueId operand : graph.node(v).operands) work.push_back(operand);
  }
  return out;
}

}  // namespace tokamak
