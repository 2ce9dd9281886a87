#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "graph/interp/ops.h"
#include "support/philox.h"
#include "support/scalar_op.h"

namespace tokamak::interp {

Result<Value> apply(const Softmax& op, const Call& call) {
  const Value& x = call.operand(0);
  Value out = call.result();
  const Extents strides = rowMajorStrides(x.shape);
  Extents lines = x.shape;
  const int64_t count = std::exchange(lines[op.axis], 1), step = strides[op.axis];
  forEachOffset(lines, strides, 0, [&](int64_t, int64_t base) {
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t i = 0; i < count; ++i) top = evalBinary(BinaryKind::max, top, x.floats[base + i * step]);
    for (int64_t i = 0; i < count; ++i) sum += std::exp(x.floats[base + i * step] - top);
    for (int64_t i = 0; i < count; ++i) {
      const double shifted = x.floats[base + i * step] - top;
      out.floats[base + i * step] = op.log ? shifted - std::log(sum) : std::exp(shifted) / sum;
    }
  });
  return out;
}

namespace {

double activate(const Activation& op, double x) {
  const auto clamp06 = [](double y) { return evalBinary(BinaryKind::min, evalBinary(BinaryKind::max, y, 0), 6); };
  switch (op.kind) {
    case ActivationKind::relu: return evalBinary(BinaryKind::max, x, 0);
    case ActivationKind::leaky_relu: return x > 0 ? x : x * op.alpha;
    case ActivationKind::elu: return x > 0 ? x : op.alpha * std::expm1(x);
    case ActivationKind::gelu: return x * 0.5 * std::erfc(-x * std::numbers::sqrt2 / 2);
    case ActivationKind::gelu_tanh: {
      const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      return 0.5 * x * (1 + std::tanh(inner));
    }
    case ActivationKind::silu: return x * evalUnary(UnaryKind::sigmoid, x);
    case ActivationKind::softplus:
      return x * op.alpha > op.threshold ? x : std::log1p(std::exp(x * op.alpha)) / op.alpha;
    case ActivationKind::mish: return x * std::tanh(x > 20 ? x : std::log1p(std::exp(x)));
    case ActivationKind::hardswish: return x * clamp06(x + 3) / 6;
    case ActivationKind::hardsigmoid: return clamp06(x + 3) / 6;
  }
  return x;
}

/// How a normalisation divides x: into groups of elements that share their statistics, with the parameter (of weight,
/// bias, mean, variance) of an element at paramIndex(flat index).
struct Normalisation {
  int64_t groups = 1, size = 1;              // statistics groups, elements in each
  int64_t outer = 1, middle = 1, inner = 1;  // x as [outer, middle, inner]
  bool overMiddle = false;                   // a group is one `middle` over outer and inner; else a run of elements
  int64_t paramStep = 1, paramCount = 1;     // parameter of flat index i: (i / paramStep) % paramCount

  Normalisation(const Norm& op, const Extents& shape) {
    const int64_t total = countOf(shape);
    if (op.kind == NormKind::layer || op.kind == NormKind::rms) {
      size = countOf(Extents(shape.end() - op.axes, shape.end()));
      groups = countOf(Extents(shape.begin(), shape.end() - op.axes));
      paramCount = size;
      return;
    }
    inner = countOf(Extents(shape.begin() + 2, shape.end()));
    outer = shape[0], middle = shape[1];
    paramStep = inner, paramCount = middle;
    overMiddle = op.kind == NormKind::batch;
    groups = overMiddle ? middle : op.kind == NormKind::group ? outer * op.groups : outer * middle;
    size = groups == 0 ? 0 : total / groups;
  }

  /// Flat index of element `j` of group `g`.
  int64_t at(int64_t g, int64_t j) const {
    return overMiddle ? (j / inner * middle + g) * inner + j % inner : g * size + j;
  }
  int64_t param(int64_t flat) const { return flat / paramStep % paramCount; }
};

struct Statistics {
  double mean = 0, variance = 0;
};

Statistics statisticsOf(const Norm& op, const Normalisation& n, const std::vector<double>& x, int64_t group) {
  double sum = 0, squares = 0;
  const auto count = static_cast<double>(n.size);
  if (op.kind != NormKind::rms)
    for (int64_t j = 0; j < n.size; ++j) sum += x[n.at(group, j)];
  for (int64_t j = 0; j < n.size; ++j) {
    const double deviation = x[n.at(group, j)] - sum / count;
    squares += deviation * deviation;
  }
  return {op.kind == NormKind::rms ? 0 : sum / count, squares / count};
}

}  // namespace

