#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/random_graph.h"
#include "fuzz/rng.h"

namespace tokamak::fuzz {

/// Grows a graph op by op. Each value carries a bound on its magnitude, from which operands are tamed before they reach
/// an op that would overflow or leave its domain. Inputs may be made at any time; `finish` moves them to the front.
class Generator {
 public:
  Generator(uint64_t seed, const RandomGraphOptions& options);
  Graph run();

 private:
  // Growing.
  ValueId add(Op op, std::vector<ValueId> operands, double bound, const TensorType* declared = nullptr);
  ValueId input(TensorType type);
  ValueId full(double value, const TensorType& type);
  ValueId fullInt(int64_t value, const TensorType& type);
  ValueId constant(const TensorType& type);  // of static shape
  void emitOne();
  Graph finish();

  // Choosing.
  const TensorType& type(ValueId v) const { return nodes_[v.index].type; }
  double bound(ValueId v) const { return bounds_[v.index]; }
  int64_t least(const Dim& dim) const;    // with every symbol 1: extents grow with symbols
  int64_t typical(const Dim& dim) const;  // with every symbol 7
  bool fits(const Shape& shape) const { return typical(elementCount(shape)) <= options_.maxElements; }
  bool wild() { return options_.wild && rng_.chance(0.04); }
  DType floatType();
  Dim someExtent();
  Shape someShape(size_t rank);
  ValueId any();
  template <class Predicate>
  std::optional<ValueId> anyWhere(Predicate&& predicate);
  ValueId anyFloat();
  /// A value of this type: one there is, one cast or broadcast from another, a constant, positions or a new input.
  ValueId like(TensorType wanted);
  std::optional<ValueId> broadcastTo(TensorType wanted);

  // Taming.
  ValueId tame(ValueId x, double limit);  // |x| <= limit
  ValueId positive(ValueId x, double least);
  ValueId castTo(ValueId x, DType dtype);
  /// Positions along an axis of this extent, of the given shape: i32 or i64.
  ValueId indexInto(const Dim& extent, const Shape& shape);

  // One op each; false where no value suits. In random_elementwise.cpp:
  bool unary();
  ValueId unaryOperand(UnaryKind kind, ValueId x);
  bool binary();
  void binaryOperands(BinaryKind kind, ValueId& a, ValueId& b);
  bool select();
  bool clamp();
  bool cast();
  // In random_shape.cpp:
  bool reduce();
  bool scan();
  bool broadcast();
  bool reshape();
  bool transpose();
  bool slice();
  bool pad();
  bool concat();
  bool flip();
  // In random_structured.cpp:
  bool gather();
  bool indexSelect();
  bool scatter();
  bool random();
  bool dropout();
  bool pool();
  bool adaptivePool();
  bool resize();
  bool matmul();
  bool conv();
  bool attention();
  // In random_composite.cpp:
  bool softmax();
  bool norm();
  bool activation();
  bool crossEntropy();

  Rng rng_;
  const RandomGraphOptions& options_;
  std::vector<Node> nodes_;
  std::vector<double> bounds_;
  std::vector<std::string> symbols_;
  size_t inputs_ = 0;
};

template <class Predicate>
std::optional<ValueId> Generator::anyWhere(Predicate&& predicate) {
  for (int attempt = 0; attempt < 12; ++attempt)
    if (const ValueId v = any(); predicate(type(v))) return v;
  return std::nullopt;
}

/// Inserts the graph's inputs in front of its other nodes. `nodes` may hold them anywhere.
Graph graphOf(const std::vector<Node>& nodes, const std::vector<ValueId>& outputs, std::string name);

}  // namespace tokamak::fuzz
