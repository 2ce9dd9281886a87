#include "fuzz/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tokamak::fuzz {

namespace {

int64_t evalWith(const Dim& dim, int64_t value) {
  std::set<std::string, std::less<>> symbols;
  dim.collectSymbols(symbols);
  DimBindings dims;
  for (const std::string& symbol : symbols) dims[symbol] = value;
  return *dim.eval(dims);
}

}  // namespace

int64_t Generator::least(const Dim& dim) const { return evalWith(dim, 1); }
int64_t Generator::typical(const Dim& dim) const { return evalWith(dim, 7); }

ValueId Generator::add(Op op, std::vector<ValueId> operands, double bound, const TensorType* declared) {
  std::vector<TensorType> types;
  types.reserve(operands.size());
  for (ValueId operand : operands) types.push_back(type(operand));
  auto inferred = inferType(op, types, declared);
  TK_CHECK(inferred.ok(), "random graph: " + inferred.error().str());
  nodes_.push_back({std::move(op), std::move(operands), std::move(*inferred), {}, {}});
  bounds_.push_back(bound);
  return ValueId(nodes_.size() - 1);
}

ValueId Generator::input(TensorType type) {
  nodes_.push_back({Input{}, {}, std::move(type), fmt::format("x{}", inputs_++), {}});
  bounds_.push_back(isFloat(nodes_.back().type.dtype) ? 3 : 20);
  return ValueId(nodes_.size() - 1);
}

ValueId Generator::full(double value, const TensorType& type) {
  if (!isFloat(type.dtype)) return fullInt(static_cast<int64_t>(value), type);
  return add(Full{Scalar::of(value)}, {}, std::abs(value), &type);
}

ValueId Generator::fullInt(int64_t value, const TensorType& type) {
  if (type.dtype == DType::boolean) value = value != 0;
  if (type.dtype == DType::u8) value = std::abs(value);
  return add(Full{Scalar::of(value)}, {}, std::abs(static_cast<double>(value)), &type);
}

DType Generator::floatType() {
  std::vector<DType> floats;
  for (DType t : options_.dtypes)
    if (isFloat(t)) floats.push_back(t);
  if (floats.empty() || (rng_.chance(0.5) && std::find(floats.begin(), floats.end(), DType::f32) != floats.end()))
    return DType::f32;
  return rng_.pick(floats);
}

Dim Generator::someExtent() {
  if (!symbols_.empty() && rng_.chance(0.25)) return Dim::symbol(rng_.pick(symbols_)) * Dim(rng_.chance(0.2) ? 2 : 1);
  if (options_.empty && rng_.chance(0.01)) return Dim(0);
  return Dim(rng_.pick<int64_t>({1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17}));
}

Shape Generator::someShape(size_t rank) {
  Shape shape;
  for (size_t i = 0; i < rank; ++i) shape.push_back(someExtent());
  while (!fits(shape)) shape[static_cast<size_t>(rng_.below(static_cast<int64_t>(rank)))] = Dim(rng_.between(1, 2));
  return shape;
}

/// Recent values are likelier.
ValueId Generator::any() {
  const auto n = static_cast<int64_t>(nodes_.size());
  return ValueId(static_cast<size_t>(std::max(rng_.below(n), rng_.below(n))));
}

ValueId Generator::anyFloat() {
  if (auto x = anyWhere([](const TensorType& t) { return isFloat(t.dtype); })) return *x;
  return castTo(any(), floatType());
}

ValueId Generator::like(TensorType wanted) {
  const double roll = rng_.real();
  if (roll < 0.35) {
    if (auto x = anyWhere([&](const TensorType& t) { return t.shape == wanted.shape; }))
      return castTo(*x, wanted.dtype);
  } else if (roll < 0.55) {
    if (auto x = broadcastTo(wanted)) return *x;
  } else if (roll < 0.7) {
    return full(static_cast<double>(rng_.between(-8, 8)) / 4, wanted);
  } else if (roll < 0.8 && !wanted.shape.empty() && wanted.dtype != DType::boolean) {
    const auto axis = rng_.below(static_cast<int64_t>(wanted.rank()));
    return add(Iota{axis}, {}, static_cast<double>(typical(wanted.shape[static_cast<size_t>(axis)])) * 3, &wanted);
  }
  const bool isStatic = std::all_of(wanted.shape.begin(), wanted.shape.end(), [](const Dim& d) { return d.isConst(); });
  if (roll < 0.9 && isStatic && *elementCount(wanted.shape).constant() <= 64) return constant(wanted);
  return inputs_ < 10 ? input(wanted) : full(1, wanted);
}

