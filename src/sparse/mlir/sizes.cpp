#include "sparse/mlir/sizes.h"

#include <fmt/format.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/IR/Matchers.h>

namespace tokamak::sparse {

int Sizes::fresh(int64_t size) {
  parents_.push_back(static_cast<int>(parents_.size()));
  sizes_.push_back(size);
  return parents_.back();
}

int Sizes::find(int id) {
  while (parents_[static_cast<size_t>(id)] != id) {
    int& parent = parents_[static_cast<size_t>(id)];
    id = parent = parents_[static_cast<size_t>(parent)];
  }
  return id;
}

int Sizes::ofAxis(mlir::Value tensor, int64_t axis) {
  const auto [known, added] = axes_.try_emplace({tensor, axis}, 0);
  if (added) {
    const auto type = mlir::cast<mlir::RankedTensorType>(tensor.getType());
    const int id =
        fresh(type.isDynamicDim(static_cast<unsigned>(axis)) ? -1 : type.getDimSize(static_cast<unsigned>(axis)));
    return axes_[{tensor, axis}] = id;
  }
  return known->second;
}

int Sizes::ofLoop(mlir::Operation* op, unsigned loop) {
  const auto known = loops_.find({op, loop});
  if (known != loops_.end()) return known->second;
  const int id = fresh(-1);
  return loops_[{op, loop}] = id;
}

Result<> Sizes::tie(mlir::Operation* op, int a, int b) {
  a = find(a);
  b = find(b);
  if (a == b) return Unit{};
  if (a > b) std::swap(a, b);
  int64_t& kept = sizes_[static_cast<size_t>(a)];
  const int64_t other = sizes_[static_cast<size_t>(b)];
  if (kept >= 0 && other >= 0 && kept != other)
    return module_.fail(
        "T0856", op,
        fmt::format("{} meets sizes {} and {} along one axis", op->getName().getStringRef().str(), kept, other),
        "mend the shapes before this operation");
  kept = std::max(kept, other);
  parents_[static_cast<size_t>(b)] = a;
  return Unit{};
}

std::optional<std::pair<mlir::Value, int64_t>> Sizes::axisAsked(mlir::Value value) {
  while (mlir::Operation* cast = value.getDefiningOp()) {
    if (cast->getName().getStringRef() != "arith.index_cast") break;
    value = cast->getOperand(0);
  }
  auto dim = value.getDefiningOp<mlir::tensor::DimOp>();
  if (!dim || !mlir::isa<mlir::RankedTensorType>(dim.getSource().getType())) return std::nullopt;
  const std::optional<int64_t> axis = dim.getConstantIndex();
  const auto type = mlir::cast<mlir::RankedTensorType>(dim.getSource().getType());
  if (!axis || *axis < 0 || *axis >= type.getRank()) return std::nullopt;
  return std::pair<mlir::Value, int64_t>(dim.getSource(), *axis);
}

Result<> Sizes::collect(mlir::Block& body) {
  for (mlir::Operation& op : body) TK_RETURN_IF_ERROR(visit(&op));
  return Unit{};
}

Result<> Sizes::visit(mlir::Operation* op) {
  const llvm::StringRef name = op->getName().getStringRef();
  if (mlir::isa<mlir::linalg::LinalgOp>(op)) return tieLinalg(op);
  if (name == "tensor.empty" || name == "bufferization.alloc_tensor" || name == "tensor.splat") return tieEmpty(op);
  if (name == "tensor.cast" || name == "sparse_tensor.convert" || name == "sparse_tensor.reorder_coo" ||
      name == "linalg.softmax")
    return tieWhole(op, op->getOperand(0), op->getResult(0));
  if (name == "tensor.expand_shape" || name == "tensor.collapse_shape") return tieReshape(op);
  if (name == "tensor.extract_slice" || name == "tensor.insert_slice" || name == "tensor.pad" ||
      name == "tensor.concat")
    return tieSlice(op);
  if (name == "cf.assert") return tieAssert(op);
  return Unit{};
}

Result<> Sizes::tieWhole(mlir::Operation* op, mlir::Value a, mlir::Value b) {
  const auto type = mlir::dyn_cast<mlir::RankedTensorType>(a.getType());
  const auto other = mlir::dyn_cast<mlir::RankedTensorType>(b.getType());
  if (!type || !other || type.getRank() != other.getRank()) return Unit{};
  for (int64_t i = 0; i < type.getRank(); ++i) TK_RETURN_IF_ERROR(tie(op, ofAxis(a, i), ofAxis(b, i)));
  return Unit{};
}

Result<> Sizes::tieLinalg(mlir::Operation* op) {
  auto linalg = mlir::cast<mlir::linalg::LinalgOp>(op);
  for (mlir::OpOperand& operand : op->getOpOperands()) {
    if (!mlir::isa<mlir::RankedTensorType>(operand.get().getType())) continue;
    const mlir::AffineMap map = linalg.getMatchingIndexingMap(&operand);
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      if (const auto loop = mlir::dyn_cast<mlir::AffineDimExpr>(map.getResult(i)))
        TK_RETURN_IF_ERROR(tie(op, ofAxis(operand.get(), i), ofLoop(op, loop.getPosition())));
  }
  for (unsigned r = 0; r < op->getNumResults(); ++r)
    TK_RETURN_IF_ERROR(tieWhole(op, linalg.getDpsInits()[r], op->getResult(r)));
  return Unit{};
}

Result<> Sizes::tieEmpty(mlir::Operation* op) {
  const auto type = mlir::dyn_cast<mlir::RankedTensorType>(op->getResult(0).getType());
  if (!type) return Unit{};
  unsigned next = op->getName().getStringRef() == "tensor.splat" ? 1 : 0;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (!type.isDynamicDim(static_cast<unsigned>(i)) || next >= op->getNumOperands()) continue;
    const mlir::Value size = op->getOperand(next++);
    llvm::APInt known;
    if (mlir::matchPattern(size, mlir::m_ConstantInt(&known)))
      TK_RETURN_IF_ERROR(tie(op, ofAxis(op->getResult(0), i), fresh(known.getSExtValue())));
    else if (const auto asked = axisAsked(size))
      TK_RETURN_IF_ERROR(tie(op, ofAxis(op->getResult(0), i), ofAxis(asked->first, asked->second)));
  }
  return Unit{};
}

