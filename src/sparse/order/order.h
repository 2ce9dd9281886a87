#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sparse/table/region.h"

namespace tokamak::sparse {

/// `before` must be an outer loop of `after`, because an access is stored so.
struct OrderEdge {
  VarId before, after;
  ExprId access;  // of the region's program; invalid: a user's wish
};

/// What the storage of a region's operands asks of the order of its variables. Where that is contradictory, the
/// smallest operands are read from a permuted copy, so that the rest has an order.
struct OrderProblem {
  std::vector<VarId> vars;  // all, as they come first in the statements
  std::vector<OrderEdge> edges;
  std::vector<ExprId> copied;  // accesses that need a permuted copy

  /// Calls `visit` with each order that keeps to the edges, one at a time, until it returns false: depth first, in the
  /// order of `vars` where there is a choice.
  void forEachOrder(const std::function<bool(const std::vector<VarId>&)>& visit) const;
};

/// Which variables of a region are ever loops of one nest. Orders that differ only in variables that are not are one
/// order: they give the same table.
class Nests {
 public:
  explicit Nests(const Program& program);
  using Key = std::vector<std::vector<bool>>;
  /// The same for orders that give the same table: of each variable, which of its nests' variables come before it.
  Key keyOf(const std::vector<VarId>& order) const;

 private:
  std::vector<std::vector<bool>> together_;  // by variable and variable
};

/// The statements with new variables for folds whose loops would otherwise have to lie outside and inside each other;
/// none where no fold contradicts another. Then every fold can be inside the loops of its result.
///
///   S[i] = sum(j: A[i, j])                S[i] = sum(j: A[i, j])
///   T[j] = sum(i: B[i, j])       =>       T[j] = sum(i_1: B[i_1, j])
std::optional<Program> foldsApart(const Program& program);

/// `bytes` gives the size of a tensor of the region's program. Edges of `wished` (outermost first) come before all
/// others, so storage that contradicts them is copied; `first`: the variables that are not named come behind the named;
/// `foldsInside`: each fold's variables come behind those of its result, as far as folds do not contradict each other.
/// T0970 where a wished variable is none of the region's.
struct OrderWish {
  std::vector<std::string> vars;
  bool first = false;
  bool foldsInside = false;
};
Result<OrderProblem> orderProblem(const Region& region, const OrderWish& wished,
                                  const std::function<double(TensorId)>& bytes);

/// The formats in which the copied accesses are read under an order: axes as they come in it, the same entries stored.
std::map<ExprId, Format> copiedViews(const Region& region, const OrderProblem& problem,
                                     const std::vector<VarId>& order);

}  // namespace tokamak::sparse
