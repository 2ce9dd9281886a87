#include "passes/rewriter.h"

namespace tokamak {

Rewriter::Rewriter(Graph& source) : Emitter(target_), source_(source), map_(source.size()) {
  target_.name = source.name;
  for (ValueId input : source.inputs())
    map_[input.index] = target_.addInput(source.node(input).name, source.type(input), source.node(input).location);
}

std::vector<ValueId> Rewriter::values() const {
  std::vector<ValueId> values;
  values.reserve(source_.size());
  for (size_t i = 0; i < source_.size(); ++i)
    if (!std::holds_alternative<Input>(source_.nodes()[i].op)) values.push_back(ValueId(i));
  return values;
}

Node Rewriter::visit(ValueId v) {
  Node node = source_.node(v);
  for (ValueId& operand : node.operands) operand = map(operand);
  location_ = node.location;
  firstFresh_ = target_.size();
  return node;
}

ValueId Rewriter::keep(ValueId v) {
  Node node = source_.node(v);
  for (ValueId& operand : node.operands) operand = map(operand);
  return map_[v.index] = target_.append(std::move(node));
}

void Rewriter::replace(ValueId v, ValueId fresh) {
  map_[v.index] = fresh;
  changed_ = Changed::yes;
  if (fresh.index >= firstFresh_ && target_.node(fresh).name.empty()) target_.node(fresh).name = source_.node(v).name;
}

Changed Rewriter::finish() {
  if (changed_ == Changed::no) return Changed::no;
  std::vector<ValueId> outputs;
  for (ValueId output : source_.outputs()) outputs.push_back(map(output));
  target_.setOutputs(std::move(outputs));
  source_ = withoutDeadNodes(target_);
  return Changed::yes;
}

Graph withoutDeadNodes(const Graph& graph) {
  std::vector<char> live(graph.size(), 0);
  for (ValueId input : graph.inputs()) live[input.index] = 1;
  for (ValueId output : graph.outputs()) live[output.index] = 1;
  for (size_t i = graph.size(); i-- > 0;)
    if (live[i])
      for (ValueId operand : graph.nodes()[i].operands) live[operand.index] = 1;

  Graph compact;
  compact.name = graph.name;
  std::vector<ValueId> map(graph.size());
  for (size_t i = 0; i < graph.size(); ++i) {
    if (!live[i]) continue;
    Node node = graph.nodes()[i];
    if (std::holds_alternative<Input>(node.op)) {
      map[i] = compact.addInput(std::move(node.name), std::move(node.type), std::move(node.location));
      continue;
    }
    for (ValueId& operand : node.operands) operand = map[operand.index];
    map[i] = compact.append(std::move(node));
  }
  std::vector<ValueId> outputs;
  for (ValueId output : graph.outputs()) outputs.push_back(map[output.index]);
  compact.setOutputs(std::move(outputs));
  return compact;
}

}  // namespace tokamak
