#pragma once

#include <llvm/ADT/DenseMap.h>

#include <vector>

#include "sparse/einsum/program.h"
#include "sparse/mlir/module.h"

namespace tokamak::sparse {

/// Which axes of the tensors of a function have one size: those that a loop runs over together, that a cast or a
/// `tensor.dim` ties together, or that an assertion compares.
class Sizes {
 public:
  explicit Sizes(const MlirModule& module) : module_(module) {}

  /// Goes over a function. T0854 where an operand is indexed by what is no loop, T0856 where two sizes contradict.
  Result<> collect(mlir::Block& body);

  /// The class of an axis of a tensor, or of a loop of a linalg operation; a class has a size or -1.
  int ofAxis(mlir::Value tensor, int64_t axis);
  int ofLoop(mlir::Operation* op, unsigned loop);
  int64_t sizeOf(int id) { return sizes_[static_cast<size_t>(find(id))]; }
  int find(int id);

  /// The axis that `tensor.dim` asks for, where `value` is one: a tensor and a number.
  static std::optional<std::pair<mlir::Value, int64_t>> axisAsked(mlir::Value value);

 private:
  int fresh(int64_t size);
  Result<> tie(mlir::Operation* op, int a, int b);
  Result<> visit(mlir::Operation* op);
  Result<> tieLinalg(mlir::Operation* op);
  Result<> tieEmpty(mlir::Operation* op);
  Result<> tieAssert(mlir::Operation* op);
  Result<> tieReshape(mlir::Operation* op);
  Result<> tieSlice(mlir::Operation* op);  // slices.cpp
  Result<> tieWhole(mlir::Operation* op, mlir::Value a, mlir::Value b);

  const MlirModule& module_;
  std::vector<int> parents_;
  std::vector<int64_t> sizes_;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, int> axes_;
  llvm::DenseMap<std::pair<mlir::Operation*, unsigned>, int> loops_;
};

/// Axes of the shorter shape and the groups of the longer one's that they are, for expand_shape and collapse_shape.
std::vector<std::vector<int64_t>> reassociationOf(mlir::Operation* op);

}  // namespace tokamak::sparse
