#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/interp/ops.h"
#include "support/scalar_op.h"

namespace tokamak::interp {

namespace {

double multiplyAdd(double sum, double a, double b) { return sum + a * b; }
int64_t multiplyAdd(int64_t sum, int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

void wrapAll(Value& value) {
  for (int64_t& element : value.ints) element = wrapTo(value.dtype, element);
}

/// Extents and strides of one matrix product.
struct Product {
  int64_t batches, m, n, k;
  int64_t aBatch, aRow, aColumn;  // strides
  int64_t bBatch, bRow, bColumn;
};

Product productOf(const MatMul& op, const Value& a, const Value& b, const Extents& result) {
  const size_t ra = a.shape.size(), rb = b.shape.size();
  Product p{};
  p.m = result[result.size() - 2], p.n = result[result.size() - 1];
  p.k = a.shape[op.transposeA ? ra - 2 : ra - 1];
  p.batches = countOf(Extents(result.begin(), result.end() - 2));
  p.aBatch = p.m * p.k;
  p.bBatch = rb == 2 ? 0 : p.k * p.n;
  p.aRow = op.transposeA ? 1 : p.k, p.aColumn = op.transposeA ? p.m : 1;
  p.bRow = op.transposeB ? 1 : p.n, p.bColumn = op.transposeB ? p.k : 1;
  return p;
}

template <class T>
void multiply(const Product& p, const std::vector<T>& a, const std::vector<T>& b, const std::vector<T>* bias,
              std::vector<T>& out) {
  if (out.empty()) return;
  for (int64_t batch = 0; batch < p.batches; ++batch)
    for (int64_t i = 0; i < p.m; ++i) {
      T* row = out.data() + (batch * p.m + i) * p.n;
      for (int64_t k = 0; k < p.k; ++k) {
        const T left = a[batch * p.aBatch + i * p.aRow + k * p.aColumn];
        const T* right = b.data() + batch * p.bBatch + k * p.bRow;
        for (int64_t j = 0; j < p.n; ++j) row[j] = multiplyAdd(row[j], left, right[j * p.bColumn]);
      }
      if (bias)
        for (int64_t j = 0; j < p.n; ++j) row[j] = multiplyAdd(row[j], (*bias)[j], T{1});
    }
}

/// A convolution with its spatial axes brought to three by axes of extent 1 in front.
struct Convolution {
  int64_t n = 1, channels = 1, outputs = 1, groups = 1, perGroup = 1;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, low[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};

  Convolution(const Conv& op, const Extents& x, const Extents& w, const Extents& result)
      : n(x[0]), channels(x[op.channelAxis(x.size())]), outputs(w[0]), groups(op.groups), perGroup(w[1]) {
    const size_t k = x.size() - 2;
    for (size_t i = 0; i < k; ++i) {
      const size_t at = 3 - k + i;
      in[at] = x[op.spatialAxis() + i], out[at] = result[op.spatialAxis() + i], kernel[at] = w[2 + i];
      stride[at] = op.stride[i], low[at] = op.low[i], dilation[at] = op.dilation[i];
    }
  }
  int64_t source(int axis, int64_t o, int64_t k) const { return o * stride[axis] - low[axis] + k * dilation[axis]; }
  bool outside(int axis, int64_t i) const { return i < 0 || i >= in[axis]; }
};

template <class T>
T convolveAt(const Convolution& c, const T* x, const T* w, int64_t o0, int64_t o1, int64_t o2) {
  T sum{};
  for (int64_t channel = 0; channel < c.perGroup; ++channel)
    for (int64_t k0 = 0; k0 < c.kernel[0]; ++k0) {
      const int64_t i0 = c.source(0, o0, k0);
      if (c.outside(0, i0)) continue;
      for (int64_t k1 = 0; k1 < c.kernel[1]; ++k1) {
        const int64_t i1 = c.source(1, o1, k1);
        if (c.outside(1, i1)) continue;
        for (int64_t k2 = 0; k2 < c.kernel[2]; ++k2) {
          const int64_t i2 = c.source(2, o2, k2);
          if (c.outside(2, i2)) continue;
          sum = multiplyAdd(sum, x[((channel * c.in[0] + i0) * c.in[1] + i1) * c.in[2] + i2],
                            w[((channel * c.kernel[0] + k0) * c.kernel[1] + k1) * c.kernel[2] + k2]);
        }
      }
    }
  return sum;
}

template <class T>
void convolve(const Convolution& c, const std::vector<T>& x, const std::vector<T>& w, const std::vector<T>* bias,
              std::vector<T>& out) {
  const int64_t image = c.in[0] * c.in[1] * c.in[2], window = c.kernel[0] * c.kernel[1] * c.kernel[2];
  int64_t at = 0;
  for (int64_t n = 0; n < c.n; ++n)
    for (int64_t o = 0; o < c.outputs; ++o) {
      const int64_t group = o / (c.outputs / c.groups);
      const T* source = x.data() + (n * c.channels + group * c.perGroup) * image;
      const T* weights = w.data() + o * c.perGroup * window;
      for (int64_t o0 = 0; o0 < c.out[0]; ++o0)
        for (int64_t o1 = 0; o1 < c.out[1]; ++o1)
          for (int64_t o2 = 0; o2 < c.out[2]; ++o2) {
            const T sum = convolveAt(c, source, weights, o0, o1, o2);
            out[at++] = bias ? multiplyAdd(sum, (*bias)[o], T{1}) : sum;
          }
    }
}

/// [N, a, b] as [N, b, a].
template <class T>
std::vector<T> swapped(const std::vector<T>& x, int64_t n, int64_t a, int64_t b) {
  std::vector<T> out(x.size());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < a; ++j)
      for (int64_t k = 0; k < b; ++k) out[(i * b + k) * a + j] = x[(i * a + j) * b + k];
  return out;
}

/// Channels last is channels first between two transpositions.
template <class T>
void convolveAny(const Conv& op, const Convolution& c, const std::vector<T>& x, const std::vector<T>& w,
                 const std::vector<T>* bias, std::vector<T>& out) {
  if (!op.channelsLast) return convolve(c, x, w, bias, out);
  convolve(c, swapped(x, c.n, c.in[0] * c.in[1] * c.in[2], c.channels), w, bias, out);
  out = swapped(out, c.n, c.outputs, c.out[0] * c.out[1] * c.out[2]);
}

}  // namespace

Result<Value> apply(const MatMul& op, const Call& call) {
  const Value &a = call.operand(0), &b = call.operand(1);
  const Value* bias = call.operands.size() > 2 ? call.operands[2] : nullptr;
  Value out = call.result();
  const Product product = productOf(op, a, b, call.shape);
  if (isFloat(out.dtype))
    multiply(product, a.floats, b.floats, bias ? &bias->floats : nullptr, out.floats);
  else
    multiply(product, a.ints, b.ints, bias ? &bias->ints : nullptr, out.ints);
  wrapAll(out);
  return out;
}

Result<Value> apply(const Conv& op, const Call& call) {
  const Value &x = call.operand(0), &w = call.operand(1);
  const Value* bias = call.operands.size() > 2 ? call.operands[2] : nullptr;
  Value out = call.result();
  if (w.shape[0] % op.groups != 0)
    return call.error("T0322", fmt::format("{} output channels do not split into {} groups", w.shape[0], op.groups),
                      "give a multiple of groups");
  const Convolution convolution(op, x.shape, w.shape, call.shape);
  if (isFloat(out.dtype))
    convolveAny(op, convolution, x.floats, w.floats, bias ? &bias->floats : nullptr, out.floats);
  else
    convolveAny(op, convolution, x.ints, w.ints, bias ? &bias->ints : nullptr, out.ints);
  wrapAll(out);
  return out;
}

namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

/// Turns scores into weights that sum to 1. A row of -inf only gives NaN, or zeros if `safe`.
void softmaxRow(std::vector<double>& scores, bool safe) {
  double top = kHidden, sum = 0;
  for (double score : scores) top = evalBinary(BinaryKind::max, top, score);
  if (safe && top == kHidden) return std::fill(scores.begin(), scores.end(), 0.0);
  for (double& score : scores) sum += score = std::exp(score - top);
  for (double& score : scores) score /= sum;
}

}  // namespace

