#include <fmt/format.h>

#include <algorithm>

#include "graph/infer/site.h"

namespace tokamak::infer {

namespace {

/// Whether a number, if it is known, is so small that sums of a few do not wrap.
bool isCountable(const Dim& d) {
  constexpr int64_t kMost = int64_t{1} << 60;
  const auto n = d.constant();
  return !n || (*n >= -kMost && *n <= kMost);
}

/// The same of `extent` steps.
bool isCountable(const Dim& extent, int64_t stride) {
  const auto n = extent.constant();
  int64_t all = 0;
  return !n || (!__builtin_mul_overflow(*n, stride, &all) && isCountable(all));
}

}  // namespace

Result<TensorType> inferOp(const Broadcast& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(1));
  TK_TRY(const TensorType declared, site.needDeclared());
  const TensorType& x = site.operand(0);
  if (op.axes.size() != x.rank())
    return site.fail("T0204",
                     fmt::format("axes has {} entries but {} has rank {}", op.axes.size(), site.show(0), x.rank()),
                     "axes says for each axis of the operand which axis of the result it becomes");
  TK_RETURN_IF_ERROR(site.expectAxes(op.axes, declared.rank()));
  for (size_t i = 0; i < x.rank(); ++i) {
    const Dim& target = declared.shape[static_cast<size_t>(op.axes[i])];
    if (x.shape[i] == target || x.shape[i].is(1)) continue;
    return site.fail("T0203",
                     fmt::format("axis {} of {} has extent {} and cannot become axis {} of {}", i, site.show(0),
                                 x.shape[i].str(), op.axes[i], declared.str()),
                     "extents that are broadcast are 1 or equal; check axes");
  }
  return TensorType{x.dtype, declared.shape};
}

Result<TensorType> inferOp(const Reshape&, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(1));
  TK_TRY(const TensorType declared, site.needDeclared());
  const Dim from = site.operand(0).elements(), to = declared.elements();
  if (surelyDiffer(from, to))
    return site.fail(
        "T0208", fmt::format("{} has {} elements but {} has {}", site.show(0), from.str(), declared.str(), to.str()),
        "a reshape keeps the number of elements; to repeat elements use broadcast, to drop some use slice");
  return TensorType{site.operand(0).dtype, declared.shape};
}

Result<TensorType> inferOp(const Transpose& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(1));
  const TensorType& x = site.operand(0);
  std::vector<Axis> sorted = op.perm;
  std::sort(sorted.begin(), sorted.end());
  bool permutes = sorted.size() == x.rank();
  for (size_t i = 0; i < sorted.size(); ++i) permutes = permutes && sorted[i] == static_cast<Axis>(i);
  if (!permutes)
    return site.fail(
        "T0204",
        fmt::format("perm = [{}] does not permute the {} axes of {}", fmt::join(op.perm, ", "), x.rank(), site.show(0)),
        "list every axis once, in the order of the result");
  TensorType type{x.dtype, {}};
  for (Axis axis : op.perm) type.shape.push_back(x.shape[static_cast<size_t>(axis)]);
  return type;
}

Result<TensorType> inferOp(const Slice& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(1));
  TK_TRY(const TensorType declared, site.needDeclared());
  const TensorType& x = site.operand(0);
  if (op.start.size() != x.rank() || declared.rank() != x.rank())
    return site.fail("T0204",
                     fmt::format("start has {} entries and {} rank {}, but {} has rank {}", op.start.size(),
                                 declared.str(), declared.rank(), site.show(0), x.rank()),
                     "write one start for every axis; to drop an axis add a reshape");
  TK_RETURN_IF_ERROR(site.expectList("stride", op.stride, x.rank(), 1));
  for (size_t i = 0; i < x.rank(); ++i) {
    const Dim &start = op.start[i], &extent = declared.shape[i], stride(op.stride[i]);
    // One past the last element read; an empty slice may start anywhere up to the end.
    const Dim end = extent.is(0) ? start : start + (extent - Dim(1)) * stride + Dim(1);
    if (isSurelyNegative(start) || isSurelyNegative(x.shape[i] - end) || !isCountable(start) ||
        !isCountable(extent, op.stride[i]))
      return site.fail(
          "T0209",
          fmt::format("along axis {} it reads {} elements from {} in steps of {}, beyond {}", i, extent.str(),
                      start.str(), stride.str(), site.show(0)),
          fmt::format("elements {} to {} exist; shorten the result or move start", 0, (x.shape[i] - Dim(1)).str()));
  }
  return TensorType{x.dtype, declared.shape};
}

Result<TensorType> inferOp(const Pad& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(1));
  const TensorType& x = site.operand(0);
  if (op.low.size() != x.rank() || op.high.size() != x.rank())
    return site.fail("T0204",
                     fmt::format("low has {} and high {} entries, but {} has rank {}", op.low.size(), op.high.size(),
                                 site.show(0), x.rank()),
                     "write one entry for every axis");
  TK_RETURN_IF_ERROR(expectFits(site, op.value, x.dtype));
  TensorType type{x.dtype, {}};
  for (size_t i = 0; i < x.rank(); ++i) {
    Dim kept = x.shape[i];
    for (const Dim& amount : {op.low[i], op.high[i]})
      if (isSurelyNegative(amount)) kept = kept + amount;
    if (isSurelyNegative(kept))
      return site.fail("T0209", fmt::format("along axis {} it cuts more elements than {} has", i, site.show(0)),
                       "cut less");
    if (!isCountable(op.low[i]) || !isCountable(op.high[i]))
      return site.fail("T0209", fmt::format("along axis {} it pads by more than can be counted", i), "pad less");
    type.shape.push_back(x.shape[i] + op.low[i] + op.high[i]);
  }
  return type;
}

Result<TensorType> inferOp(const Concat& op, const Site& site) {
  if (site.count() == 0) return site.fail("T0201", "it has no operands", "give one or more");
  TK_RETURN_IF_ERROR(site.expectOneDtype());
  TensorType type = site.operand(0);
  TK_RETURN_IF_ERROR(site.expectAxis(op.axis, type.rank()));
  const auto axis = static_cast<size_t>(op.axis);
  for (size_t i = 1; i < site.count(); ++i) {
    Shape expected = site.operand(i).shape;
    if (expected.size() == type.rank()) expected[axis] = site.operand(0).shape[axis];
    if (expected != site.operand(0).shape)
      return site.fail(
          "T0203", fmt::format("{} and {} differ elsewhere than along axis {}", site.show(0), site.show(i), op.axis),
          "all extents but the one along axis are equal; reshape or slice first");
    type.shape[axis] = type.shape[axis] + site.operand(i).shape[axis];
  }
  return type;
}

Result<TensorType> inferOp(const Flip& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(1));
  TK_RETURN_IF_ERROR(site.expectAxes(op.axes, site.operand(0).rank()));
  return site.operand(0);
}

}  // namespace tokamak::infer
