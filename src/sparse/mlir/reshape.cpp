#include <fmt/format.h>

#include "sparse/mlir/translate.h"

namespace tokamak::sparse {

/// Axes of size 1 come and go as a view does; axes that are really put together or taken apart are picked by their
/// coordinates: T[i, j] = sum(p: A[p] * pick[i, j, p]) with p = i * J + j.
Result<> Translator::reshape(mlir::Operation* op) {
  const bool expands = op->getName().getStringRef() == "tensor.expand_shape";
  const mlir::Value from = op->getOperand(0), to = op->getResult(0);
  const mlir::Value longer = expands ? to : from;
  const auto wideType = mlir::cast<mlir::RankedTensorType>(longer.getType());
  const std::vector<std::vector<int64_t>> groups = reassociationOf(op);
  const View source = viewOf(from);
  std::vector<int> seenAs(static_cast<size_t>(wideType.getRank()), View::kUnseen);  // longer axis -> shorter axis
  bool plain = true;
  for (size_t g = 0; g < groups.size(); ++g) {
    size_t wide = 0;
    for (const int64_t axis : groups[g])
      if (wideType.getDimSize(static_cast<unsigned>(axis)) != 1) {
        seenAs[static_cast<size_t>(axis)] = static_cast<int>(g);
        ++wide;
      }
    if (wide == 0) seenAs[static_cast<size_t>(groups[g].front())] = static_cast<int>(g);
    plain = plain && wide <= 1;
  }
  if (source.everywhere || plain) {
    View view = source;
    for (int& axis : view.axes) {
      if (axis == View::kUnseen) continue;
      if (!expands) {
        axis = seenAs[static_cast<size_t>(axis)];
        continue;
      }
      for (size_t l = 0; l < seenAs.size(); ++l)
        if (seenAs[l] == axis) {
          axis = static_cast<int>(l);
          break;
        }
    }
    views_[to] = view;
    return Unit{};
  }
  Loops loops{.op = op};
  const std::vector<VarId> vars = axisVars(to, loops);
  mlir::MLIRContext* context = op->getContext();
  const auto loop = [&](size_t axis) { return mlir::getAffineDimExpr(static_cast<unsigned>(axis), context); };
  llvm::SmallVector<mlir::AffineExpr> at(
      static_cast<size_t>(mlir::cast<mlir::RankedTensorType>(from.getType()).getRank()));
  for (size_t g = 0; g < groups.size(); ++g) {
    int64_t inner = 1;  // entries below an axis of the group
    mlir::AffineExpr flat = mlir::getAffineConstantExpr(0, context);
    for (size_t k = groups[g].size(); k-- > 0;) {
      const auto axis = static_cast<size_t>(groups[g][k]);
      const int64_t size = sizes_.sizeOf(sizes_.ofAxis(longer, groups[g][k]));
      if (size < 0 && k > 0)
        return fail(
            "T0856", op,
            fmt::format("axes of a size that is not known are put together by {}", op->getName().getStringRef().str()),
            "give all but the outermost of them a size");
      if (expands)
        flat = flat + loop(axis) * inner;
      else
        at[axis] = k == 0 ? loop(g).floorDiv(inner) : loop(g).floorDiv(inner) % size;
      inner *= std::max<int64_t>(1, size);
    }
    if (expands) at[g] = flat;
  }
  const mlir::AffineMap map = mlir::AffineMap::get(static_cast<unsigned>(vars.size()), 0, at, context);
  TK_TRY(const ExprId value, access(op, from, map, loops));
  return define(op, to, vars, value);
}

}  // namespace tokamak::sparse
