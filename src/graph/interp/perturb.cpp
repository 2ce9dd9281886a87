#include "graph/interp/perturb.h"

#include <algorithm>
#include <cmath>

#include "support/hash.h"

namespace tokamak::interp {

namespace {

/// What an op does to its operands' numbers.
enum class Arithmetic {
  none,        // moves, picks or makes them exactly
  pointwise,   // errs relative to its result
  activation,  // errs relative to its operand: near its zeros terms cancel
  folding,     // adds or multiplies many terms: errs relative to them
  composite    // folds in several steps: an exact result may come out inexact
};

template <class T>
Arithmetic arithmeticOf(const T&) {
  return Arithmetic::none;
}
template <class T>
  requires(std::is_same_v<T, Attention> || std::is_same_v<T, Softmax> || std::is_same_v<T, Norm> ||
           std::is_same_v<T, CrossEntropy>)
Arithmetic arithmeticOf(const T&) {
  return Arithmetic::composite;
}

Arithmetic arithmeticOf(const MatMul&) { return Arithmetic::folding; }
Arithmetic arithmeticOf(const Conv&) { return Arithmetic::folding; }
Arithmetic arithmeticOf(const Random& op) {
  return op.kind == RandomKind::normal ? Arithmetic::pointwise : Arithmetic::none;
}
Arithmetic arithmeticOf(const Unary& op) {
  const bool exact = !isFloatOnly(op.kind);
  return exact ? Arithmetic::none : Arithmetic::pointwise;
}
Arithmetic arithmeticOf(const Binary&) { return Arithmetic::pointwise; }
Arithmetic arithmeticOf(const Dropout&) { return Arithmetic::pointwise; }
Arithmetic arithmeticOf(const Activation& op) {
  return op.kind == ActivationKind::relu ? Arithmetic::none : Arithmetic::activation;
}
Arithmetic arithmeticOf(const Reduce& op) {
  switch (op.kind) {
    case ReduceKind::sum:
    case ReduceKind::prod: return Arithmetic::folding;
    case ReduceKind::mean:
    case ReduceKind::var: return Arithmetic::composite;
    default: return Arithmetic::none;
  }
}
Arithmetic arithmeticOf(const Scan& op) {
  return op.kind == ScanKind::sum || op.kind == ScanKind::prod ? Arithmetic::folding : Arithmetic::none;
}
Arithmetic arithmeticOf(const Scatter& op) {
  return op.kind == ScatterKind::add || op.kind == ScatterKind::mul ? Arithmetic::folding : Arithmetic::none;
}
Arithmetic arithmeticOf(const Pool& op) { return op.kind == PoolKind::avg ? Arithmetic::composite : Arithmetic::none; }
Arithmetic arithmeticOf(const AdaptivePool& op) {
  return op.kind == PoolKind::avg ? Arithmetic::composite : Arithmetic::none;
}
Arithmetic arithmeticOf(const Resize& op) {
  return op.kind == ResizeKind::linear ? Arithmetic::composite : Arithmetic::none;
}

/// Numbers that f32 holds come out exactly whatever the order of operations, for all that random tests care.
bool isExact(double element) { return static_cast<float>(element) == element || !std::isfinite(element); }

}  // namespace

Perturbation::Perturbation(uint64_t seed) : seed_(seed), state_(hashMix(0x70657274, seed)) {}

double Perturbation::error(double epsilon) {
  if (seed_ < 2) return seed_ == 0 ? epsilon : -epsilon;
  state_ = hashMix(state_, 0x9e37);
  return epsilon * (static_cast<double>(state_ >> 11) * 0x1p-52 - 1);
}

void Perturbation::disturbOperands(const Call& call, Value& result, double epsilon, bool evenExact) {
  std::vector<Value> operands;
  operands.reserve(call.operands.size());
  Call again = call;
  again.meanError = error(epsilon);
  for (const Value* operand : call.operands) operands.push_back(*operand);
  for (size_t i = 0; i < operands.size(); ++i) {
    for (double& element : operands[i].floats) element *= 1 + error(epsilon);
    again.operands[i] = &operands[i];
  }
  const auto disturbed = applyOp(again);
  for (size_t i = 0; disturbed && i < result.floats.size(); ++i)
    if (evenExact || !isExact(result.floats[i])) result.floats[i] = disturbed->floats[i];
}

void Perturbation::disturb(const Call& call, Value& result) {
  const Arithmetic arithmetic =
      std::visit([](const auto& op) { return arithmeticOf(op); }, call.graph.node(call.id).op);
  if (!isFloat(result.dtype) || arithmetic == Arithmetic::none) return;
  const double epsilon = result.dtype == DType::f64 ? 0x1p-50 : 0x1p-22;
  const bool evenExact = arithmetic == Arithmetic::composite || arithmetic == Arithmetic::activation;

  if (arithmetic == Arithmetic::folding || arithmetic == Arithmetic::composite)
    disturbOperands(call, result, epsilon, evenExact);
  if (arithmetic == Arithmetic::activation)
    for (size_t i = 0; i < result.floats.size(); ++i)
      result.floats[i] += error(epsilon) * std::abs(call.operand(0).floats[i]);
  for (double& element : result.floats)
    if (evenExact || !isExact(element)) element *= 1 + error(epsilon);

  // A half that one kernel hands to another through memory is rounded, one that stays in a kernel is not.
  const bool stored = isHalf(result.dtype) && seed_ >= 2 && error(1) > 0;
  for (double& element : result.floats) element = roundTo(stored ? result.dtype : computeType(result.dtype), element);
}

}  // namespace tokamak::interp
