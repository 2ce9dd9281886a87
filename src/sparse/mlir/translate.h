#pragma once

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/AffineExpr.h>

#include <map>
#include <set>

#include "sparse/import/mlir.h"
#include "sparse/mlir/module.h"
#include "sparse/mlir/scalars.h"
#include "sparse/mlir/sizes.h"

namespace tokamak::sparse {

/// What an SSA tensor is: one value everywhere, or a tensor of the program seen through axes that are permuted,
/// repeated, or of size 1 and not seen.
struct View {
  std::optional<ExprId> everywhere;
  TensorId tensor;
  std::vector<int> axes;  // of the tensor: which axis of the view that is, or kUnseen
  static constexpr int kUnseen = -1;
};

/// Makes a program of one function, an operation after another. Operations that only move axes make views; every other
/// makes a statement, written in variables i, j, k, ... for its loops.
class Translator {
 public:
  Translator(MlirModule& module, const MlirOptions& options);
  Result<ImportedProgram> run(mlir::func::FuncOp function);

 private:
  /// An index of an access: a loop, or an expression of loops (a selection picks the coordinate).
  struct Loops {
    mlir::Operation* op = nullptr;
    std::vector<VarId> vars;
    int helpers = 0;  // variables beyond the loops' that the statement uses
  };
  /// How a body folds into its result: result = fold(result, term).
  struct Folded {
    Fold fold = Fold::sum;
    std::vector<std::pair<mlir::Value, bool>> terms;  // and whether it is subtracted
    bool storedOnly = false;                          // sparse_tensor.reduce: over stored entries alone
  };

  // translate.cpp: the function, and operations without loops
  Result<> arguments(mlir::Block& body);
  Result<> translate(mlir::Operation* op);
  Result<> constant(mlir::Operation* op);
  Result<> convert(mlir::Operation* op);
  Result<> splat(mlir::Operation* op);
  Result<> finish(mlir::Operation* op);
  Result<> output(mlir::Operation* op, unsigned index, mlir::Value value);
  Result<ExprId> outerLeaf(mlir::Value value);
  bool isLive(mlir::Operation* op) const;

  // linalg.cpp: operations with loops
  Result<> linalg(mlir::Operation* op);
  Result<bool> asView(mlir::Operation* op);
  Result<ExprId> bodyValue(mlir::Operation* op, unsigned result, Loops& loops);
  Result<ExprId> foldedValue(mlir::Operation* op, unsigned result, Loops& loops, Scalars& body,
                             const std::vector<VarId>& over);
  Result<Folded> peel(mlir::Operation* op, mlir::Value yielded, mlir::Value accumulator) const;
  Result<> softmax(mlir::Operation* op);
  Result<std::vector<VarId>> targetVars(mlir::Operation* op, mlir::AffineMap map, mlir::Value result, Loops& loops);

  // reshape.cpp
  Result<> reshape(mlir::Operation* op);

  // slices.cpp
  Result<> extractSlice(mlir::Operation* op);
  Result<> insertSlice(mlir::Operation* op);
  Result<> pad(mlir::Operation* op);
  Result<> concat(mlir::Operation* op);
  Result<> knowSizes(mlir::Operation* op, mlir::Value from);
  Diagnostic notConstant(mlir::Operation* op) const;
  Result<ExprId> moved(mlir::Operation* op, mlir::Value from, const std::vector<mlir::AffineExpr>& at, Loops& loops);
  ExprId inside(mlir::Value tensor, const std::vector<mlir::AffineExpr>& at, Loops& loops);

  // stored.cpp: what depends on stored entries
  Result<ExprId> storedValue(mlir::Operation* op, Scalars& body);
  Result<ExprId> unary(mlir::Operation* op, Scalars& body);
  Result<ExprId> binary(mlir::Operation* op, Scalars& body);
  Result<std::optional<ExprId>> patternOf(mlir::Operation* op, ExprId value) const;
  Result<ExprId> yielded(mlir::Region& region, const std::vector<ExprId>& arguments, Scalars& body);
  ExprId whereStored(const std::optional<ExprId>& pattern, ExprId value);
  ExprId absent(ExprId pattern);

  // access.cpp: tensors at indices
  Result<ExprId> access(mlir::Operation* op, mlir::Value tensor, mlir::AffineMap map, Loops& loops);
  ExprId read(const View& view, const std::vector<std::optional<VarId>>& at, Loops& loops);
  ExprId pick(mlir::AffineExpr expr, VarId picked, const Loops& loops);
  ExprId number(VarId var);
  VarId helper(std::string_view name, DimId dim, Loops& loops);
  std::vector<VarId> axisVars(mlir::Value tensor, Loops& loops);
  View viewOf(mlir::Value value) const { return views_.lookup(value); }

  // names.cpp: dimensions, names, declarations
  DimId dimOf(int size, const std::string& wish);
  DimId dimOfAxis(mlir::Value tensor, int64_t axis);
  std::string freeName(std::string wish);
  Result<TensorId> declare(mlir::Operation* op, mlir::Value value, Role role, const std::string& name);
  Result<> define(mlir::Operation* op, mlir::Value result, std::vector<VarId> vars, ExprId value);
  Diagnostic fail(std::string_view code, mlir::Operation* op, std::string message, std::string hint) const {
    return module_.fail(code, op, std::move(message), std::move(hint));
  }

  MlirModule& module_;
  MlirOptions options_;
  ImportedProgram out_;
  Program& program_;
  Sizes sizes_;
  Scalars scalars_;
  llvm::DenseMap<mlir::Value, View> views_;
  std::map<int, DimId> dims_;  // of classes whose size is not known
  std::set<std::string> names_;
  std::map<std::string, TensorId> picks_;
  std::set<mlir::Operation*> live_;
};

}  // namespace tokamak::sparse
