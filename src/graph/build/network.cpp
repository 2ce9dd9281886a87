#include <fmt/format.h>

#include "graph/builder.h"

namespace tokamak {

namespace {

void fillList(std::vector<int64_t>& list, size_t length, int64_t value) {
  if (list.empty()) list.assign(length, value);
}

/// The operand's shape with its last axes replaced.
Shape resampled(const Shape& shape, const Shape& spatial) {
  Shape out(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(std::min(spatial.size(), shape.size())));
  out.insert(out.end(), spatial.begin(), spatial.end());
  return out;
}

}  // namespace

ValueId Builder::pool(ValueId x, Pool op) {
  const size_t k = op.window.size();
  if (op.stride.empty()) op.stride = op.window;
  fillList(op.low, k, 0);
  fillList(op.high, k, 0);
  fillList(op.dilation, k, 1);
  return apply(std::move(op), {x});
}

ValueId Builder::adaptivePool(ValueId x, PoolKind kind, Shape spatial) {
  if (!usable({x})) return {};
  const TensorType declared{kind == PoolKind::argmax ? DType::i64 : type(x).dtype, resampled(type(x).shape, spatial)};
  return apply(AdaptivePool{kind, static_cast<int64_t>(spatial.size())}, {x}, &declared);
}

ValueId Builder::resize(ValueId x, Resize op, Shape spatial) {
  if (!usable({x})) return {};
  op.spatial = static_cast<int64_t>(spatial.size());
  const TensorType declared{type(x).dtype, resampled(type(x).shape, spatial)};
  return apply(std::move(op), {x}, &declared);
}

ValueId Builder::matmul(ValueId a, ValueId b, bool transposeA, bool transposeB, ValueId bias) {
  std::vector<ValueId> operands = {a, b};
  if (bias.valid()) operands.push_back(bias);
  if (!usable(operands)) return {};
  const bool row = type(a).rank() == 1, column = type(b).rank() == 1;
  if (row) a = reshape(a, transposeA ? Shape{-1, 1} : Shape{1, -1});
  if (column) b = reshape(b, transposeB ? Shape{1, -1} : Shape{-1, 1});
  const DType dtype = promote(type(a).dtype, type(b).dtype);
  if (type(b).rank() > 2 && type(a).rank() >= 2) {
    // Batch axes broadcast as those of any op; the matrices stay as they are.
    const auto batchOf = [&](ValueId v) { return Shape(type(v).shape.begin(), type(v).shape.end() - 2); };
    Shape common = batchOf(a);
    const Shape other = batchOf(b);
    if (other.size() > common.size()) common.insert(common.begin(), other.size() - common.size(), Dim(1));
    for (size_t i = 1; i <= other.size(); ++i)
      if (common[common.size() - i].is(1)) common[common.size() - i] = other[other.size() - i];
    const auto widen = [&](ValueId v) {
      Shape shape = common;
      shape.insert(shape.end(), type(v).shape.end() - 2, type(v).shape.end());
      return broadcastTo(v, std::move(shape));
    };
    a = widen(a);
    b = widen(b);
  }
  operands = {cast(a, dtype), cast(b, dtype)};
  if (bias.valid()) operands.push_back(cast(bias, dtype));
  ValueId result = apply(MatMul{transposeA, transposeB}, std::move(operands));
  if (error_ || (!row && !column)) return result;
  Shape shape = type(result).shape;
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return reshape(result, std::move(shape));
}

ValueId Builder::conv(ValueId x, ValueId w, Conv op, ValueId bias) {
  if (!usable({x, w})) return {};
  const size_t k = type(x).rank() > 2 ? type(x).rank() - 2 : 0;
  fillList(op.stride, k, 1);
  fillList(op.low, k, 0);
  fillList(op.high, k, 0);
  fillList(op.dilation, k, 1);
  return bias.valid() ? apply(std::move(op), {x, w, bias}) : apply(std::move(op), {x, w});
}

ValueId Builder::attention(ValueId q, ValueId k, ValueId v, Attention op, ValueId mask) {
  return mask.valid() ? apply(op, {q, k, v, mask}) : apply(op, {q, k, v});
}

ValueId Builder::softmax(ValueId x, Axis axis, bool log) {
  if (!usable({x})) return {};
  const auto front = frontAxis(axis, type(x).rank());
  return front ? apply(Softmax{*front, log}, {x}) : ValueId{};
}

ValueId Builder::norm(Norm op, std::vector<ValueId> operands) { return apply(op, std::move(operands)); }

ValueId Builder::layerNorm(ValueId x, ValueId weight, ValueId bias, double eps) {
  if (!usable({x})) return {};
  Norm op{.kind = NormKind::layer, .eps = eps};
  if (!weight.valid() && !bias.valid()) return norm(op, {x});
  if (!usable({weight.valid() ? weight : bias})) return {};
  const TensorType given = type(weight.valid() ? weight : bias);
  op.affine = true;
  op.axes = static_cast<int64_t>(given.rank());
  if (!weight.valid()) weight = full(Scalar::of(1.0), given.dtype, given.shape);
  if (!bias.valid()) bias = full(Scalar::of(0.0), given.dtype, given.shape);
  return norm(op, {x, weight, bias});
}

ValueId Builder::rmsNorm(ValueId x, ValueId weight, double eps) {
  Norm op{.kind = NormKind::rms, .eps = eps, .affine = weight.valid()};
  if (!weight.valid()) return norm(op, {x});
  if (!usable({x, weight})) return {};
  op.axes = static_cast<int64_t>(type(weight).rank());
  return norm(op, {x, weight});
}

ValueId Builder::activation(ActivationKind kind, ValueId x) {
  return activation(Activation{.kind = kind, .alpha = kind == ActivationKind::leaky_relu ? 0.01 : 1.0}, x);
}

ValueId Builder::activation(Activation op, ValueId x) { return apply(op, {x}); }

ValueId Builder::crossEntropy(ValueId logits, ValueId target, CrossEntropy op) { return apply(op, {logits, target}); }

ValueId Builder::dropout(ValueId x, ValueId seed, ValueId offset, double p) {
  return apply(Dropout{p}, {x, seed, offset});
}

}  // namespace tokamak