Result<Value> apply(const Activation& op, const Call& call) {
  const Value& x = call.operand(0);
  Value out = call.result();
  for (int64_t i = 0; i < out.size(); ++i) {
    if (isFloat(x.dtype))
      out.floats[i] = activate(op, x.floats[i]);
    else
      out.ints[i] = std::max<int64_t>(x.ints[i], 0);  // relu is the only one on integers
  }
  return out;
}

Result<Value> apply(const Norm& op, const Call& call) {
  const Value& x = call.operand(0);
  Value out = call.result();
  const size_t affineCount = op.affine ? (op.kind == NormKind::rms ? 1 : 2) : 0;
  const bool given = op.kind == NormKind::batch && call.operands.size() == 1 + affineCount + 2;
  const Value* weight = affineCount > 0 ? call.operands[1] : nullptr;
  const Value* bias = affineCount > 1 ? call.operands[2] : nullptr;
  if (op.kind == NormKind::group && x.shape[1] % op.groups != 0)
    return call.error("T0322", fmt::format("{} channels do not split into {} groups", x.shape[1], op.groups),
                      "give a multiple of groups");
  const Normalisation n(op, x.shape);
  for (int64_t group = 0; group < n.groups; ++group) {
    Statistics statistics =
        given ? Statistics{call.operand(1 + affineCount).number(group), call.operand(2 + affineCount).number(group)}
              : statisticsOf(op, n, x.floats, group);
    statistics.mean *= 1 + call.meanError;
    for (int64_t j = 0; j < n.size; ++j) {
      const int64_t at = n.at(group, j);
      double y = (x.floats[at] - statistics.mean) / std::sqrt(statistics.variance + op.eps);
      if (weight) y *= weight->floats[n.param(at)];
      if (bias) y += bias->floats[n.param(at)];
      out.floats[at] = y;
    }
  }
  return out;
}

Result<Value> apply(const CrossEntropy& op, const Call& call) {
  const Value &logits = call.operand(0), &target = call.operand(1);
  Value out = call.result();
  const int64_t rows = logits.shape[0], classes = logits.shape[1];
  double sum = 0;
  int64_t counted = 0;
  for (int64_t row = 0; row < rows; ++row) {
    if (target.ints[row] == op.ignore) continue;  // its loss is 0
    const double* x = logits.floats.data() + row * classes;
    double top = -std::numeric_limits<double>::infinity(), exps = 0, total = 0;
    for (int64_t c = 0; c < classes; ++c) top = evalBinary(BinaryKind::max, top, x[c]);
    for (int64_t c = 0; c < classes; ++c) exps += std::exp(x[c] - top);
    const double norm = top + std::log(exps);
    for (int64_t c = 0; c < classes; ++c) total += norm - x[c];
    const int64_t index = target.ints[row] < 0 ? target.ints[row] + classes : target.ints[row];
    if (classes == 0)
      return call.error("T0321", "cross-entropy over no classes", "give the logits a class axis above 0");
    double loss = norm - x[std::clamp<int64_t>(index, 0, classes - 1)];
    if (op.smoothing != 0) loss = (1 - op.smoothing) * loss + op.smoothing * total / static_cast<double>(classes);
    sum += loss;
    ++counted;
    if (op.reduction == LossReduction::none) out.floats[row] = loss;
  }
  if (op.reduction == LossReduction::sum) out.floats[0] = sum;
  if (op.reduction == LossReduction::mean) out.floats[0] = sum / static_cast<double>(counted);
  return out;
}

Result<Value> apply(const Dropout& op, const Call& call) {
  const Value& x = call.operand(0);
  const int64_t seed = call.operand(1).ints[0], offset = call.operand(2).ints[0];
  Value out = call.result();
  const double scale = op.p < 1 ? 1 / (1 - op.p) : 0;
  for (int64_t i = 0; i < out.size(); ++i) {
    const double uniform = (philoxWord(seed, offset, i) >> 8) * 0x1p-24;
    out.floats[i] = x.floats[i] * (uniform >= op.p ? scale : 0);
  }
  return out;
}

}  // namespace tokamak::interp
