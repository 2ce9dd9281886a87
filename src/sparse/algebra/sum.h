#pragma once

#include "sparse/algebra/product.h"

namespace tokamak::sparse {

/// One term of a sum.
struct Term {
  ExprId value;
  bool negative = false;
};

/// The terms of an expression made of +, - and negation; the expression itself where it is none.
std::vector<Term> termsOf(const Program& program, ExprId id);
ExprId sumOf(Program& program, const std::vector<Term>& terms);

/// The cheapest expression of a product, factors that are sums kept whole or multiplied out, whichever costs less:
///
///   sum(k: A[i, k] * (S[k, j] + sum(r: U[k, r] * V[r, j])))
///     =>  sum(k: A[i, k] * S[k, j]) + sum(r: sum(k: A[i, k] * U[k, r]) * V[r, j])
///
/// Requires what `cheapestTree` requires. `worthwhile`: of the cost of the product kept whole, how much may be left.
ExprId cheapestDistribution(Program& program, const Product& product, WorkModel& work, double worthwhile);

}  // namespace tokamak::sparse
