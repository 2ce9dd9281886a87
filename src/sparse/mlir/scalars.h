#pragma once

#include <llvm/ADT/DenseMap.h>

#include <functional>

#include "sparse/einsum/program.h"
#include "sparse/mlir/module.h"

namespace tokamak::sparse {

/// Scalar values as expressions: arith and math operations, outside of and inside linalg's bodies.
class Scalars {
 public:
  /// `leaf` says what values mean that are no arith or math: sizes, elements of tensors.
  using Leaf = std::function<Result<ExprId>(mlir::Value)>;
  Scalars(const MlirModule& module, Program& program, Leaf leaf)
      : module_(module), program_(program), leaf_(std::move(leaf)) {}

  /// T0852 where an operation has no counterpart.
  Result<ExprId> of(mlir::Value value);
  void define(mlir::Value value, ExprId expr) { known_[value] = expr; }

 private:
  Result<ExprId> translate(mlir::Operation* op);
  Result<ExprId> compare(mlir::Operation* op, const std::vector<ExprId>& args);
  Result<ExprId> constant(mlir::Operation* op);
  std::optional<ExprId> composed(mlir::Operation* op, const std::vector<ExprId>& args);
  std::optional<ExprId> simple(mlir::Operation* op, const std::vector<ExprId>& args);
  bool isConstant(ExprId expr, double value) const;

  const MlirModule& module_;
  Program& program_;
  Leaf leaf_;
  llvm::DenseMap<mlir::Value, ExprId> known_;
};

/// The number that an attribute holds.
std::optional<double> numberOf(mlir::Attribute attribute);

}  // namespace tokamak::sparse
