#include <fmt/format.h>

#include <cmath>

#include "graph/infer/site.h"

namespace tokamak::infer {

Result<TensorType> inferOp(const MatMul& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(2, 3));
  TK_RETURN_IF_ERROR(site.expectOneDtype());
  const TensorType &a = site.operand(0), &b = site.operand(1);
  if (a.dtype == DType::boolean)
    return site.fail("T0202", "it is not defined on bool",
                     fmt::format("insert a cast of {} and {} to f32", site.label(0), site.label(1)));
  for (size_t i = 0; i < 2; ++i) TK_RETURN_IF_ERROR(site.expectRank(i, 2, "matrices have rank 2 or more"));
  const size_t ra = a.rank(), rb = b.rank();
  const Dim &m = a.shape[op.transposeA ? ra - 1 : ra - 2], &ka = a.shape[op.transposeA ? ra - 2 : ra - 1];
  const Dim &kb = b.shape[op.transposeB ? rb - 1 : rb - 2], &n = b.shape[op.transposeB ? rb - 2 : rb - 1];
  if (ka != kb)
    return site.fail(
        "T0203", fmt::format("{} folds {} elements but {} folds {}", site.show(0), ka.str(), site.show(1), kb.str()),
        "the inner extents are equal; check transpose_a and transpose_b");
  Shape batch(a.shape.begin(), a.shape.end() - 2);
  if (rb != 2 && batch != Shape(b.shape.begin(), b.shape.end() - 2))
    return site.fail("T0203", fmt::format("{} and {} have different batch axes", site.show(0), site.show(1)),
                     "batch axes are equal, or absent in the second operand; insert a broadcast");
  if (site.count() == 3) TK_RETURN_IF_ERROR(site.expectShape(2, {n}, "one number for each column"));
  batch.push_back(m);
  batch.push_back(n);
  return TensorType{op.wide ? computeType(a.dtype) : a.dtype, std::move(batch)};
}

Result<TensorType> inferOp(const Conv& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(2, 3));
  TK_RETURN_IF_ERROR(site.expectFloat(0));
  TK_RETURN_IF_ERROR(site.expectOneDtype());
  const TensorType &x = site.operand(0), &w = site.operand(1);
  if (x.rank() < 3 || x.rank() > 5 || w.rank() != x.rank())
    return site.fail("T0203", fmt::format("{} and {} should have one rank from 3 to 5", site.show(0), site.show(1)),
                     "x is [N, C, spatial...] and w is [O, C / groups, kernel...]");
  const size_t k = x.rank() - 2;
  TK_RETURN_IF_ERROR(site.expectList("stride", op.stride, k, 1));
  TK_RETURN_IF_ERROR(site.expectList("low", op.low, k, 0));
  TK_RETURN_IF_ERROR(site.expectList("high", op.high, k, 0));
  TK_RETURN_IF_ERROR(site.expectList("dilation", op.dilation, k, 1));
  TK_RETURN_IF_ERROR(site.expectList("groups", {op.groups}, 1, 1));
  const Dim& channels = x.shape[op.channelAxis(x.rank())];
  if (channels != w.shape[1] * Dim(op.groups))
    return site.fail("T0203",
                     fmt::format("{} has {} channels but {} with {} groups wants {}", site.show(0), channels.str(),
                                 site.show(1), op.groups, (w.shape[1] * Dim(op.groups)).str()),
                     "w is [O, C / groups, kernel...]");
  if (!Dim::mod(w.shape[0], Dim(op.groups)).is(0) && w.shape[0].isConst())
    return site.fail("T0203",
                     fmt::format("{} output channels do not split into {} groups", w.shape[0].str(), op.groups),
                     "use a multiple of groups");
  if (site.count() == 3) TK_RETURN_IF_ERROR(site.expectShape(2, {w.shape[0]}, "one number for each output channel"));
  TensorType type{x.dtype, x.shape};
  type.shape[op.channelAxis(x.rank())] = w.shape[0];
  for (size_t i = 0; i < k; ++i) {
    if (w.shape[2 + i].is(0))
      return site.fail("T0203", fmt::format("the kernel {} is empty", site.show(1)), "kernel extents are at least 1");
    TK_TRY(Dim extent, windowExtent(site, x.shape[op.spatialAxis() + i], w.shape[2 + i], op.stride[i], op.low[i],
                                    op.high[i], op.dilation[i]));
    type.shape[op.spatialAxis() + i] = std::move(extent);
  }
  return type;
}

namespace {

Result<> expectMask(const Site& site, const Shape& scores) {
  const TensorType& mask = site.operand(3);
  if (mask.dtype != DType::boolean) TK_RETURN_IF_ERROR(site.expectDtype(3, site.operand(0).dtype));
  bool fits = mask.rank() <= scores.size();
  for (size_t i = 1; fits && i <= mask.rank(); ++i) {
    const Dim& extent = mask.shape[mask.rank() - i];
    fits = extent.is(1) || extent == scores[scores.size() - i];
  }
  if (fits) return Unit{};
  return site.fail("T0203", fmt::format("the mask {} does not broadcast to {}", site.show(3), str(scores)),
                   "a mask has the shape of the scores, [..., L, S], or 1 where it repeats");
}

}  // namespace

Result<TensorType> inferOp(const Attention& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(3, 4));
  if (!std::isfinite(op.scale))
    return site.fail("T0204", fmt::format("scale is {}", op.scale), "use a finite number, or 0 for 1/sqrt(E)");
  const TensorType &q = site.operand(0), &k = site.operand(1), &v = site.operand(2);
  TK_RETURN_IF_ERROR(site.expectFloat(0));
  for (size_t i = 0; i < 3; ++i) {
    TK_RETURN_IF_ERROR(site.expectDtype(i, q.dtype));
    TK_RETURN_IF_ERROR(site.expectRank(i, 2, "q, k and v have rank 2 or more"));
  }
  const size_t rank = q.rank();
  Shape wantedK = q.shape, wantedV = q.shape;
  wantedK[rank - 2] = k.shape[k.rank() - 2];
  wantedV[rank - 2] = k.shape[k.rank() - 2];
  wantedV[rank - 1] = v.shape[v.rank() - 1];
  TK_RETURN_IF_ERROR(site.expectShape(1, wantedK, "with the batch axes and the features of q"));
  TK_RETURN_IF_ERROR(site.expectShape(2, wantedV, "with the batch axes of q and the length of k"));
  Shape scores = q.shape;
  scores[rank - 1] = k.shape[rank - 2];
  if (site.count() == 4) TK_RETURN_IF_ERROR(expectMask(site, scores));
  TensorType type = q;
  type.shape[rank - 1] = v.shape[rank - 1];
  return type;
}

}  // namespace tokamak::infer
