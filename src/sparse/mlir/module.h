#pragma once

#include <llvm/Support/SourceMgr.h>
#include <mlir/AsmParser/AsmParserState.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/MLIRContext.h>

#include <memory>
#include <set>
#include <string>

#include "support/result.h"

namespace tokamak::sparse {

/// A text that MLIR parsed and verified, with the places and names that the text gives to operations and values.
class MlirModule {
 public:
  /// T0851 where it is no text, no MLIR, or not valid; T0852 where it uses an operation of a dialect that is not known.
  static Result<std::unique_ptr<MlirModule>> parse(std::string_view text, const std::string& file);

  mlir::ModuleOp module() { return mlir::cast<mlir::ModuleOp>(block_.front()); }
  /// Where the operation's name stands, whatever `loc(...)` says.
  Location place(mlir::Operation* op) const;
  Location place(mlir::Value value) const;
  /// `A` for %A, `v3` for %3, `v3_1` for the second of %3:2; empty where the text gives none.
  std::string nameOf(mlir::Value value) const;
  Diagnostic fail(std::string_view code, mlir::Operation* op, std::string message, std::string hint) const;

 private:
  explicit MlirModule(const std::string& file) : file_(file) {}
  Location place(llvm::SMLoc at) const;
  Result<> parse(std::string_view text);
  /// What MLIR complained about first.
  Diagnostic complaint(std::string message, mlir::Location at) const;

  std::string file_;
  mlir::MLIRContext context_;
  llvm::SourceMgr sources_;
  mlir::AsmParserState state_;
  mlir::Block block_;
};

}  // namespace tokamak::sparse