/// Torch-MLIR asserts that sizes match before it uses them.
Result<> Sizes::tieAssert(mlir::Operation* op) {
  mlir::Operation* compare = op->getOperand(0).getDefiningOp();
  if (!compare || compare->getName().getStringRef() != "arith.cmpi") return Unit{};
  const auto predicate = compare->getAttrOfType<mlir::IntegerAttr>("predicate");
  const auto a = axisAsked(compare->getOperand(0)), b = axisAsked(compare->getOperand(1));
  if (!predicate || predicate.getInt() != 0 || !a || !b) return Unit{};
  return tie(op, ofAxis(a->first, a->second), ofAxis(b->first, b->second));
}

std::vector<std::vector<int64_t>> reassociationOf(mlir::Operation* op) {
  std::vector<std::vector<int64_t>> out;
  const auto groups = op->getAttrOfType<mlir::ArrayAttr>("reassociation");
  for (const mlir::Attribute group : groups) {
    out.emplace_back();
    for (const mlir::Attribute axis : mlir::cast<mlir::ArrayAttr>(group))
      out.back().push_back(mlir::cast<mlir::IntegerAttr>(axis).getInt());
  }
  return out;
}

/// Of axes that are put together, those that are not of size 1 tell the size where there is one such.
Result<> Sizes::tieReshape(mlir::Operation* op) {
  const bool expands = op->getName().getStringRef() == "tensor.expand_shape";
  const mlir::Value longer = expands ? op->getResult(0) : op->getOperand(0);
  const mlir::Value shorter = expands ? op->getOperand(0) : op->getResult(0);
  const auto type = mlir::cast<mlir::RankedTensorType>(longer.getType());
  const std::vector<std::vector<int64_t>> groups = reassociationOf(op);
  for (size_t g = 0; g < groups.size(); ++g) {
    std::vector<int64_t> wide;
    for (const int64_t axis : groups[g])
      if (type.getDimSize(static_cast<unsigned>(axis)) != 1) wide.push_back(axis);
    if (wide.size() == 1)
      TK_RETURN_IF_ERROR(tie(op, ofAxis(longer, wide[0]), ofAxis(shorter, static_cast<int64_t>(g))));
  }
  return Unit{};
}

}  // namespace tokamak::sparse
