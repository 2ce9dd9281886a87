#include <cmath>

#include "fuzz/generator.h"

namespace tokamak::fuzz {

bool Generator::softmax() {
  const ValueId x = tame(anyFloat(), 30);
  if (type(x).rank() == 0) return false;
  const Axis axis = rng_.below(static_cast<int64_t>(type(x).rank()));
  const bool log = rng_.chance(0.4);
  add(Softmax{axis, log}, {x}, log ? 2 * bound(x) + 10 : 1);
  return true;
}

bool Generator::norm() {
  const ValueId x = tame(anyFloat(), 1e3);
  const TensorType t = type(x);
  if (t.rank() == 0) return false;
  Norm op;
  op.kind = static_cast<NormKind>(rng_.below(t.rank() > 2 ? 5 : t.rank() > 1 ? 4 : 2));
  op.affine = rng_.chance(0.6);
  op.eps = rng_.chance(0.7) ? 1e-5 : 1e-3;
  Shape parameters;
  if (op.kind == NormKind::layer || op.kind == NormKind::rms) {
    op.axes = rng_.between(1, static_cast<int64_t>(t.rank()));
    parameters = Shape(t.shape.end() - op.axes, t.shape.end());
  } else {
    parameters = {t.shape[1]};
  }
  if (op.kind == NormKind::group) {
    const auto channels = t.shape[1].constant();
    if (channels && *channels > 0)
      for (int64_t groups : {rng_.between(1, 4), *channels})
        if (*channels % groups == 0) op.groups = groups;
  }
  std::vector<ValueId> operands = {x};
  const TensorType parameter{t.dtype, parameters};
  if (op.affine) operands.push_back(tame(like(parameter), 30));
  if (op.affine && op.kind != NormKind::rms) operands.push_back(tame(like(parameter), 30));
  double scale = 30;
  if (op.kind == NormKind::batch && rng_.chance(0.5)) {
    operands.push_back(tame(like(parameter), 30));
    operands.push_back(positive(tame(like(parameter), 30), 0.25));
    scale = 2 * (bound(x) + 30);
  }
  add(op, operands, (op.affine ? 30 : 1) * scale + 30);
  return true;
}

bool Generator::activation() {
  const auto kind =
      static_cast<ActivationKind>(rng_.below(static_cast<int64_t>(EnumNames<ActivationKind>::names.size())));
  const ValueId x = kind == ActivationKind::relu && rng_.chance(0.2)
                        ? anyWhere([](const TensorType& t) { return t.dtype != DType::boolean; }).value_or(anyFloat())
                        : tame(anyFloat(), 100);
  Activation op{kind};
  if (kind == ActivationKind::leaky_relu) op.alpha = 0.01;
  if ((kind == ActivationKind::elu || kind == ActivationKind::softplus) && rng_.chance(0.4)) op.alpha = 0.5;
  if (kind == ActivationKind::softplus && rng_.chance(0.3)) op.threshold = 2;
  add(op, {x}, bound(x) + 2);
  return true;
}

bool Generator::crossEntropy() {
  const auto found =
      anyWhere([&](const TensorType& t) { return t.rank() == 2 && isFloat(t.dtype) && least(t.shape[1]) > 0; });
  ValueId logits = found ? *found : input({floatType(), {someExtent(), 5}});
  logits = tame(logits, 30);
  const TensorType t = type(logits);
  const int64_t classes = least(t.shape[1]);
  const TensorType targets{DType::i64, {t.shape[0]}};
  const ValueId target = add(Binary{BinaryKind::rem}, {like(targets), fullInt(classes, targets)}, 100);
  CrossEntropy op;
  op.reduction = static_cast<LossReduction>(rng_.below(3));
  if (rng_.chance(0.4)) op.ignore = rng_.below(classes);
  if (rng_.chance(0.4)) op.smoothing = 0.125;
  add(op, {logits, target}, 1e4);
  return true;
}

}  // namespace tokamak::fuzz
