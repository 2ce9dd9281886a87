#include "passes/raise_reshape.h"

#include <algorithm>

#include "passes/free_reshape.h"

namespace tokamak {

namespace {

using Readers = std::vector<std::vector<ValueId>>;

Readers readersOf(const Graph& graph) {
  Readers readers(graph.size());
  for (size_t i = 0; i < graph.size(); ++i)
    for (ValueId operand : graph.node(ValueId(i)).operands) readers[operand.index].emplace_back(i);
  return readers;
}

/// Whether a fold that elementwise ops lead to from reshape `r` stands in its way.
bool isStuck(const Graph& graph, const Readers& readers, ValueId r) {
  const Shape& below = graph.type(graph.node(r).operands[0]).shape;
  const Shape& above = graph.type(r).shape;
  std::vector<ValueId> work{r};
  std::vector<bool> seen(graph.size(), false);
  while (!work.empty()) {
    const ValueId v = work.back();
    work.pop_back();
    for (ValueId reader : readers[v.index]) {
      const Node& node = graph.node(reader);
      if (const auto* fold = std::get_if<Reduce>(&node.op); fold && axesBelow(below, above, fold->axes).empty())
        return true;
      if (!isElementwise(node.op) || seen[reader.index]) continue;
      seen[reader.index] = true;
      work.push_back(reader);
    }
  }
  return false;
}

/// Elementwise ops that would run over another shape.
struct Cone {
  Shape shape;
  std::vector<bool> has;  // by value
};

/// All elementwise ops above these reshapes to `shape`; nothing when others read them too.
std::optional<Cone> coneOf(const Graph& graph, const Readers& readers, const std::vector<ValueId>& reshapes) {
  Cone cone{graph.type(reshapes[0]).shape, std::vector<bool>(graph.size(), false)};
  std::vector<ValueId> work, members;
  const auto visit = [&](ValueId v) {
    if (cone.has[v.index] || !isElementwise(graph.node(v).op)) return;
    cone.has[v.index] = true;
    work.push_back(v);
    members.push_back(v);
  };
  for (ValueId r : reshapes) visit(graph.node(r).operands[0]);
  while (!work.empty()) {
    const Node& node = graph.node(work.back());
    work.pop_back();
    for (ValueId operand : node.operands) visit(operand);
  }
  for (ValueId out : graph.outputs())
    if (cone.has[out.index]) return std::nullopt;
  for (ValueId v : members)
    for (ValueId reader : readers[v.index]) {
      const bool follows =
          std::holds_alternative<Reshape>(graph.node(reader).op) && graph.type(reader).shape == cone.shape;
      if (!cone.has[reader.index] && !follows) return std::nullopt;
    }
  return cone;
}

/// Lets the ops of a cone run over its shape. Leaves the graph alone where one of them reads what cannot follow.
Changed raise(Graph& graph, const Cone& cone) {
  Rewriter rewriter(graph);
  for (ValueId v : rewriter.values()) {
    const Node node = rewriter.visit(v);
    const auto& given = rewriter.source().node(v).operands;
    if (cone.has[v.index]) {
      std::vector<ValueId> operands;
      for (size_t i = 0; i < given.size(); ++i) {
        const ValueId operand =
            cone.has[given[i].index] ? node.operands[i] : freelyReshaped(rewriter, node.operands[i], cone.shape);
        if (!operand.valid()) return Changed::no;
        operands.push_back(operand);
      }
      rewriter.replace(v, rewriter.append(node.op, std::move(operands), {node.type.dtype, cone.shape}));
    } else if (std::holds_alternative<Reshape>(node.op) && cone.has[given[0].index]) {
      rewriter.replace(v, node.operands[0]);
    } else {
      rewriter.keep(v);
    }
  }
  return rewriter.finish();
}

/// Reshapes of computed values that are stuck, those from and to the same shapes together.
std::vector<std::vector<ValueId>> stuckReshapes(const Graph& graph, const Readers& readers) {
  std::vector<std::vector<ValueId>> groups;
  for (size_t i = 0; i < graph.size(); ++i) {
    const ValueId v(i);
    const Node& node = graph.node(v);
    if (!std::holds_alternative<Reshape>(node.op) || !isElementwise(graph.node(node.operands[0]).op)) continue;
    const auto alike = [&](const std::vector<ValueId>& group) {
      return graph.type(group[0]).shape == node.type.shape &&
             graph.type(graph.node(group[0]).operands[0]).shape == graph.type(node.operands[0]).shape;
    };
    const auto group = std::find_if(groups.begin(), groups.end(), alike);
    if (group != groups.end())
      group->push_back(v);
    else if (isStuck(graph, readers, v))
      groups.push_back({v});
  }
  return groups;
}

}  // namespace

/// Raises the first reshapes that can be.
static Changed raiseOne(Graph& graph) {
  const Readers readers = readersOf(graph);
  for (const auto& group : stuckReshapes(graph, readers)) {
    std::vector<std::vector<ValueId>> tries{group};
    if (group.size() > 1)
      for (ValueId v : group) tries.push_back({v});
    for (const auto& reshapes : tries)
      if (const auto cone = coneOf(graph, readers, reshapes); cone && raise(graph, *cone) == Changed::yes)
        return Changed::yes;
  }
  return Changed::no;
}

Result<Changed> RaiseReshape::run(Graph& graph) const {
  Changed changed = Changed::no;
  while (raiseOne(graph) == Changed::yes) changed = Changed::yes;
  return changed;
}

}  // namespace tokamak
