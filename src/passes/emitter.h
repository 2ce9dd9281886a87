#pragma once

#include <vector>

#include "graph/graph.h"

namespace tokamak {

/// Appends nodes to a graph with the result types filled in. Operands already agree in shape and dtype, as the IR
/// wants; nothing promotes. Conversions that would change nothing give back their operand.
///
///   Emitter emit(graph);
///   ValueId mean = emit.reduce(ReduceKind::mean, x, {1});
///   ValueId centred = emit.binary(BinaryKind::sub, x, emit.spread(mean, {1}, emit.type(x).shape));
class Emitter {
 public:
  explicit Emitter(Graph& graph) : graph_(&graph) {}

  /// Where the ops appended from here on come from in the program's text.
  void setLocation(Location location) { location_ = std::move(location); }

  ValueId append(Op op, std::vector<ValueId> operands, TensorType type);

  ValueId full(Scalar value, DType dtype, Shape shape);
  /// A float tensor of `like`'s type with every element `value`.
  ValueId fullLike(ValueId like, double value);
  ValueId iota(DType dtype, Shape shape, Axis axis);

  ValueId unary(UnaryKind kind, ValueId x);
  ValueId binary(BinaryKind kind, ValueId a, ValueId b);
  ValueId binary(BinaryKind kind, ValueId a, double b) { return binary(kind, a, fullLike(a, b)); }
  ValueId select(ValueId condition, ValueId a, ValueId b);
  ValueId cast(ValueId x, DType dtype, bool synthetic = false);
  /// Synthetic casts, which a decomposition uses to compute wider than it stores.
  ValueId widen(ValueId x) { return cast(x, computeType(type(x).dtype), true); }
  ValueId narrow(ValueId x, DType dtype) { return cast(x, dtype, true); }

  /// An empty list of axes gives back x (sum, mean, max, min).
  ValueId reduce(ReduceKind kind, ValueId x, std::vector<Axis> axes, bool identity = false);
  /// Number of elements along `axes` of a tensor of this shape, as a 0-d float, also when an extent is symbolic.
  ValueId count(const Shape& shape, const std::vector<Axis>& axes, DType dtype);

  ValueId broadcast(ValueId x, std::vector<Axis> axes, Shape shape);
  /// Repeats what a reduction over `folded` gave back to the shape it came from.
  ValueId spread(ValueId x, const std::vector<Axis>& folded, const Shape& shape);
  ValueId reshape(ValueId x, Shape shape);
  ValueId transpose(ValueId x, std::vector<Axis> perm);
  ValueId matmul(ValueId a, ValueId b, MatMul op);

  const TensorType& type(ValueId v) const { return graph_->type(v); }
  const Graph& graph() const { return *graph_; }

 protected:
  Graph* graph_;
  Location location_;
};

/// 0 to rank - 1 without `without`.
std::vector<Axis> otherAxes(size_t rank, const std::vector<Axis>& without);
/// from, from + 1, ... to - 1.
std::vector<Axis> axisRange(Axis from, Axis to);
bool isIdentityPermutation(const std::vector<Axis>& perm);
std::vector<Axis> inversePermutation(const std::vector<Axis>& perm);

}  // namespace tokamak
