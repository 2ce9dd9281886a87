#include <fmt/format.h>

#include <cmath>

#include "graph/infer/site.h"

namespace tokamak::infer {

Result<TensorType> inferOp(const Softmax& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(1));
  TK_RETURN_IF_ERROR(site.expectFloat(0));
  TK_RETURN_IF_ERROR(site.expectAxis(op.axis, site.operand(0).rank()));
  return site.operand(0);
}

namespace {

/// The shape of weight and bias.
Result<Shape> parameterShape(const Norm& op, const Site& site) {
  const TensorType& x = site.operand(0);
  if (op.kind == NormKind::layer || op.kind == NormKind::rms) {
    if (op.axes < 1 || op.axes > static_cast<int64_t>(x.rank()))
      return site.fail("T0204", fmt::format("it normalises the last {} axes of {}", op.axes, site.show(0)),
                       "axes is from 1 to the rank");
    return Shape(x.shape.end() - op.axes, x.shape.end());
  }
  TK_RETURN_IF_ERROR(site.expectRank(0, op.kind == NormKind::instance ? 3 : 2, "the axes are [N, C, spatial...]"));
  if (op.kind == NormKind::group) {
    if (op.groups < 1 || (x.shape[1].isConst() && !Dim::mod(x.shape[1], Dim(op.groups)).is(0)))
      return site.fail(
          "T0204",
          fmt::format("the {} channels of {} do not split into {} groups", x.shape[1].str(), site.show(0), op.groups),
          "groups divides the number of channels");
  }
  return Shape{x.shape[1]};
}

std::string operandsOf(const Norm& op) {
  std::string out = !op.affine ? "x" : op.kind == NormKind::rms ? "x, weight" : "x, weight, bias";
  return op.kind == NormKind::batch ? out + " and maybe mean, variance" : out;
}

}  // namespace

Result<TensorType> inferOp(const Norm& op, const Site& site) {
  const size_t plain = !op.affine ? 1 : op.kind == NormKind::rms ? 2 : 3;
  if (site.count() != plain && !(op.kind == NormKind::batch && site.count() == plain + 2))
    return site.fail("T0201",
                     fmt::format("{} operands given; kind = {} with affine = {} takes {}", site.count(),
                                 nameOf(op.kind), op.affine, operandsOf(op)),
                     op.affine ? "give them all, or drop affine" : "set affine = true to give weight and bias");
  if (!std::isfinite(op.eps) || op.eps < 0)
    return site.fail("T0204", fmt::format("eps is {}", op.eps), "use a small positive number");
  TK_RETURN_IF_ERROR(site.expectFloat(0));
  TK_RETURN_IF_ERROR(site.expectOneDtype());
  TK_TRY(const Shape parameters, parameterShape(op, site));
  for (size_t i = 1; i < site.count(); ++i)
    TK_RETURN_IF_ERROR(site.expectShape(i, parameters, "that of what is normalised"));
  return site.operand(0);
}

Result<TensorType> inferOp(const Activation& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(1));
  if (op.kind != ActivationKind::relu || site.operand(0).dtype == DType::boolean)
    TK_RETURN_IF_ERROR(site.expectFloat(0));
  if (std::isnan(op.alpha) || std::isnan(op.threshold))
    return site.fail("T0204", "alpha or threshold is nan", "use a number");
  return site.operand(0);
}

Result<TensorType> inferOp(const CrossEntropy& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(2));
  TK_RETURN_IF_ERROR(site.expectFloat(0));
  TK_RETURN_IF_ERROR(site.expectDtype(1, DType::i64));
  const TensorType& logits = site.operand(0);
  if (logits.rank() != 2)
    return site.fail("T0203", fmt::format("{} should be [N, C]", site.show(0)),
                     "insert a reshape to rank 2, with the classes last");
  TK_RETURN_IF_ERROR(site.expectShape(1, {logits.shape[0]}, "one class for each row"));
  if (!(op.smoothing >= 0 && op.smoothing <= 1))
    return site.fail("T0204", fmt::format("smoothing is {}", op.smoothing), "use a number from 0 to 1");
  return TensorType{logits.dtype, op.reduction == LossReduction::none ? Shape{logits.shape[0]} : Shape{}};
}

Result<TensorType> inferOp(const Dropout& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(3));
  TK_RETURN_IF_ERROR(site.expectFloat(0));
  for (size_t i = 1; i < 3; ++i) {
    TK_RETURN_IF_ERROR(site.expectDtype(i, DType::i64));
    TK_RETURN_IF_ERROR(site.expectShape(i, {}, "being one number"));
  }
  if (!(op.p >= 0 && op.p < 1))
    return site.fail("T0204", fmt::format("p is {}", op.p),
                     "use a number from 0 up to, not including, 1; to drop everything write full {value = 0.0}");
  return site.operand(0);
}

}  // namespace tokamak::infer
