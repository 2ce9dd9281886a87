#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "support/array.h"
#include "support/dtype.h"

namespace tokamak::interp {

using Extents = std::vector<int64_t>;

/// A tensor while it is evaluated: floats as float64, integers and bool exactly. Only the list that fits the dtype is
/// filled, row-major.
struct Value {
  DType dtype = DType::f32;
  Extents shape;
  std::vector<double> floats;
  std::vector<int64_t> ints;

  Value() = default;
  Value(DType dtype, Extents shape);  // zeros
  explicit Value(const Array& array);

  int64_t size() const { return static_cast<int64_t>(isFloat(dtype) ? floats.size() : ints.size()); }
  double number(int64_t i) const { return isFloat(dtype) ? floats[i] : static_cast<double>(ints[i]); }
  bool truth(int64_t i) const { return isFloat(dtype) ? floats[i] != 0 : ints[i] != 0; }

  /// Rounded to the dtype.
  Array toArray() const;
};

/// Calls f(in's data, out's data) with the lists of doubles or of integers; both values are of one of these kinds.
template <class F>
void onData(const Value& in, Value& out, F&& f) {
  if (isFloat(in.dtype))
    f(in.floats, out.floats);
  else
    f(in.ints, out.ints);
}

int64_t countOf(const Extents& shape);
Extents rowMajorStrides(const Extents& shape);
/// Strides with which an operand of shape `shape` is read under `target`, aligned at the last axis as torch does.
Extents broadcastStrides(const Extents& shape, const Extents& target);

/// Visits every index of `shape` in row-major order with the offsets it has under two stride lists: f(a, b).
template <class F>
void forEachPair(const Extents& shape, const Extents& stridesA, int64_t a, const Extents& stridesB, int64_t b, F&& f) {
  for (int64_t extent : shape)
    if (extent <= 0) return;
  if (shape.empty()) return f(a, b);
  const size_t last = shape.size() - 1;
  Extents index(shape.size(), 0);
  for (;;) {
    for (int64_t i = 0; i < shape[last]; ++i) f(a + i * stridesA[last], b + i * stridesB[last]);
    size_t axis = last;
    for (;;) {
      if (axis == 0) return;
      --axis;
      a += stridesA[axis], b += stridesB[axis];
      if (++index[axis] < shape[axis]) break;
      a -= stridesA[axis] * shape[axis], b -= stridesB[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

/// Visits every index of `shape` in row-major order: f(position, offset).
template <class F>
void forEachOffset(const Extents& shape, const Extents& strides, int64_t base, F&& f) {
  int64_t position = 0;
  forEachPair(shape, strides, base, strides, 0, [&](int64_t offset, int64_t) { f(position++, offset); });
}

/// Visits every index of `shape` in row-major order: f(index).
template <class F>
void forEachIndex(const Extents& shape, F&& f) {
  for (int64_t extent : shape)
    if (extent <= 0) return;
  Extents index(shape.size(), 0);
  for (;;) {
    f(std::as_const(index));
    size_t axis = shape.size();
    for (;;) {
      if (axis == 0) return;
      --axis;
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

}  // namespace tokamak::interp
