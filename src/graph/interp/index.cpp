#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/interp/ops.h"
#include "support/philox.h"
#include "support/scalar_op.h"

namespace tokamak::interp {

namespace {

/// A position along an axis of `count`: from the end if negative, clamped.
int64_t resolve(int64_t index, int64_t count) {
  return std::clamp<int64_t>(index < 0 ? index + count : index, 0, count - 1);
}

Diagnostic emptyAxis(const Call& call) {
  return call.error("T0321", "reads from an axis of extent 0", "give the indexed axis an extent above 0");
}

/// Of an op that is `checked`.
Result<> checkRange(const Call& call, const Value& index, int64_t count) {
  for (const int64_t i : index.ints)
    if (i < 0 || i >= count)
      return call.error("T0323", fmt::format("the index {} is not in an axis of extent {}", i, count),
                        "give indices from 0 to below the extent");
  return Unit{};
}

/// Symbolic extents: no axis but `axis` of the index is larger than x's.
Result<> checkAligned(const Call& call, const Extents& x, const Extents& index, Axis axis) {
  for (size_t i = 0; i < x.size(); ++i)
    if (static_cast<Axis>(i) != axis && index[i] > x[i])
      return call.error("T0322",
                        fmt::format("the index has extent {} on axis {}, where the tensor has {}", index[i], i, x[i]),
                        "give dimensions under which the index is no larger");
  return Unit{};
}

template <class T>
T merge(ScatterKind kind, DType dtype, T old, T fresh) {
  const auto with = [&](BinaryKind binary) -> T {
    if constexpr (std::is_same_v<T, double>)
      return evalBinary(binary, old, fresh);
    else
      return evalBinary(binary, dtype, old, fresh);
  };
  switch (kind) {
    case ScatterKind::set: return fresh;
    case ScatterKind::add: return with(BinaryKind::add);
    case ScatterKind::mul: return with(BinaryKind::mul);
    case ScatterKind::max: return with(BinaryKind::max);
    case ScatterKind::min: return with(BinaryKind::min);
  }
  return fresh;
}

}  // namespace

Result<Value> apply(const Gather& op, const Call& call) {
  const Value &x = call.operand(0), &index = call.operand(1);
  TK_RETURN_IF_ERROR(checkAligned(call, x.shape, index.shape, op.axis));
  Value out = call.result();
  Extents strides = rowMajorStrides(x.shape);
  const int64_t count = x.shape[op.axis], step = std::exchange(strides[op.axis], 0);
  if (count == 0 && out.size() > 0) return emptyAxis(call);
  if (op.checked) TK_RETURN_IF_ERROR(checkRange(call, index, count));
  onData(x, out, [&](const auto& from, auto& to) {
    forEachOffset(index.shape, strides, 0, [&](int64_t position, int64_t offset) {
      to[position] = from[offset + resolve(index.ints[position], count) * step];
    });
  });
  return out;
}

Result<Value> apply(const IndexSelect& op, const Call& call) {
  const Value &x = call.operand(0), &index = call.operand(1);
  Value out = call.result();
  int64_t outer = 1, inner = 1;
  for (Axis i = 0; i < op.axis; ++i) outer *= x.shape[i];
  for (size_t i = op.axis + 1; i < x.shape.size(); ++i) inner *= x.shape[i];
  const int64_t count = x.shape[op.axis];
  if (count == 0 && out.size() > 0) return emptyAxis(call);
  if (out.size() == 0) return out;
  if (op.checked) TK_RETURN_IF_ERROR(checkRange(call, index, count));
  onData(x, out, [&](const auto& from, auto& to) {
    int64_t position = 0;
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t picked : index.ints) {
        const int64_t base = (o * count + resolve(picked, count)) * inner;
        for (int64_t i = 0; i < inner; ++i) to[position++] = from[base + i];
      }
  });
  return out;
}

Result<Value> apply(const Scatter& op, const Call& call) {
  const Value &index = call.operand(1), &source = call.operand(2);
  Value out = call.operand(0);
  TK_RETURN_IF_ERROR(checkAligned(call, out.shape, index.shape, op.axis));
  Extents strides = rowMajorStrides(out.shape);
  const int64_t count = out.shape[op.axis], step = std::exchange(strides[op.axis], 0);
  onData(source, out, [&](const auto& from, auto& to) {
    int64_t position = 0;
    forEachPair(index.shape, rowMajorStrides(source.shape), 0, strides, 0, [&](int64_t a, int64_t b) {
      int64_t at = index.ints[position++];
      if (at < 0) at += count;
      if (at < 0 || at >= count) return;
      to[b + at * step] = merge(op.kind, out.dtype, to[b + at * step], from[a]);
    });
  });
  return out;
}

Result<Value> apply(const Random& op, const Call& call) {
  const int64_t seed = call.operand(0).ints[0], offset = call.operand(1).ints[0];
  Value out = call.result();
  for (int64_t i = 0; i < out.size(); ++i) {
    const auto words = philoxBlockOf(seed, offset, i);
    if (op.kind == RandomKind::bits) {
      out.ints[i] = words[i % 4];
    } else if (op.kind == RandomKind::uniform) {
      out.floats[i] = (words[i % 4] >> 8) * 0x1p-24;
    } else {
      const size_t pair = (i % 4) / 2 * 2;
      const double radius = std::sqrt(-2 * std::log(((words[pair] >> 8) + 1) * 0x1p-24));
      const double angle = 2 * std::numbers::pi * ((words[pair + 1] >> 8) * 0x1p-24);
      out.floats[i] = radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
    }
  }
  return out;
}

}  // namespace tokamak::interp
