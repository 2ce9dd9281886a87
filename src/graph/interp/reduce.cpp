#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/interp/ops.h"
#include "support/scalar_op.h"

namespace tokamak::interp {

namespace {

/// Where the elements of each result of a reduction lie: at `base + offsets[j]` for the bases of the kept axes.
struct Folding {
  Extents keptShape, keptStrides;
  std::vector<int64_t> offsets;
  bool foldsNothing = false;

  Folding(const Extents& shape, const std::vector<Axis>& axes) {
    const Extents strides = rowMajorStrides(shape);
    Extents foldedShape, foldedStrides;
    for (size_t i = 0; i < shape.size(); ++i) {
      const bool folded = std::find(axes.begin(), axes.end(), static_cast<Axis>(i)) != axes.end();
      (folded ? foldedShape : keptShape).push_back(shape[i]);
      (folded ? foldedStrides : keptStrides).push_back(strides[i]);
    }
    const auto isEmpty = [](int64_t extent) { return extent == 0; };
    foldsNothing = std::ranges::any_of(foldedShape, isEmpty);
    if (std::ranges::any_of(keptShape, isEmpty)) return;  // no result, however much there is to fold
    forEachOffset(foldedShape, foldedStrides, 0, [&](int64_t, int64_t offset) { offsets.push_back(offset); });
  }

