#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "graph/interp/ops.h"

namespace tokamak::interp {

namespace {

/// Splits the axes of an op over windows: `images` of the last k axes, which have extents `in` and, in the result,
/// `out`.
struct Planes {
  int64_t images = 1, inSize = 1, outSize = 1;
  Extents in, out, strides;

  Planes(const Extents& from, const Extents& to, size_t k) {
    in.assign(from.end() - k, from.end());
    out.assign(to.end() - k, to.end());
    strides = rowMajorStrides(in);
    inSize = countOf(in);
    outSize = countOf(out);
    images = countOf(Extents(from.begin(), from.end() - k));
  }
};

/// What a window has seen. Its members are those of the result of each PoolKind; of a window wholly in the padding the
/// largest element is the dtype's least value, at no position.
template <class T>
struct WindowFold {
  T best;  // begins as the least there is
  int64_t position = -1;
  int64_t inside = 0;
  T sum{};

  void add(T element, int64_t at) {
    // As torch compares: a later NaN replaces an earlier one, a later equal does not.
    if (inside++ == 0 || element > best || element != element) best = element, position = at;
    if constexpr (std::is_floating_point_v<T>) sum += element;  // only floats have an average
  }
};

template <class T>
void store(PoolKind kind, const WindowFold<T>& fold, double count, int64_t at, std::vector<T>& values,
           std::vector<int64_t>& positions) {
  if (kind == PoolKind::argmax)
    positions[at] = fold.position;
  else if (kind == PoolKind::max)
    values[at] = fold.best;
  else
    values[at] = static_cast<T>(static_cast<double>(fold.sum) / count);
}

template <class T>
void poolWindows(const Pool& op, const Planes& planes, const std::vector<T>& x, T least, std::vector<T>& values,
                 std::vector<int64_t>& positions) {
  const size_t k = op.window.size();
  int64_t at = 0;
  for (int64_t image = 0; image < planes.images; ++image)
    forEachIndex(planes.out, [&](const Extents& o) {
      WindowFold<T> fold{least};
      int64_t counted = 0;
      forEachIndex(op.window, [&](const Extents& w) {
        bool inside = true, inPadding = true;
        int64_t offset = 0;
        for (size_t axis = 0; axis < k; ++axis) {
          const int64_t i = o[axis] * op.stride[axis] - op.low[axis] + w[axis] * op.dilation[axis];
          const int64_t asked = op.high[axis] - (op.extraHigh.empty() ? 0 : op.extraHigh[axis]);
          inside = inside && i >= 0 && i < planes.in[axis];
          inPadding = inPadding && i < planes.in[axis] + asked;
          if (inside) offset += i * planes.strides[axis];
        }
        counted += op.countPad ? inPadding : inside;
        if (inside) fold.add(x[image * planes.inSize + offset], offset);
      });
      store(op.kind, fold, static_cast<double>(op.divisor ? op.divisor : counted), at++, values, positions);
    });
}

template <class T>
void poolAdaptively(PoolKind kind, const Planes& planes, const std::vector<T>& x, std::vector<T>& values,
                    std::vector<int64_t>& positions) {
  const size_t k = planes.in.size();
  Extents first(k), box(k);
  int64_t at = 0;
  for (int64_t image = 0; image < planes.images; ++image)
    forEachIndex(planes.out, [&](const Extents& o) {
      int64_t base = 0;
      for (size_t axis = 0; axis < k; ++axis) {
        const int64_t n = planes.in[axis], m = planes.out[axis];
        first[axis] = o[axis] * n / m;
        box[axis] = ((o[axis] + 1) * n + m - 1) / m - first[axis];
        base += first[axis] * planes.strides[axis];
      }
      WindowFold<T> fold{x[image * planes.inSize + base]};
      forEachOffset(box, planes.strides, base,
                    [&](int64_t, int64_t offset) { fold.add(x[image * planes.inSize + offset], offset); });
      store(kind, fold, static_cast<double>(fold.inside), at++, values, positions);
    });
}

/// Where output `o` of `m` reads among `n` inputs: between `index` and the next one, by `weight` toward that.
struct Sample {
  int64_t index = 0, next = 0;
  double weight = 0;
};

Sample sampleAt(const Resize& op, double scale, int64_t o, int64_t n, int64_t m) {
  const float ratio = scale > 0 ? static_cast<float>(1.0 / scale) : static_cast<float>(n) / static_cast<float>(m);
  if (op.kind == ResizeKind::nearest) {
    const float at = std::floor(static_cast<float>(o) * ratio);  // beyond any integer where the scale is tiny
    const int64_t index = at >= static_cast<float>(n) ? n - 1 : at > 0 ? static_cast<int64_t>(at) : 0;
    return {index, index, 0};
  }
  const double exact = scale > 0 ? 1.0 / scale : static_cast<double>(n) / static_cast<double>(m);
  double at = std::max((static_cast<double>(o) + 0.5) * exact - 0.5, 0.0);
  if (op.alignCorners) at = m > 1 ? static_cast<double>(o * (n - 1)) / static_cast<double>(m - 1) : 0.0;
  at = std::min(at, static_cast<double>(n));
  const int64_t index = std::min(static_cast<int64_t>(at), n - 1);
  return {index, std::min(index + 1, n - 1), std::min(at - static_cast<double>(index), 1.0)};
}

}  // namespace

Result<Value> apply(const Pool& op, const Call& call) {
  const Value& x = call.operand(0);
  Value out = call.result();
  const Planes planes(x.shape, call.shape, op.window.size());
  if (isFloat(x.dtype))
    poolWindows(op, planes, x.floats, -std::numeric_limits<double>::infinity(), out.floats, out.ints);
  else
    poolWindows(op, planes, x.ints, extremeOf(x.dtype, true), out.ints, out.ints);
  return out;
}

Result<Value> apply(const AdaptivePool& op, const Call& call) {
  const Value& x = call.operand(0);
  Value out = call.result();
  const Planes planes(x.shape, call.shape, static_cast<size_t>(op.spatial));
  if (planes.inSize == 0)
    return call.error("T0319", "adaptive pooling of no elements", "give the pooled axes extents above 0");
  if (isFloat(x.dtype))
    poolAdaptively(op.kind, planes, x.floats, out.floats, out.ints);
  else
    poolAdaptively(op.kind, planes, x.ints, out.ints, out.ints);
  return out;
}

Result<Value> apply(const Resize& op, const Call& call) {
  const Value& x = call.operand(0);
  Value out = call.result();
  const auto k = static_cast<size_t>(op.spatial);
  const Planes planes(x.shape, call.shape, k);
  if (planes.inSize == 0) return call.error("T0319", "resize of no elements", "give the resized axes extents above 0");
  std::vector<std::vector<Sample>> samples(k);
  for (size_t axis = 0; axis < k; ++axis)
    for (int64_t o = 0; o < planes.out[axis]; ++o)
      samples[axis].push_back(
          sampleAt(op, op.scale.empty() ? 0 : op.scale[axis], o, planes.in[axis], planes.out[axis]));

  int64_t at = 0;
  for (int64_t image = 0; image < planes.images; ++image)
    forEachIndex(planes.out, [&](const Extents& o) {
      const int64_t base = image * planes.inSize;
      if (op.kind == ResizeKind::nearest) {
        int64_t offset = base;
        for (size_t axis = 0; axis < k; ++axis) offset += samples[axis][o[axis]].index * planes.strides[axis];
        onData(x, out, [&](const auto& from, auto& to) { to[at++] = from[offset]; });
        return;
      }
      double sum = 0;
      for (size_t corner = 0; corner < size_t{1} << k; ++corner) {
        double weight = 1;
        int64_t offset = base;
        for (size_t axis = 0; axis < k; ++axis) {
          const Sample& sample = samples[axis][o[axis]];
          const bool upper = corner >> axis & 1;
          weight *= upper ? sample.weight : 1 - sample.weight;
          offset += (upper ? sample.next : sample.index) * planes.strides[axis];
        }
        sum += weight * x.floats[offset];  // also by a weight of 0, as torch's linear modes do
      }
      out.floats[at++] = sum;
    });
  return out;
}

}  // namespace tokamak::interp
