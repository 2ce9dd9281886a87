#include <fmt/format.h>

#include <cmath>

#include "graph/infer/site.h"

namespace tokamak::infer {

namespace {

DType pooledType(PoolKind kind, DType t) { return kind == PoolKind::argmax ? DType::i64 : t; }

/// The last `spatial` axes are 1 to 3 and exist.
Result<> expectSpatial(const Site& site, int64_t spatial) {
  if (spatial < 1 || spatial > 3 || spatial > static_cast<int64_t>(site.operand(0).rank()))
    return site.fail("T0204", fmt::format("it works on the last {} axes of {}", spatial, site.show(0)),
                     "1 to 3 axes, within rank");
  return Unit{};
}

/// The declared type with everything but the spatial extents checked against the operand.
Result<TensorType> expectResampled(const Site& site, int64_t spatial, DType dtype) {
  TK_RETURN_IF_ERROR(expectSpatial(site, spatial));
  TK_TRY(const TensorType declared, site.needDeclared());
  const TensorType& x = site.operand(0);
  const size_t kept = x.rank() - static_cast<size_t>(spatial);
  if (declared.rank() != x.rank())
    return site.fail("T0205", fmt::format("the result {} and {} have different ranks", declared.str(), site.show(0)),
                     "keep the rank");
  TensorType type{dtype, declared.shape};
  for (size_t i = 0; i < x.rank(); ++i) {
    if (i < kept)
      type.shape[i] = x.shape[i];
    else if (x.shape[i].is(0) || declared.shape[i].is(0))
      return site.fail("T0203",
                       fmt::format("axis {} is empty in {} or in the result {}", i, site.show(0), declared.str()),
                       "spatial extents are at least 1");
  }
  return type;
}

}  // namespace

Result<TensorType> inferOp(const Pool& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(1));
  const size_t k = op.window.size();
  TK_RETURN_IF_ERROR(expectSpatial(site, static_cast<int64_t>(k)));
  TK_RETURN_IF_ERROR(site.expectList("window", op.window, k, 1));
  TK_RETURN_IF_ERROR(site.expectList("stride", op.stride, k, 1));
  TK_RETURN_IF_ERROR(site.expectList("low", op.low, k, 0));
  TK_RETURN_IF_ERROR(site.expectList("high", op.high, k, 0));
  TK_RETURN_IF_ERROR(site.expectList("dilation", op.dilation, k, 1));
  if (!op.extraHigh.empty()) TK_RETURN_IF_ERROR(site.expectList("extra_high", op.extraHigh, k, 0));
  if (op.divisor < 0)
    return site.fail("T0204", fmt::format("divisor is {}", op.divisor), "use 0 for the size of the window");
  if (op.kind == PoolKind::avg) TK_RETURN_IF_ERROR(site.expectFloat(0));
  const TensorType& x = site.operand(0);
  TensorType type{pooledType(op.kind, x.dtype), x.shape};
  for (size_t i = 0; i < k; ++i) {
    const Dim& n = x.shape[x.rank() - k + i];
    if (op.low[i] > op.dilation[i] * (op.window[i] - 1))
      return site.fail("T0204",
                       fmt::format("low = {} leaves a window of {} wholly in the padding", op.low[i], op.window[i]),
                       "pad by less than the window");
    if (!op.extraHigh.empty() && op.extraHigh[i] > op.high[i])
      return site.fail("T0204", fmt::format("extra_high = {} exceeds high = {}", op.extraHigh[i], op.high[i]),
                       "it is a part of high");
    TK_TRY(Dim extent, windowExtent(site, n, op.window[i], op.stride[i], op.low[i], op.high[i], op.dilation[i]));
    if (isSurelyNegative(n - Dim(1) - (extent - Dim(1)) * Dim(op.stride[i]) + Dim(op.low[i])))
      return site.fail("T0204",
                       fmt::format("high = {} leaves a window of {} wholly in the padding", op.high[i], op.window[i]),
                       "pad by less than the window");
    type.shape[x.rank() - k + i] = std::move(extent);
  }
  return type;
}

Result<TensorType> inferOp(const AdaptivePool& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(1));
  if (op.kind == PoolKind::avg) TK_RETURN_IF_ERROR(site.expectFloat(0));
  return expectResampled(site, op.spatial, pooledType(op.kind, site.operand(0).dtype));
}

Result<TensorType> inferOp(const Resize& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(1));
  if (op.kind == ResizeKind::linear) TK_RETURN_IF_ERROR(site.expectFloat(0));
  if (op.kind == ResizeKind::nearest && op.alignCorners)
    return site.fail("T0204", "align_corners does not go with nearest", "use kind = linear, or drop it");
  if (!op.scale.empty() && op.scale.size() != static_cast<size_t>(op.spatial))
    return site.fail("T0204", fmt::format("scale has {} entries for {} axes", op.scale.size(), op.spatial),
                     "write one for each axis, or none");
  for (double s : op.scale)
    if (!std::isfinite(s) || s < 0)
      return site.fail("T0204", fmt::format("scale holds {}", s),
                       "scale factors are positive; 0 means the ratio of extents");
  return expectResampled(site, op.spatial, site.operand(0).dtype);
}

}  // namespace tokamak::infer
