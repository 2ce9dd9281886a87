#include "graph/graph.h"

#include <fmt/format.h>

namespace tokamak {

ValueId Graph::addInput(std::string inputName, TensorType type, Location location) {
  names_.insert(inputName);
  nodes_.push_back(Node{Input{}, {}, std::move(type), std::move(inputName), std::move(location)});
  inputs_.push_back(ValueId(nodes_.size() - 1));
  return inputs_.back();
}

ValueId Graph::append(Node node) {
  if (!node.name.empty() && !names_.insert(node.name).second) {
    int suffix = 1;
    while (!names_.insert(fmt::format("{}_{}", node.name, suffix)).second) ++suffix;
    node.name += fmt::format("_{}", suffix);
  }
  nodes_.push_back(std::move(node));
  return ValueId(nodes_.size() - 1);
}

std::vector<std::vector<ValueId>> Graph::users() const {
  std::vector<std::vector<ValueId>> users(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i)
    for (ValueId operand : nodes_[i].operands) users[operand.index].push_back(ValueId(i));
  return users;
}

std::string Graph::label(ValueId v) const {
  if (!v.valid() || v.index >= nodes_.size()) return "%<none>";
  if (!nodes_[v.index].name.empty()) return "%" + nodes_[v.index].name;
  size_t number = 0;
  for (size_t i = 0; i < v.index; ++i) number += nodes_[i].name.empty();
  return fmt::format("%{}", number);
}

bool Graph::operator==(const Graph& other) const {
  if (name != other.name || inputs_ != other.inputs_ || outputs_ != other.outputs_ || size() != other.size())
    return false;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node &a = nodes_[i], &b = other.nodes_[i];
    if (a.name != b.name || a.type != b.type || a.operands != b.operands || a.op != b.op) return false;
  }
  return true;
}

}  // namespace tokamak
