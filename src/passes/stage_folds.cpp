#include "passes/stage_folds.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "passes/free_reshape.h"

namespace tokamak {

namespace {

constexpr int64_t kLeastRow = 256, kLeastRows = 256;

/// Which values as large as each other are computed from one another, folds aside.
class Families {
 public:
  explicit Families(const Graph& graph) : parent_(graph.size()) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
    for (size_t i = 0; i < graph.size(); ++i) {
      const Node& node = graph.node(ValueId(i));
      if (!isElementwise(node.op) && !std::holds_alternative<Reshape>(node.op)) continue;
      for (ValueId operand : node.operands)
        if (graph.type(operand).elements() == node.type.elements()) parent_[rootOf(i)] = rootOf(operand.index);
    }
  }
  size_t rootOf(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

 private:
  std::vector<size_t> parent_;
};

struct Fold {
  ValueId value;
  int64_t elements = 1, row = 1;  // of what is folded; of its innermost axes that are
  bool onlyRow = true;            // folds no other axes
};

/// How a fold goes over the axes of its operand; nothing where that is not to be taken apart.
std::optional<Fold> foldOf(const Graph& graph, ValueId v) {
  const Node& node = graph.node(v);
  const auto* op = std::get_if<Reduce>(&node.op);
  const bool sums = op && (op->kind == ReduceKind::sum || op->kind == ReduceKind::mean);
  if (!sums || (node.type.dtype != DType::f32 && node.type.dtype != DType::f64)) return std::nullopt;
  const TensorType& operand = graph.type(node.operands[0]);
  if (operand.dtype != node.type.dtype) return std::nullopt;
  Fold out{v};
  bool inner = true;
  for (size_t i = operand.shape.size(); i-- > 0;) {
    const auto extent = operand.shape[i].constant();
    if (!extent || *extent == 0) return std::nullopt;
    out.elements *= *extent;
    const bool folded = std::find(op->axes.begin(), op->axes.end(), static_cast<Axis>(i)) != op->axes.end();
    if (folded && inner) out.row *= *extent;
    if (folded && !inner && *extent > 1) out.onlyRow = false;
    if (!folded && *extent > 1) inner = false;
  }
  return out;
}

/// Whether one of the folds needs another.
bool anyNeedsAnother(const Graph& graph, const std::vector<Fold>& folds) {
  std::vector<bool> after(graph.size(), false), member(graph.size(), false);
  for (const Fold& fold : folds) member[fold.value.index] = true;
  for (size_t i = 0; i < graph.size(); ++i) {
    for (ValueId operand : graph.node(ValueId(i)).operands)
      after[i] = after[i] || after[operand.index] || member[operand.index];
    if (after[i] && member[i]) return true;
  }
  return false;
}

/// By fold that is to go in two stages, the length of the rows that it folds first.
std::map<uint32_t, int64_t> planStages(const Graph& graph) {
  Families families(graph);
  std::map<std::pair<size_t, int64_t>, std::vector<Fold>> groups;
  for (size_t i = 0; i < graph.size(); ++i)
    if (const auto fold = foldOf(graph, ValueId(i)); fold && fold->row >= kLeastRow)
      groups[{families.rootOf(graph.node(fold->value).operands[0].index), fold->elements}].push_back(*fold);
  std::map<uint32_t, int64_t> out;
  for (const auto& [family, folds] : groups) {
    const auto least =
        std::min_element(folds.begin(), folds.end(), [](const Fold& a, const Fold& b) { return a.row < b.row; });
    const bool alike = std::all_of(folds.begin(), folds.end(),
                                   [&](const Fold& f) { return f.row == least->row && f.onlyRow == least->onlyRow; });
    if (alike || least->elements / least->row < kLeastRows || anyNeedsAnother(graph, folds)) continue;
    for (const Fold& fold : folds)
      if (fold.row > least->row || !fold.onlyRow) out[fold.value.index] = least->row;
  }
  return out;
}

/// The innermost axes that have just so many elements; empty where they end within one.
std::vector<Axis> innermost(const Shape& shape, int64_t elements) {
  std::vector<Axis> out;
  for (size_t i = shape.size(); i-- > 0 && elements > 1;) {
    const int64_t extent = *shape[i].constant();
    if (elements % extent != 0) return {};
    elements /= extent;
    out.insert(out.begin(), static_cast<Axis>(i));
  }
  return out;
}

/// The fold of `x` over its innermost axes, in the shape that those would leave. Looks through a reshape of the others,
/// so that rows of one tensor look alike.
ValueId foldRows(Rewriter& rewriter, const Reduce& op, ValueId x, const std::vector<Axis>& axes) {
  const Shape above = rewriter.type(x).shape;
  const Node& node = rewriter.target().node(x);
  const auto plain = [&] { return rewriter.reduce(op.kind, x, axes); };
  if (!std::holds_alternative<Reshape>(node.op)) return plain();
  const ValueId from = node.operands[0];
  const auto below = axesBelow(rewriter.type(from).shape, above, axes);
  if (below.empty()) return plain();
  Shape kept;
  for (Axis axis : otherAxes(above.size(), axes)) kept.push_back(above[static_cast<size_t>(axis)]);
  return rewriter.reshape(rewriter.reduce(op.kind, from, below), kept);
}

}  // namespace

Result<Changed> StageFolds::run(Graph& graph) const {
  const auto stages = planStages(graph);
  if (stages.empty()) return Changed::no;
  Rewriter rewriter(graph);
  for (ValueId v : rewriter.values()) {
    const Node node = rewriter.visit(v);
    const auto stage = stages.find(v.index);
    const auto axes =
        stage == stages.end() ? std::vector<Axis>{} : innermost(rewriter.type(node.operands[0]).shape, stage->second);
    if (axes.empty()) {
      rewriter.keep(v);
      continue;
    }
    const auto& op = std::get<Reduce>(node.op);
    std::vector<Axis> rest;
    for (Axis axis : op.axes)
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) rest.push_back(axis);
    rewriter.replace(v, rewriter.reduce(op.kind, foldRows(rewriter, op, node.operands[0], axes), rest));
  }
  return rewriter.finish();
}

}  // namespace tokamak
