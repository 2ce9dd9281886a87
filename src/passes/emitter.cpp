#include "passes/emitter.h"

#include <algorithm>

namespace tokamak {

std::vector<Axis> otherAxes(size_t rank, const std::vector<Axis>& without) {
  std::vector<Axis> kept;
  for (Axis axis = 0; axis < static_cast<Axis>(rank); ++axis)
    if (std::find(without.begin(), without.end(), axis) == without.end()) kept.push_back(axis);
  return kept;
}

std::vector<Axis> axisRange(Axis from, Axis to) {
  std::vector<Axis> axes;
  for (Axis axis = from; axis < to; ++axis) axes.push_back(axis);
  return axes;
}

bool isIdentityPermutation(const std::vector<Axis>& perm) {
  for (size_t i = 0; i < perm.size(); ++i)
    if (perm[i] != static_cast<Axis>(i)) return false;
  return true;
}

std::vector<Axis> inversePermutation(const std::vector<Axis>& perm) {
  std::vector<Axis> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[perm[i]] = static_cast<Axis>(i);
  return inverse;
}

ValueId Emitter::append(Op op, std::vector<ValueId> operands, TensorType type) {
  return graph_->append(Node{std::move(op), std::move(operands), std::move(type), {}, location_});
}

ValueId Emitter::full(Scalar value, DType dtype, Shape shape) {
  return append(Full{value}, {}, {dtype, std::move(shape)});
}

ValueId Emitter::fullLike(ValueId like, double value) {
  return full(Scalar::of(value), type(like).dtype, type(like).shape);
}

ValueId Emitter::iota(DType dtype, Shape shape, Axis axis) { return append(Iota{axis}, {}, {dtype, std::move(shape)}); }

ValueId Emitter::unary(UnaryKind kind, ValueId x) {
  return append(Unary{kind}, {x}, {resultType(kind, type(x).dtype), type(x).shape});
}

ValueId Emitter::binary(BinaryKind kind, ValueId a, ValueId b) {
  TK_CHECK(type(a) == type(b), "operands of a binary op differ: " + type(a).str() + " and " + type(b).str());
  return append(Binary{kind}, {a, b}, {resultType(kind, type(a).dtype), type(a).shape});
}

ValueId Emitter::select(ValueId condition, ValueId a, ValueId b) {
  TK_CHECK(type(a) == type(b) && type(condition).shape == type(a).shape, "operands of a select differ");
  return append(Select{}, {condition, a, b}, type(a));
}

ValueId Emitter::cast(ValueId x, DType dtype, bool synthetic) {
  if (type(x).dtype == dtype) return x;
  return append(Cast{synthetic}, {x}, {dtype, type(x).shape});
}

ValueId Emitter::reduce(ReduceKind kind, ValueId x, std::vector<Axis> axes, bool identity) {
  if (axes.empty()) return x;
  TensorType result{type(x).dtype, {}};
  for (Axis axis : otherAxes(type(x).rank(), axes)) result.shape.push_back(type(x).shape[axis]);
  const bool widens = kind == ReduceKind::sum || kind == ReduceKind::prod;
  if (kind == ReduceKind::argmax || kind == ReduceKind::argmin || (widens && !isFloat(result.dtype)))
    result.dtype = DType::i64;
  else if (kind == ReduceKind::any || kind == ReduceKind::all)
    result.dtype = DType::boolean;
  return append(Reduce{kind, std::move(axes), 0, identity}, {x}, std::move(result));
}

ValueId Emitter::count(const Shape& shape, const std::vector<Axis>& axes, DType dtype) {
  Shape folded;
  for (Axis axis : axes) folded.push_back(shape[axis]);
  if (auto known = elementCount(folded).constant()) return full(Scalar::of(static_cast<double>(*known)), dtype, {});
  const ValueId ones = full(Scalar::of(1.0), dtype, folded);
  return reduce(ReduceKind::sum, ones, axisRange(0, static_cast<Axis>(folded.size())));
}

ValueId Emitter::broadcast(ValueId x, std::vector<Axis> axes, Shape shape) {
  if (type(x).shape == shape && isIdentityPermutation(axes)) return x;
  const DType dtype = type(x).dtype;
  return append(Broadcast{std::move(axes)}, {x}, {dtype, std::move(shape)});
}

ValueId Emitter::spread(ValueId x, const std::vector<Axis>& folded, const Shape& shape) {
  return broadcast(x, otherAxes(shape.size(), folded), shape);
}

ValueId Emitter::reshape(ValueId x, Shape shape) {
  if (type(x).shape == shape) return x;
  const DType dtype = type(x).dtype;
  return append(Reshape{}, {x}, {dtype, std::move(shape)});
}

ValueId Emitter::transpose(ValueId x, std::vector<Axis> perm) {
  if (isIdentityPermutation(perm)) return x;
  TensorType result{type(x).dtype, {}};
  for (Axis axis : perm) result.shape.push_back(type(x).shape[axis]);
  return append(Transpose{std::move(perm)}, {x}, std::move(result));
}

ValueId Emitter::matmul(ValueId a, ValueId b, MatMul op) {
  TensorType result = type(a);
  if (op.wide) result.dtype = computeType(result.dtype);
  const size_t rank = result.rank();
  if (op.transposeA) result.shape[rank - 2] = type(a).shape[rank - 1];
  const Shape& right = type(b).shape;
  result.shape[rank - 1] = op.transposeB ? right[right.size() - 2] : right[right.size() - 1];
  return append(op, {a, b}, std::move(result));
}

}  // namespace tokamak
