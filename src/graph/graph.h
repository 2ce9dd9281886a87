#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "graph/op.h"
#include "graph/type.h"
#include "support/ids.h"
#include "support/result.h"

namespace tokamak {

struct ValueTag;
using ValueId = Id<ValueTag>;

/// One op and its one result.
struct Node {
  Op op;
  std::vector<ValueId> operands;
  TensorType type;
  std::string name;   // as written, without %; empty for numbered results
  Location location;  // where the text had it; not part of equality
};

/// A tensor program in SSA form. Nodes stand in an order in which operands come before their users; a value is named by
/// the position of its node. Inputs are nodes as well, first and in the order of the header.
///
///   graph @gelu_bias(%x: f32[M, 64], %b: f32[64]) {
///     %0 = broadcast %b {axes = [1]} : f32[M, 64]
///     %1 = add %x, %0 : f32[M, 64]
///     %2 = gelu %1 : f32[M, 64]
///     return %2
///   }
class Graph {
 public:
  std::string name = "main";

  ValueId addInput(std::string inputName, TensorType type, Location location = {});
  /// Appends without checking; `verify` or the Builder check. A name that is taken gets a suffix: `mean` becomes
  /// `mean_1`.
  ValueId append(Node node);
  void addOutput(ValueId value) { outputs_.push_back(value); }
  void setOutputs(std::vector<ValueId> values) { outputs_ = std::move(values); }

  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  size_t size() const { return nodes_.size(); }
  const Node& node(ValueId v) const { return nodes_[v.index]; }
  Node& node(ValueId v) { return nodes_[v.index]; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const TensorType& type(ValueId v) const { return nodes_[v.index].type; }

  /// For each value the nodes that read it, once a read, in order.
  std::vector<std::vector<ValueId>> users() const;
  /// `%3` or `%mean`: the name the printer gives the value.
  std::string label(ValueId v) const;

  /// Same name, nodes, inputs and outputs; locations do not count.
  bool operator==(const Graph& other) const;

 private:
  std::unordered_set<std::string> names_;  // of the nodes, to keep them apart
  std::vector<Node> nodes_;
  std::vector<ValueId> inputs_, outputs_;
};

template <class T>
const T* opAs(const Graph& graph, ValueId v) {
  return std::get_if<T>(&graph.node(v).op);
}

/// Text form; `parse(print(g)) == g`.
std::string print(const Graph& graph);
/// Parses one graph; the diagnostic has line and column. The result is verified.
Result<Graph> parseGraph(std::string_view text, std::string_view file = {});

/// One op from its mnemonic and the text between its braces; `declared` is the result's type where attributes need it.
///
///   TK_TRY(Op op, parseOp("reduce", "kind = sum, axes = [1]"));
Result<Op> parseOp(std::string_view mnemonic, std::string_view attributes, const TensorType& declared = {});

/// Operand count, dtypes, shapes, attributes of every node; operands before users; at least one output.
Result<> verify(const Graph& graph);

/// The result type of `op` on operands of these types. Ops that carry their shape or dtype in the result (cast, full,
/// iota, broadcast, reshape, slice, random, ...) take what they need from `declared`.
Result<TensorType> inferType(const Op& op, const std::vector<TensorType>& operands,
                             const TensorType* declared = nullptr);

}  // namespace tokamak
