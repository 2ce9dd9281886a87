#include "fusion/cost.h"

#include <set>

namespace tokamak {

double likely(const Dim& dim, const DimBindings& hints) {
  if (auto c = dim.constant()) return static_cast<double>(*c);
  std::set<std::string, std::less<>> symbols;
  dim.collectSymbols(symbols);
  DimBindings bindings;
  for (const auto& symbol : symbols) {
    auto it = hints.find(symbol);
    bindings[symbol] = it == hints.end() ? 1024 : it->second;
  }
  const auto value = dim.eval(bindings);
  return value ? static_cast<double>(*value) : 1024.0;
}

std::optional<int64_t> rowsOfMatrix(const Graph& graph, ValueId product) {
  const Node& node = graph.node(product);
  auto* op = std::get_if<MatMul>(&node.op);
  if (!op || op->transposeA || !op->transposeB) return std::nullopt;
  const bool shared = graph.type(node.operands[1]).rank() == 2;
  int64_t rows = 1;
  for (size_t i = shared ? 0 : node.type.rank() - 2; i + 1 < node.type.rank(); ++i) {
    const auto extent = node.type.shape[i].constant();
    if (!extent) return std::nullopt;
    rows *= *extent;
  }
  return rows;
}

bool isFewRows(const Graph& graph, ValueId product) {
  const auto rows = rowsOfMatrix(graph, product);
  if (!rows) return false;
  ValueId matrix = graph.node(product).operands[1];
  while (std::holds_alternative<Reshape>(graph.node(matrix).op)) matrix = graph.node(matrix).operands[0];
  // Beyond these the arithmetic outweighs the read; of halves that can be packed once, sooner.
  const bool packsOnce = std::holds_alternative<Constant>(graph.node(matrix).op);
  const int64_t most = packsOnce && isHalf(graph.type(product).dtype) ? 4 : 8;
  return *rows >= 1 && *rows <= most;
}

bool isNarrowRow(const Graph& graph, ValueId product) {
  constexpr int64_t kNarrow = 128;
  const Node& node = graph.node(product);
  auto* op = std::get_if<MatMul>(&node.op);
  if (!op || op->transposeA || op->transposeB || graph.type(node.operands[1]).rank() < 3) return false;
  const Shape& shape = node.type.shape;
  const auto columns = shape.back().constant();
  return shape[shape.size() - 2].is(1) && columns && *columns <= kNarrow;
}

}  // namespace tokamak