Result<Value> apply(const Attention& op, const Call& call) {
  const Value &q = call.operand(0), &k = call.operand(1), &v = call.operand(2);
  const Value* mask = call.operands.size() > 3 ? call.operands[3] : nullptr;
  Value out = call.result();
  const size_t rank = q.shape.size();
  const int64_t l = q.shape[rank - 2], e = q.shape[rank - 1], s = k.shape[rank - 2], f = v.shape[rank - 1];
  const double scale = op.scale != 0 ? op.scale : 1 / std::sqrt(static_cast<double>(e));
  Extents rows(q.shape.begin(), q.shape.end() - 1);  // [..., L]
  Extents maskRows(rows.size(), 0);
  int64_t maskStep = 0;
  if (mask) {
    Extents full = rows;
    full.push_back(s);
    maskRows = broadcastStrides(mask->shape, full);
    maskStep = maskRows.back();
    maskRows.pop_back();
  }
  std::vector<double> scores(static_cast<size_t>(s));
  forEachOffset(rows, maskRows, 0, [&](int64_t row, int64_t maskBase) {
    const int64_t batch = row / l, i = row % l;
    for (int64_t j = 0; j < s; ++j) {
      double dot = 0;
      for (int64_t c = 0; c < e; ++c) dot += q.floats[row * e + c] * k.floats[(batch * s + j) * e + c];
      scores[j] = dot * scale;
      if (op.causal && j > i) scores[j] = kHidden;
      if (!mask) continue;
      if (isFloat(mask->dtype))
        scores[j] += mask->floats[maskBase + j * maskStep];
      else if (!mask->ints[maskBase + j * maskStep])
        scores[j] = kHidden;
    }
    softmaxRow(scores, op.safe);
    for (int64_t j = 0; j < s; ++j)
      for (int64_t c = 0; c < f; ++c) out.floats[row * f + c] += scores[j] * v.floats[(batch * s + j) * f + c];
  });
  return out;
}

}  // namespace tokamak::interp