ValueId Generator::constant(const TensorType& type) {
  std::vector<int64_t> shape;
  for (const Dim& extent : type.shape) shape.push_back(*extent.constant());
  Array data(type.dtype, shape);
  for (int64_t i = 0; i < data.size(); ++i)
    data.setDouble(i, static_cast<double>(rng_.between(type.dtype == DType::u8 ? 0 : -12, 12)) / 4);
  return add(Constant{std::make_shared<const Array>(std::move(data))}, {}, 3);
}

std::optional<ValueId> Generator::broadcastTo(TensorType wanted) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    const ValueId x = any();
    const Shape& shape = type(x).shape;
    std::vector<Axis> axes;
    size_t matched = 0;
    for (size_t i = 0; i < wanted.rank() && matched < shape.size(); ++i) {
      const bool suits = shape[matched] == wanted.shape[i] || shape[matched].is(1);
      const bool mustTake = wanted.rank() - i == shape.size() - matched;
      if (!suits || (!mustTake && rng_.chance(0.5))) continue;
      axes.push_back(static_cast<Axis>(i));
      ++matched;
    }
    if (matched < shape.size()) continue;
    const ValueId cast = castTo(x, wanted.dtype);
    return add(Broadcast{axes}, {cast}, bound(cast), &wanted);
  }
  return std::nullopt;
}

ValueId Generator::tame(ValueId x, double limit) {
  const TensorType t = type(x);
  if (!isFloat(t.dtype) || bound(x) <= limit || wild()) return x;
  switch (rng_.below(3)) {
    case 0: {
      const ValueId squashed = add(Unary{UnaryKind::tanh}, {x}, 1);
      return limit >= 1 ? squashed : add(Binary{BinaryKind::mul}, {squashed, full(limit * 0.75, t)}, limit);
    }
    case 1: return add(Clamp{}, {x, full(-limit * 0.75, t), full(limit * 0.75, t)}, limit);
    default: {
      const ValueId wave = add(Unary{UnaryKind::sin}, {x}, 1);
      return limit >= 1 ? wave : add(Binary{BinaryKind::mul}, {wave, full(limit * 0.75, t)}, limit);
    }
  }
}

ValueId Generator::positive(ValueId x, double least) {
  if (wild()) return x;
  const ValueId magnitude = add(Unary{UnaryKind::abs}, {x}, bound(x));
  if (least == 0) return magnitude;
  return add(Binary{BinaryKind::add}, {magnitude, full(least, type(x))}, bound(x) + least);
}

ValueId Generator::castTo(ValueId x, DType dtype) {
  const TensorType from = type(x);
  if (from.dtype == dtype) return x;
  if (isFloat(from.dtype) && !isFloat(dtype)) x = tame(x, 60);
  if (dtype == DType::f16 && bound(x) > 1000) {
    if (!isFloat(type(x).dtype)) x = castTo(x, DType::f32);
    x = tame(x, 1000);
  }
  const double limit = isFloat(dtype) ? 0x1p63 : std::pow(2, bitWidth(dtype));
  const TensorType to{dtype, type(x).shape};
  return type(x).dtype == dtype ? x : add(Cast{}, {x}, std::min(bound(x), limit), &to);
}

ValueId Generator::indexInto(const Dim& extent, const Shape& shape) {
  const TensorType wanted{rng_.chance(0.7) ? DType::i64 : DType::i32, shape};
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == extent && rng_.chance(0.4)) {
      const ValueId positions = add(Iota{static_cast<Axis>(i)}, {}, 100, &wanted);
      return rng_.chance(0.5) ? positions : add(Flip{{static_cast<Axis>(i)}}, {positions}, 100);
    }
  const ValueId x = like(wanted);
  const ValueId inRange = add(Binary{BinaryKind::rem}, {x, fullInt(least(extent), wanted)}, 100);
  if (rng_.chance(0.8)) return inRange;
  return add(Binary{BinaryKind::sub}, {inRange, fullInt(least(extent), wanted)}, 100);  // from the end
}

}  // namespace tokamak::fuzz
