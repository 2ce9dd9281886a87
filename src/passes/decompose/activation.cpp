#include <numbers>

#include "passes/decompose/expand.h"

namespace tokamak {

namespace {

ValueId clampedRamp(Emitter& emit, ValueId x) {
  const ValueId shifted = emit.binary(BinaryKind::add, x, 3.0);
  return emit.binary(BinaryKind::min, emit.binary(BinaryKind::max, shifted, 0.0), 6.0);
}

ValueId gelu(Emitter& emit, ValueId x) {
  const ValueId erf = emit.unary(UnaryKind::erf, emit.binary(BinaryKind::mul, x, 1.0 / std::numbers::sqrt2));
  return emit.binary(BinaryKind::mul, emit.binary(BinaryKind::mul, x, 0.5), emit.binary(BinaryKind::add, erf, 1.0));
}

ValueId geluTanh(Emitter& emit, ValueId x) {
  const ValueId cube = emit.binary(BinaryKind::mul, emit.binary(BinaryKind::mul, x, x), x);
  const ValueId inner = emit.binary(BinaryKind::add, x, emit.binary(BinaryKind::mul, cube, 0.044715));
  const double factor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const ValueId tanh = emit.unary(UnaryKind::tanh, emit.binary(BinaryKind::mul, inner, factor));
  return emit.binary(BinaryKind::mul, emit.binary(BinaryKind::mul, x, 0.5), emit.binary(BinaryKind::add, tanh, 1.0));
}

/// log(1 + exp(beta x)) / beta, and x itself once beta x is past the threshold.
ValueId softplus(Emitter& emit, ValueId x, double beta, double threshold) {
  const ValueId scaled = beta == 1.0 ? x : emit.binary(BinaryKind::mul, x, beta);
  ValueId soft = emit.unary(UnaryKind::log1p, emit.unary(UnaryKind::exp, scaled));
  if (beta != 1.0) soft = emit.binary(BinaryKind::div, soft, beta);
  return emit.select(emit.binary(BinaryKind::gt, scaled, threshold), x, soft);
}

ValueId elu(Emitter& emit, ValueId x, double alpha) {
  const ValueId negative = emit.binary(BinaryKind::mul, emit.unary(UnaryKind::expm1, x), alpha);
  return emit.select(emit.binary(BinaryKind::gt, x, 0.0), x, negative);
}

ValueId leakyRelu(Emitter& emit, ValueId x, double slope) {
  const ValueId negative = emit.binary(BinaryKind::mul, x, slope);
  return emit.select(emit.binary(BinaryKind::gt, x, 0.0), x, negative);
}

ValueId mish(Emitter& emit, ValueId x) {
  const ValueId soft = emit.unary(UnaryKind::log1p, emit.unary(UnaryKind::exp, x));
  return emit.binary(BinaryKind::mul, x, emit.unary(UnaryKind::tanh, soft));
}

ValueId onWide(Emitter& emit, ValueId x, const Activation& op) {
  switch (op.kind) {
    case ActivationKind::relu: return emit.binary(BinaryKind::max, x, 0.0);
    case ActivationKind::leaky_relu: return leakyRelu(emit, x, op.alpha);
    case ActivationKind::elu: return elu(emit, x, op.alpha);
    case ActivationKind::gelu: return gelu(emit, x);
    case ActivationKind::gelu_tanh: return geluTanh(emit, x);
    case ActivationKind::silu: return emit.binary(BinaryKind::mul, x, emit.unary(UnaryKind::sigmoid, x));
    case ActivationKind::softplus: return softplus(emit, x, op.alpha, op.threshold);
    case ActivationKind::mish: return mish(emit, x);
    case ActivationKind::hardswish:
      return emit.binary(BinaryKind::div, emit.binary(BinaryKind::mul, x, clampedRamp(emit, x)), 6.0);
    case ActivationKind::hardsigmoid: return emit.binary(BinaryKind::div, clampedRamp(emit, x), 6.0);
  }
  TK_CHECK(false, "unknown activation");
}

}  // namespace

ValueId expandActivation(Emitter& emit, const Node& node, const Activation& op) {
  const ValueId x = node.operands[0];
  // A maximum is exact in every dtype, so relu needs no wider one, and integers have it too.
  if (op.kind == ActivationKind::relu) {
    const Scalar zero = isFloat(node.type.dtype) ? Scalar::of(0.0) : Scalar::of(int64_t{0});
    return emit.binary(BinaryKind::max, x, emit.full(zero, node.type.dtype, node.type.shape));
  }
  return emit.narrow(onWide(emit, emit.widen(x), op), node.type.dtype);
}

}  // namespace tokamak
