#pragma once

#include <map>
#include <string>

#include "sparse/einsum/program.h"

namespace tokamak::sparse {

/// One rewriting: what a statement was and became, and why.
struct AlgebraStep {
  std::string rule, before, after;
  double operationsBefore = 0, operationsAfter = 0;
  std::string str() const;
};

struct AlgebraResult {
  Program program;
  std::vector<AlgebraStep> ledger;
};

/// Rewrites products and sums where that saves arithmetic by the estimate:
///
///   reassociate   T[i, f] = A[i, k] * X[k, f]            T[k, h] = X[k, f] * W[f, h]
///                 Y[i, h] = T[i, f] * W[f, h]       =>   Y[i, h] = A[i, k] * T[k, h]
///                 and inside one statement by nested sums
///   factor        A[i, k] * B[k, j] + A[i, k] * C[k, j]  =>  A[i, k] * (B[k, j] + C[k, j])
///   distribute    A[i, k] * (S[k, j] + U[k] * v[j])  =>  A[i, k] * S[k, j] + sum(k: A[i, k] * U[k]) * v[j]
/// A temp is made something else only if one statement alone uses it, its format was not declared, and both statements
/// are of one group (a region that the user has put together; -1: none). Results stay what they were up to rounding.
/// Requires known sizes; `densities` of inputs by name.
AlgebraResult rewriteAlgebra(const Program& program, const std::map<std::string, double>& densities,
                             const std::map<std::string, int>& groups = {});

}  // namespace tokamak::sparse
