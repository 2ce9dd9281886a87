#include "fusion/fold_pairs.h"

#include <algorithm>

namespace tokamak {

static std::vector<Axis> axesBut(size_t rank, const std::vector<Axis>& folded) {
  std::vector<Axis> out;
  for (size_t i = 0; i < rank; ++i)
    if (std::find(folded.begin(), folded.end(), Axis(i)) == folded.end()) out.push_back(Axis(i));
  return out;
}

std::optional<FoldPair> pairEndingIn(const Graph& graph, ValueId v) {
  const auto* fold = opAs<Reduce>(graph, v);
  if (!fold) return std::nullopt;
  const Node& operand = graph.node(graph.node(v).operands[0]);
  if ((fold->kind != ReduceKind::sum && fold->kind != ReduceKind::mean) || !isFloat(operand.type.dtype))
    return std::nullopt;
  FoldPair pair{FoldPair::Kind::moments, {}, v, {}};
  ReduceKind wanted = ReduceKind::mean;
  if (auto* op = std::get_if<Unary>(&operand.op); op && op->kind == UnaryKind::exp && fold->kind == ReduceKind::sum)
    pair.kind = FoldPair::Kind::exponentials, wanted = ReduceKind::max;
  else if (auto* square = std::get_if<Binary>(&operand.op);
           !square || square->kind != BinaryKind::mul || operand.operands[0] != operand.operands[1])
    return std::nullopt;
  const Node& minus = graph.node(operand.operands[0]);
  auto* op = std::get_if<Binary>(&minus.op);
  if (!op || op->kind != BinaryKind::sub) return std::nullopt;
  const Node& spread = graph.node(minus.operands[1]);
  auto* broadcast = std::get_if<Broadcast>(&spread.op);
  if (!broadcast || broadcast->axes != axesBut(minus.type.rank(), fold->axes)) return std::nullopt;
  pair.first = spread.operands[0];
  pair.x = minus.operands[0];
  const auto* first = opAs<Reduce>(graph, pair.first);
  if (!first || first->kind != wanted || first->axes != fold->axes || graph.node(pair.first).operands[0] != pair.x)
    return std::nullopt;
  return pair;
}

}  // namespace tokamak
