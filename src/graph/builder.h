#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace tokamak {

/// Builds a graph with PyTorch's conveniences: operands broadcast and promote, scalars are weak, negative axes count
/// from the end, `keepdim` is offered. The first mistake is remembered, later calls do nothing, and `finish` returns
/// it.
///
///   Builder b("gelu_bias");
///   auto x = b.input("x", DType::f32, {Dim::symbol("M"), 64});
///   auto bias = b.input("b", DType::f32, {64});
///   b.output(b.gelu(b.add(x, bias)));
///   Result<Graph> graph = b.finish();
class Builder {
 public:
  explicit Builder(std::string name = "main");

  ValueId input(std::string name, DType dtype, Shape shape);
  ValueId constant(Array data);
  ValueId full(Scalar value, DType dtype, Shape shape = {});
  ValueId iota(DType dtype, Shape shape, Axis axis);
  ValueId random(ValueId seed, ValueId offset, RandomKind kind, DType dtype, Shape shape);

  ValueId unary(UnaryKind kind, ValueId x);               // integers promote to f32 where torch does
  ValueId binary(BinaryKind kind, ValueId a, ValueId b);  // promotes, broadcasts; div of integers is true division
  ValueId binary(BinaryKind kind, ValueId a, Scalar b);   // scalar is weak
  ValueId binary(BinaryKind kind, Scalar a, ValueId b);
  ValueId add(ValueId a, ValueId b) { return binary(BinaryKind::add, a, b); }
  ValueId sub(ValueId a, ValueId b) { return binary(BinaryKind::sub, a, b); }
  ValueId mul(ValueId a, ValueId b) { return binary(BinaryKind::mul, a, b); }
  ValueId div(ValueId a, ValueId b) { return binary(BinaryKind::div, a, b); }
  ValueId select(ValueId condition, ValueId a, ValueId b);
  ValueId clamp(ValueId x, ValueId low, ValueId high);
  ValueId cast(ValueId x, DType dtype);

  /// No axes: all of them. sum and prod of integers give i64.
  ValueId reduce(ReduceKind kind, ValueId x, std::vector<Axis> axes, bool keepdim = false, int64_t correction = 0);
  ValueId scan(ScanKind kind, ValueId x, Axis axis, bool reverse = false);

  ValueId broadcastTo(ValueId x, Shape shape);  // aligned at the last axis, as in torch
  ValueId broadcast(ValueId x, std::vector<Axis> axes, Shape shape);
  ValueId reshape(ValueId x, Shape shape);  // one extent may be -1: what remains
  ValueId transpose(ValueId x, std::vector<Axis> perm);
  ValueId slice(ValueId x, std::vector<Dim> start, Shape extent, std::vector<int64_t> stride = {});
  ValueId pad(ValueId x, std::vector<Dim> low, std::vector<Dim> high, Scalar value);
  ValueId concat(std::vector<ValueId> xs, Axis axis);
  ValueId flip(ValueId x, std::vector<Axis> axes);

  ValueId gather(ValueId x, ValueId index, Axis axis);
  ValueId indexSelect(ValueId x, ValueId index, Axis axis);
  ValueId scatter(ScatterKind kind, ValueId x, ValueId index, ValueId source, Axis axis);

  ValueId pool(ValueId x, Pool op);  // empty lists take torch's defaults
  ValueId adaptivePool(ValueId x, PoolKind kind, Shape spatial);
  ValueId resize(ValueId x, Resize op, Shape spatial);

  /// torch.matmul: vectors stand for one row or column, batch axes broadcast.
  ValueId matmul(ValueId a, ValueId b, bool transposeA = false, bool transposeB = false, ValueId bias = {});
  ValueId conv(ValueId x, ValueId w, Conv op, ValueId bias = {});
  ValueId attention(ValueId q, ValueId k, ValueId v, Attention op = {}, ValueId mask = {});

  ValueId softmax(ValueId x, Axis axis, bool log = false);
  ValueId norm(Norm op, std::vector<ValueId> operands);
  /// Weight and bias may be absent; without a weight the last axis is normalised, else as many as it has.
  ValueId layerNorm(ValueId x, ValueId weight, ValueId bias, double eps = 1e-5);
  ValueId rmsNorm(ValueId x, ValueId weight, double eps = 1e-6);
  ValueId activation(ActivationKind kind, ValueId x);  // with torch's parameters
  ValueId activation(Activation op, ValueId x);
  ValueId gelu(ValueId x) { return activation(ActivationKind::gelu, x); }
  ValueId relu(ValueId x) { return activation(ActivationKind::relu, x); }
  ValueId silu(ValueId x) { return activation(ActivationKind::silu, x); }
  ValueId crossEntropy(ValueId logits, ValueId target, CrossEntropy op = {});
  ValueId dropout(ValueId x, ValueId seed, ValueId offset, double p);

  /// Appends any op; infers its type (`declared` where the op needs it).
  ValueId apply(Op op, std::vector<ValueId> operands, const TensorType* declared = nullptr);

  void output(ValueId value);
  /// `f32[]` for a value that a mistake kept from being.
  const TensorType& type(ValueId v) const;
  bool ok() const { return !error_; }
  Result<Graph> finish();

 private:
  ValueId fail(std::string code, std::string message, std::string hint);
  ValueId fail(Diagnostic error);
  /// Whether all is well so far and these are values of the graph; else remembers the mistake.
  bool usable(const std::vector<ValueId>& values);

  /// The axis counted from the front; nullopt after a mistake. Rank 0 counts as 1, as in torch.
  std::optional<Axis> frontAxis(Axis axis, size_t rank);
  std::optional<std::vector<Axis>> frontAxes(std::vector<Axis> axes, size_t rank);
  /// The shape all these broadcast to, aligned at the last axis.
  std::optional<Shape> commonShape(const std::vector<ValueId>& values);
  /// Casts and broadcasts, where they are not so already.
  ValueId conform(ValueId x, DType dtype, const Shape& shape);
  /// A rank-1 view of a scalar, and any other value as it is: folds along "the" axis of a scalar are allowed in torch.
  ValueId atLeastRank1(ValueId x);

  Graph graph_;
  std::optional<Diagnostic> error_;
};

}  // namespace tokamak
