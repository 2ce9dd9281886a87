#pragma once

#include <concepts>
#include <vector>

#include "passes/emitter.h"
#include "passes/pass.h"

namespace tokamak {

/// Rebuilds a graph in one walk: every node of the source is either copied, with its operands replaced, or replaced by
/// nodes that a rule emits. Values of the source and of the graph being built are numbered apart; `map` leads from the
/// one to the other. Nodes that nothing reads any more are left behind, names of replaced values go to what replaces
/// them, and a walk in which no rule fires leaves the source untouched.
///
///   Result<Changed> run(Graph& graph) const {
///     Rewriter rewriter(graph);
///     for (ValueId v : rewriter.values()) {
///       const Node node = rewriter.visit(v);     // operands are those of the new graph
///       ...
///       if (simplified) rewriter.replace(v, simplified); else rewriter.keep(v);
///     }
///     return rewriter.finish();
///   }
class Rewriter : public Emitter {
 public:
  explicit Rewriter(Graph& source);
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;

  const Graph& source() const { return source_; }
  /// The new graph so far.
  const Graph& target() const { return target_; }

  /// Values of the source that are not inputs, in order.
  std::vector<ValueId> values() const;
  /// Makes `v` the current node: what is emitted from here on replaces it. Its node, with mapped operands.
  Node visit(ValueId v);
  ValueId map(ValueId old) const { return map_[old.index]; }

  /// The current node stays as it is.
  ValueId keep(ValueId v);
  /// The current node becomes `fresh`, a value of the new graph.
  void replace(ValueId v, ValueId fresh);
  /// Says that something changed though every node was kept: for rules that edit what they keep.
  void markChanged() { changed_ = Changed::yes; }

  /// Gives the source its new nodes if anything changed.
  Changed finish();

 private:
  Graph& source_;
  Graph target_;
  std::vector<ValueId> map_;
  size_t firstFresh_ = 0;
  Changed changed_ = Changed::no;
};

/// A copy of `graph` without the nodes that no output needs; inputs stay.
Graph withoutDeadNodes(const Graph& graph);

/// Walks `graph` with `rule`, which is given the rewriter and each node and returns the value that replaces it, or an
/// invalid one to keep it.
template <class Rule>
  requires std::invocable<Rule&, Rewriter&, const Node&>
Changed rewriteNodes(Graph& graph, Rule&& rule) {
  Rewriter rewriter(graph);
  for (ValueId v : rewriter.values()) {
    const Node node = rewriter.visit(v);
    const ValueId fresh = rule(rewriter, node);
    if (fresh.valid())
      rewriter.replace(v, fresh);
    else
      rewriter.keep(v);
  }
  return rewriter.finish();
}

}  // namespace tokamak
