#pragma once

#include <map>

#include "sparse/einsum/program.h"

namespace tokamak::sparse {

/// Estimates the arithmetic of expressions from sizes and densities, each operation counted over its own variables as
/// the factored loops of a table run it.
class WorkModel {
 public:
  /// `densities` of inputs by name; 1 for those that are not there and stored dense, else a tenth.
  WorkModel(const Program& program, const std::map<std::string, double>& densities);

  struct Work {
    double operations = 0;
    double density = 1;  // share of positions, over the free variables, that are not zero
  };
  Work of(ExprId id);
  /// Of a statement; its tensor's density is kept for the statements behind it.
  Work of(const Statement& statement);
  double points(const std::vector<VarId>& vars) const;

 private:
  Work ofNew(const Expr& e, ExprId id);
  double densityOfApply(const Expr& e);

  const Program& program_;
  std::map<TensorId, double> densities_;
  std::map<ExprId, Work> known_;
};

}  // namespace tokamak::sparse