  template <class F>
  void forEachResult(F&& f) const {
    forEachOffset(keptShape, keptStrides, 0, f);
  }
};

/// Whether `candidate` takes the place of `best`: NaN beats all but an earlier NaN; `orEqual` lets ties through.
bool beats(double candidate, double best, bool greater, bool orEqual) {
  if (std::isnan(best)) return orEqual && std::isnan(candidate);
  if (std::isnan(candidate)) return true;
  return (greater ? candidate > best : candidate < best) || (orEqual && candidate == best);
}
bool beats(int64_t candidate, int64_t best, bool greater, bool orEqual) {
  return (greater ? candidate > best : candidate < best) || (orEqual && candidate == best);
}

template <class T>
int64_t extremePosition(const std::vector<T>& x, int64_t base, const std::vector<int64_t>& offsets, bool greater) {
  size_t best = 0;
  for (size_t j = 1; j < offsets.size(); ++j)
    if (beats(x[base + offsets[j]], x[base + offsets[best]], greater, false)) best = j;
  return static_cast<int64_t>(best);
}

double square(double x) { return x * x; }

double foldFloats(const Reduce& op, const std::vector<double>& x, int64_t base, const std::vector<int64_t>& offsets) {
  const auto count = static_cast<double>(offsets.size());
  double sum = 0, product = 1, squares = 0;
  switch (op.kind) {
    case ReduceKind::prod:
      for (int64_t offset : offsets) product *= x[base + offset];
      return product;
    case ReduceKind::sum:
    case ReduceKind::mean:
      for (int64_t offset : offsets) sum += x[base + offset];
      return op.kind == ReduceKind::sum ? sum : sum / count;
    default:  // var, by two passes
      for (int64_t offset : offsets) sum += x[base + offset];
      for (int64_t offset : offsets) squares += square(x[base + offset] - sum / count);
      return squares / std::max(count - static_cast<double>(op.correction), 0.0);
  }
}

int64_t foldInts(ReduceKind kind, const std::vector<int64_t>& x, int64_t base, const std::vector<int64_t>& offsets) {
  uint64_t sum = 0, product = 1;
  for (int64_t offset : offsets) {
    sum += static_cast<uint64_t>(x[base + offset]);
    product *= static_cast<uint64_t>(x[base + offset]);
  }
  return static_cast<int64_t>(kind == ReduceKind::sum ? sum : product);
}

bool foldTruth(bool all, const Value& x, int64_t base, const std::vector<int64_t>& offsets) {
  for (int64_t offset : offsets)
    if (x.truth(base + offset) != all) return !all;
  return all;
}

}  // namespace

int64_t extremeOf(DType dtype, bool least) {
  if (dtype == DType::boolean) return least ? 0 : 1;
  if (dtype == DType::u8) return least ? 0 : 255;
  const int64_t low = std::numeric_limits<int64_t>::min() >> (64 - bitWidth(dtype));
  return least ? low : ~low;
}

Result<Value> apply(const Reduce& op, const Call& call) {
  const Value& x = call.operand(0);
  const Folding folding(x.shape, op.axes);
  Value out = call.result();
  const bool extreme = op.kind == ReduceKind::max || op.kind == ReduceKind::min;
  const bool position = op.kind == ReduceKind::argmax || op.kind == ReduceKind::argmin;
  const bool greater = op.kind == ReduceKind::max || op.kind == ReduceKind::argmax;
  if (((extreme && !op.identity) || position) && folding.foldsNothing)
    return call.error("T0319", fmt::format("{} of no elements: a folded extent is 0", nameOf(op.kind)),
                      "give the folded axes extents above 0");

  folding.forEachResult([&](int64_t result, int64_t base) {
    if (op.kind == ReduceKind::any || op.kind == ReduceKind::all) {
      out.ints[result] = foldTruth(op.kind == ReduceKind::all, x, base, folding.offsets);
    } else if (extreme && folding.foldsNothing) {
      if (isFloat(x.dtype))
        out.floats[result] = (greater ? -1 : 1) * std::numeric_limits<double>::infinity();
      else
        out.ints[result] = extremeOf(x.dtype, greater);
    } else if (extreme || position) {
      const int64_t best = isFloat(x.dtype) ? extremePosition(x.floats, base, folding.offsets, greater)
                                            : extremePosition(x.ints, base, folding.offsets, greater);
      if (position)
        out.ints[result] = best;
      else if (isFloat(x.dtype))
        out.floats[result] = x.floats[base + folding.offsets[best]];
      else
        out.ints[result] = x.ints[base + folding.offsets[best]];
    } else if (isFloat(x.dtype)) {
      out.floats[result] = foldFloats(op, x.floats, base, folding.offsets);
    } else {
      out.ints[result] = foldInts(op.kind, x.ints, base, folding.offsets);
    }
  });
  return out;
}

namespace {

double combine(ScanKind kind, double a, double b) { return kind == ScanKind::sum ? a + b : a * b; }
int64_t combine(ScanKind kind, int64_t a, int64_t b) {
  return evalBinary(kind == ScanKind::sum ? BinaryKind::add : BinaryKind::mul, DType::i64, a, b);
}

/// One line of a scan: `count` elements from `base` on, `stride` apart. Writes values or, for the positions, `ints`.
template <class T>
void scanLine(const Scan& op, const std::vector<T>& x, std::vector<T>& values, std::vector<int64_t>& ints, int64_t base,
              int64_t count, int64_t stride) {
  const bool greater = op.kind == ScanKind::max || op.kind == ScanKind::argmax;
  T running{};
  int64_t best = 0;
  for (int64_t step = 0; step < count; ++step) {
    const int64_t i = op.reverse ? count - 1 - step : step;
    const T element = x[base + i * stride];
    if (op.kind == ScanKind::sum || op.kind == ScanKind::prod) {
      running = step == 0 ? element : combine(op.kind, running, element);
    } else if (step == 0 || beats(element, running, greater, true)) {
      running = element;
      best = i;
    }
    if (op.kind == ScanKind::argmax || op.kind == ScanKind::argmin)
      ints[base + i * stride] = best;
    else
      values[base + i * stride] = running;
  }
}

}  // namespace

Result<Value> apply(const Scan& op, const Call& call) {
  const Value& x = call.operand(0);
  Value out = call.result();
  const Extents strides = rowMajorStrides(x.shape);
  Extents lines = x.shape;
  const int64_t count = std::exchange(lines[op.axis], 1);
  forEachOffset(lines, strides, 0, [&](int64_t, int64_t base) {
    if (isFloat(x.dtype))
      scanLine(op, x.floats, out.floats, out.ints, base, count, strides[op.axis]);
    else
      scanLine(op, x.ints, out.ints, out.ints, base, count, strides[op.axis]);
  });
  return out;
}

}  // namespace tokamak::interp
