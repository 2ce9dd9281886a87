#include "fuzz/shrink.h"

#include <optional>
#include <set>

#include "fuzz/generator.h"

namespace tokamak::fuzz {

namespace {

std::vector<bool> liveNodes(const std::vector<Node>& nodes, const std::vector<ValueId>& outputs) {
  std::vector<bool> live(nodes.size());
  for (ValueId output : outputs) live[output.index] = true;
  for (size_t i = nodes.size(); i-- > 0;)
    if (live[i])
      for (ValueId operand : nodes[i].operands) live[operand.index] = true;
  return live;
}

/// The graph of those nodes that `keep` marks.
Graph subgraph(const std::vector<Node>& nodes, const std::vector<ValueId>& outputs, const std::vector<bool>& keep,
               const std::string& name) {
  std::vector<ValueId> moved(nodes.size());
  std::vector<Node> kept;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!keep[i]) continue;
    Node node = nodes[i];
    for (ValueId& operand : node.operands) operand = moved[operand.index];
    moved[i] = ValueId(kept.size());
    kept.push_back(std::move(node));
  }
  std::vector<ValueId> movedOutputs;
  movedOutputs.reserve(outputs.size());
  for (ValueId output : outputs) movedOutputs.push_back(moved[output.index]);
  return graphOf(kept, movedOutputs, name);
}

Graph withoutUnusedInputs(const Graph& graph) {
  return subgraph(graph.nodes(), graph.outputs(), liveNodes(graph.nodes(), graph.outputs()), graph.name);
}

Graph withOutputs(const Graph& graph, std::vector<ValueId> outputs) {
  Graph out = graph;
  out.setOutputs(std::move(outputs));
  return withoutDeadNodes(out);
}

/// `value` stands in for `node` everywhere.
Graph replaced(const Graph& graph, ValueId node, ValueId value) {
  Graph out = graph;
  std::vector<ValueId> outputs = graph.outputs();
  for (size_t i = node.index + 1; i < out.size(); ++i)
    for (ValueId& operand : out.node(ValueId(i)).operands)
      if (operand == node) operand = value;
  for (ValueId& output : outputs)
    if (output == node) output = value;
  return withOutputs(out, std::move(outputs));
}

/// `op`, without operands, stands in for `node`.
Graph replacedBy(const Graph& graph, ValueId node, Op op, std::string name) {
  std::vector<Node> nodes = graph.nodes();
  nodes[node.index] = {std::move(op), {}, graph.type(node), std::move(name), {}};
  return withoutDeadNodes(graphOf(nodes, graph.outputs(), graph.name));
}

Graph withSymbol(const Graph& graph, const std::string& symbol, int64_t value) {
  const std::map<std::string, Dim, std::less<>> values = {{symbol, Dim(value)}};
  Graph out = graph;
  const auto substitute = [&](std::vector<Dim>& dims) {
    for (Dim& dim : dims) dim = dim.substitute(values);
  };
  for (size_t i = 0; i < out.size(); ++i) {
    Node& node = out.node(ValueId(i));
    substitute(node.type.shape);
    if (auto* slice = std::get_if<Slice>(&node.op)) substitute(slice->start);
    if (auto* pad = std::get_if<Pad>(&node.op)) substitute(pad->low), substitute(pad->high);
  }
  return out;
}

class Shrinker {
 public:
  Shrinker(Graph graph, const std::function<bool(const Graph&)>& stillFails)
      : best_(std::move(graph)), stillFails_(stillFails) {}

  Graph run() {
    while (cutShort() || dropOutputs() || replaceNodes() || fixSymbols() || dropInputs()) {}
    return best_;
  }

 private:
  bool attempt(Graph candidate) {
    if (candidate == best_ || !verify(candidate).ok() || !stillFails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  bool cutShort() {
    for (size_t i = 0; i + 1 < best_.size(); ++i) {
      Graph candidate = withOutputs(best_, {ValueId(i)});
      if (candidate.size() < best_.size() && attempt(std::move(candidate))) return true;
    }
    return false;
  }

  bool dropOutputs() {
    for (size_t i = 0; best_.outputs().size() > 1 && i < best_.outputs().size(); ++i) {
      std::vector<ValueId> outputs = best_.outputs();
      outputs.erase(outputs.begin() + static_cast<int64_t>(i));
      if (attempt(withOutputs(best_, std::move(outputs)))) return true;
    }
    return false;
  }

  bool replaceNodes() {
    for (size_t i = best_.size(); i-- > 0;) {
      const ValueId id(i);
      if (std::holds_alternative<Input>(best_.node(id).op)) continue;
      for (size_t other = 0; other < i; ++other)
        if (best_.type(ValueId(other)) == best_.type(id) && attempt(replaced(best_, id, ValueId(other)))) return true;
      if (best_.node(id).operands.empty()) continue;
      const Scalar one = isFloat(best_.type(id).dtype) ? Scalar::of(1.0) : Scalar::of(int64_t{1});
      if (attempt(replacedBy(best_, id, Full{one}, {}))) return true;
      if (attempt(replacedBy(best_, id, Input{}, freshName()))) return true;
    }
    return false;
  }

  bool fixSymbols() {
    std::set<std::string, std::less<>> symbols;
    for (const Node& node : best_.nodes())
      for (const Dim& extent : node.type.shape) extent.collectSymbols(symbols);
    for (const std::string& symbol : symbols)
      for (int64_t value : {1, 2, 3, 7, 17})
        if (attempt(withSymbol(best_, symbol, value))) return true;
    return false;
  }

  bool dropInputs() {
    Graph candidate = withoutUnusedInputs(best_);
    return candidate.size() < best_.size() && attempt(std::move(candidate));
  }

  std::string freshName() const {
    std::set<std::string> names;
    for (const Node& node : best_.nodes()) names.insert(node.name);
    int n = 0;
    while (names.contains("y" + std::to_string(n))) ++n;
    return "y" + std::to_string(n);
  }

  Graph best_;
  const std::function<bool(const Graph&)>& stillFails_;
};

}  // namespace

Graph withoutDeadNodes(const Graph& graph) {
  std::vector<bool> keep = liveNodes(graph.nodes(), graph.outputs());
  for (ValueId input : graph.inputs()) keep[input.index] = true;
  return subgraph(graph.nodes(), graph.outputs(), keep, graph.name);
}

Graph shrink(const Graph& graph, const std::function<bool(const Graph&)>& stillFails) {
  return Shrinker(graph, stillFails).run();
}

}  // namespace tokamak::fuzz
