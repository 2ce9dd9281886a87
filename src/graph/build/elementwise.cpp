#include <fmt/format.h>

#include "graph/builder.h"

namespace tokamak {

namespace {

/// PyTorch's promotion: tensors with axes decide; scalar tensors, then plain numbers, only raise the category (bool,
/// integer, float) and bring their dtype where they do.
class Promotion {
 public:
  void add(const TensorType& type) { add(type.rank() > 0 ? axes_ : scalars_, type.dtype); }
  void add(const Scalar& value) { add(numbers_, value.isFloat ? DType::f32 : DType::i64); }
  DType result() const { return *combine(axes_, combine(scalars_, numbers_)); }

 private:
  using Rank = std::optional<DType>;
  static void add(Rank& rank, DType dtype) { rank = rank ? promote(*rank, dtype) : dtype; }
  static Rank combine(Rank higher, Rank lower) {
    if (!higher || !lower) return higher ? higher : lower;
    if (isFloat(*higher)) return higher;
    if (*higher == DType::boolean || isFloat(*lower)) return promote(*higher, *lower);
    return higher;
  }
  Rank axes_, scalars_, numbers_;
};

bool dividesTruly(BinaryKind kind) { return kind == BinaryKind::div || kind == BinaryKind::atan2; }

/// What the operands are converted to before the function is applied.
DType operandType(BinaryKind kind, const Promotion& promotion) {
  const DType common = promotion.result();
  return dividesTruly(kind) && !isFloat(common) ? DType::f32 : common;
}

/// The number as torch stores it in a tensor of this dtype.
Scalar storedAs(const Scalar& value, DType dtype) {
  if (isFloat(dtype)) return Scalar::of(value.asDouble());
  return Scalar::of(wrapTo(dtype, value.asInt()));
}

}  // namespace

std::optional<Shape> Builder::commonShape(const std::vector<ValueId>& values) {
  Shape common;
  for (ValueId v : values) {
    const Shape& shape = type(v).shape;
    if (shape.size() > common.size()) common.insert(common.begin(), shape.size() - common.size(), Dim(1));
    for (size_t i = 1; i <= shape.size(); ++i) {
      Dim& target = common[common.size() - i];
      const Dim& extent = shape[shape.size() - i];
      if (target.is(1))
        target = extent;
      else if (!extent.is(1) && extent != target) {
        std::string types;
        for (ValueId each : values)
          types += (types.empty() ? "" : ", ") + graph_.label(each) + " : " + type(each).str();
        fail("T0203", fmt::format("the shapes of {} do not broadcast together", types),
             "aligned at the last axis, extents are equal or 1; insert a reshape");
        return std::nullopt;
      }
    }
  }
  return common;
}

ValueId Builder::conform(ValueId x, DType dtype, const Shape& shape) { return broadcastTo(cast(x, dtype), shape); }

ValueId Builder::unary(UnaryKind kind, ValueId x) {
  if (!usable({x})) return {};
  if (isFloatOnly(kind) && !isFloat(type(x).dtype)) x = cast(x, DType::f32);
  return apply(Unary{kind}, {x});
}

ValueId Builder::binary(BinaryKind kind, ValueId a, ValueId b) {
  if (!usable({a, b})) return {};
  const auto shape = commonShape({a, b});
  if (!shape) return {};
  Promotion promotion;
  promotion.add(type(a));
  promotion.add(type(b));
  const DType dtype = operandType(kind, promotion);
  const ValueId left = conform(a, dtype, *shape);
  return apply(Binary{kind}, {left, a == b ? left : conform(b, dtype, *shape)});
}

ValueId Builder::binary(BinaryKind kind, ValueId a, Scalar b) {
  if (!usable({a})) return {};
  Promotion promotion;
  promotion.add(type(a));
  promotion.add(b);
  const DType dtype = operandType(kind, promotion);
  const ValueId left = cast(a, dtype);
  return apply(Binary{kind}, {left, full(storedAs(b, dtype), dtype, type(a).shape)});
}

ValueId Builder::binary(BinaryKind kind, Scalar a, ValueId b) {
  if (!usable({b})) return {};
  Promotion promotion;
  promotion.add(a);
  promotion.add(type(b));
  const DType dtype = operandType(kind, promotion);
  const ValueId left = full(storedAs(a, dtype), dtype, type(b).shape);
  return apply(Binary{kind}, {left, cast(b, dtype)});
}

ValueId Builder::select(ValueId condition, ValueId a, ValueId b) {
  if (!usable({condition, a, b})) return {};
  const auto shape = commonShape({condition, a, b});
  if (!shape) return {};
  Promotion promotion;
  promotion.add(type(a));
  promotion.add(type(b));
  const DType dtype = promotion.result();
  return apply(Select{}, {broadcastTo(condition, *shape), conform(a, dtype, *shape), conform(b, dtype, *shape)});
}

ValueId Builder::clamp(ValueId x, ValueId low, ValueId high) {
  if (!usable({x, low, high})) return {};
  const auto shape = commonShape({x, low, high});
  if (!shape) return {};
  Promotion promotion;
  for (ValueId v : {x, low, high}) promotion.add(type(v));
  const DType dtype = promotion.result();
  return apply(Clamp{}, {conform(x, dtype, *shape), conform(low, dtype, *shape), conform(high, dtype, *shape)});
}

ValueId Builder::cast(ValueId x, DType dtype) {
  if (!usable({x})) return {};
  if (type(x).dtype == dtype) return x;
  const TensorType declared{dtype, type(x).shape};
  return apply(Cast{}, {x}, &declared);
}

}  // namespace tokamak
