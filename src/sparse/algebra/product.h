#pragma once

#include "sparse/algebra/work.h"

namespace tokamak::sparse {

/// A sum of products: sum(folded: factors[0] * factors[1] * ...).
struct Product {
  std::vector<VarId> folded;
  std::vector<ExprId> factors;
};

/// The product that an expression is; a single factor that is not folded where it is none. Sums inside factors are
/// pulled out where that changes nothing: sum(k: a * sum(l: b)) = sum(k, l: a * b).
Product productOf(const Program& program, ExprId id);

/// The cheapest way to multiply and sum, as nested sums of two factors each. Requires 1 to 9 factors, and every folded
/// variable in one of them.
ExprId cheapestTree(Program& program, const Product& product, WorkModel& work);

/// The expression with variables renamed, bound ones too.
ExprId renamed(Program& program, ExprId id, const std::map<VarId, VarId>& names);

}  // namespace tokamak::sparse
