#include <fmt/format.h>

#include <algorithm>

#include "graph/infer/site.h"

namespace tokamak::infer {

namespace {

DType sumType(DType t) { return isFloat(t) ? t : DType::i64; }

DType reducedType(ReduceKind kind, DType t) {
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::prod: return sumType(t);
    case ReduceKind::any:
    case ReduceKind::all: return DType::boolean;
    case ReduceKind::argmax:
    case ReduceKind::argmin: return DType::i64;
    case ReduceKind::max:
    case ReduceKind::min:
    case ReduceKind::mean:
    case ReduceKind::var: return t;
  }
  return t;
}

/// Folds that have no value for nothing.
bool wantsElements(const Reduce& op) {
  const bool extreme = op.kind == ReduceKind::max || op.kind == ReduceKind::min;
  return (extreme && !op.identity) || op.kind == ReduceKind::argmax || op.kind == ReduceKind::argmin;
}

}  // namespace

Result<TensorType> inferOp(const Reduce& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(1));
  const TensorType& x = site.operand(0);
  if (op.axes.empty()) return site.fail("T0204", "no axes are given", "list the axes to fold, such as axes = [0]");
  TK_RETURN_IF_ERROR(site.expectAxes(op.axes, x.rank()));
  if (op.kind == ReduceKind::mean || op.kind == ReduceKind::var) TK_RETURN_IF_ERROR(site.expectFloat(0));
  if (op.correction < 0 || (op.correction != 0 && op.kind != ReduceKind::var))
    return site.fail("T0204", fmt::format("correction = {} does not go with {}", op.correction, nameOf(op.kind)),
                     "a correction of 0 or more goes with var");
  if (op.identity && op.kind != ReduceKind::max && op.kind != ReduceKind::min)
    return site.fail("T0204", fmt::format("identity does not go with {}", nameOf(op.kind)),
                     "it says what max and min of nothing are");
  TensorType type{reducedType(op.kind, x.dtype), {}};
  for (size_t axis = 0; axis < x.rank(); ++axis) {
    const bool folded = std::find(op.axes.begin(), op.axes.end(), static_cast<Axis>(axis)) != op.axes.end();
    if (!folded)
      type.shape.push_back(x.shape[axis]);
    else if (wantsElements(op) && x.shape[axis].is(0))
      return site.fail("T0203", fmt::format("{} of axis {} of {} folds nothing", nameOf(op.kind), axis, site.show(0)),
                       "fold an axis that is not empty");
  }
  return type;
}

Result<TensorType> inferOp(const Scan& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(1));
  const TensorType& x = site.operand(0);
  TK_RETURN_IF_ERROR(site.expectAxis(op.axis, x.rank()));
  switch (op.kind) {
    case ScanKind::sum:
    case ScanKind::prod: return TensorType{sumType(x.dtype), x.shape};
    case ScanKind::argmax:
    case ScanKind::argmin: return TensorType{DType::i64, x.shape};
    case ScanKind::max:
    case ScanKind::min: return x;
  }
  return x;
}

}  // namespace tokamak::infer
