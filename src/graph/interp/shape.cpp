#include <fmt/format.h>

#include <algorithm>

#include "graph/interp/ops.h"
#include "support/scalar_op.h"

namespace tokamak::interp {

namespace {

/// Copies the elements of a box of `shape`: from x at `from` with `fromStrides`, to out at `to` with `toStrides`.
void copyBox(const Value& x, Value& out, const Extents& shape, const Extents& fromStrides, int64_t from,
             const Extents& toStrides, int64_t to) {
  onData(x, out, [&](const auto& source, auto& target) {
    forEachPair(shape, fromStrides, from, toStrides, to, [&](int64_t a, int64_t b) { target[b] = source[a]; });
  });
}

void fill(Value& out, const Scalar& value) {
  if (isFloat(out.dtype)) {
    std::fill(out.floats.begin(), out.floats.end(), roundTo(out.dtype, value.asDouble()));
  } else {
    const int64_t element = out.dtype == DType::boolean ? value.asDouble() != 0 : wrapTo(out.dtype, value.asInt());
    std::fill(out.ints.begin(), out.ints.end(), element);
  }
}

/// Values of symbolic amounts (starts, paddings).
Result<Extents> evalAll(const std::vector<Dim>& dims, const DimBindings& bindings) {
  Extents out;
  for (const Dim& dim : dims) {
    TK_TRY(const int64_t value, dim.eval(bindings));
    out.push_back(value);
  }
  return out;
}

}  // namespace

Result<Value> apply(const Constant& op, const Call& call) {
  Value out(*op.data);
  out.shape = call.shape;
  return out;
}

Result<Value> apply(const Full& op, const Call& call) {
  Value out = call.result();
  fill(out, op.value);
  return out;
}

Result<Value> apply(const Iota& op, const Call& call) {
  Value out = call.result();
  Extents along(call.shape.size(), 0);
  along[op.axis] = 1;
  forEachOffset(call.shape, along, 0, [&](int64_t position, int64_t index) {
    if (isFloat(out.dtype))
      out.floats[position] = roundTo(out.dtype, static_cast<double>(index));
    else
      out.ints[position] = wrapTo(out.dtype, index);
  });
  return out;
}

Result<Value> apply(const Broadcast& op, const Call& call) {
  const Value& x = call.operand(0);
  Value out = call.result();
  const Extents own = rowMajorStrides(x.shape);
  Extents strides(call.shape.size(), 0);
  for (size_t i = 0; i < op.axes.size(); ++i)
    if (x.shape[i] != 1) strides[op.axes[i]] = own[i];
  copyBox(x, out, call.shape, strides, 0, rowMajorStrides(call.shape), 0);
  return out;
}

Result<Value> apply(const Reshape&, const Call& call) {
  Value out = call.operand(0);
  if (countOf(call.shape) != out.size())
    return call.error("T0318", fmt::format("reshape of {} elements into {}", out.size(), countOf(call.shape)),
                      "give dimensions under which both shapes hold the same number of elements");
  out.shape = call.shape;
  return out;
}

Result<Value> apply(const Transpose& op, const Call& call) {
  const Value& x = call.operand(0);
  Value out = call.result();
  const Extents own = rowMajorStrides(x.shape);
  Extents strides;
  for (Axis axis : op.perm) strides.push_back(own[axis]);
  copyBox(x, out, call.shape, strides, 0, rowMajorStrides(call.shape), 0);
  return out;
}

Result<Value> apply(const Slice& op, const Call& call) {
  const Value& x = call.operand(0);
  Value out = call.result();
  TK_TRY(const Extents start, evalAll(op.start, call.dims));
  Extents strides = rowMajorStrides(x.shape);
  int64_t base = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    const int64_t step = op.stride.empty() ? 1 : op.stride[i];
    if (call.shape[i] == 0) continue;
    const bool startFits = start[i] >= 0 && start[i] < x.shape[i];
    if (!startFits || call.shape[i] - 1 > (x.shape[i] - 1 - start[i]) / step)
      return call.error("T0320",
                        fmt::format("slice reads {} elements from {} in steps of {} of axis {}, which has {}",
                                    call.shape[i], start[i], step, i, x.shape[i]),
                        "give dimensions under which the slice lies within its operand");
    base += start[i] * strides[i];
    strides[i] *= step;
  }
  copyBox(x, out, call.shape, strides, base, rowMajorStrides(call.shape), 0);
  return out;
}

Result<Value> apply(const Pad& op, const Call& call) {
  const Value& x = call.operand(0);
  Value out = call.result();
  TK_TRY(const Extents low, evalAll(op.low, call.dims));
  fill(out, op.value);
  const Extents from = rowMajorStrides(x.shape), to = rowMajorStrides(call.shape);
  Extents box(x.shape.size());
  int64_t fromBase = 0, toBase = 0;
  for (size_t i = 0; i < box.size(); ++i) {
    const int64_t first = std::max<int64_t>(0, -low[i]);  // of the operand's elements that remain
    const int64_t end = std::min(x.shape[i], call.shape[i] - low[i]);
    box[i] = end - first;
    if (box[i] <= 0) return out;
    fromBase += first * from[i];
    toBase += (first + low[i]) * to[i];
  }
  copyBox(x, out, box, from, fromBase, to, toBase);
  return out;
}

Result<Value> apply(const Concat& op, const Call& call) {
  Value out = call.result();
  const Extents to = rowMajorStrides(call.shape);
  int64_t done = 0;
  for (const Value* x : call.operands) {
    copyBox(*x, out, x->shape, rowMajorStrides(x->shape), 0, to, done * to[op.axis]);
    done += x->shape[op.axis];
  }
  return out;
}

Result<Value> apply(const Flip& op, const Call& call) {
  const Value& x = call.operand(0);
  Value out = call.result();
  Extents strides = rowMajorStrides(x.shape);
  int64_t base = 0;
  for (Axis axis : op.axes) {
    base += (x.shape[axis] - 1) * strides[axis];
    strides[axis] = -strides[axis];
  }
  copyBox(x, out, call.shape, strides, base, rowMajorStrides(call.shape), 0);
  return out;
}

}  // namespace tokamak::interp
