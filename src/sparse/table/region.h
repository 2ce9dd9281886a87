#pragma once

#include <map>
#include <vector>

#include "sparse/einsum/program.h"

namespace tokamak::sparse {

/// Statements of a program that run as one table, as a program of their own: temporaries that only the region needs are
/// put in place of their uses, what comes from outside is an input, and what is needed outside is an output.
///
///   T[i, h] = X[i, f] * W[f, h]                =>   Y[i, h] = relu(sum(k: A[i, k] * sum(f: X[k, f] * W[f, h])))
///   Y[i, h] = relu(A[i, k] * T[k, h])
///
/// A folded variable whose name is bound where its statement is put gets a number: `k_1`. Means are
/// written as sums, sizes as numbers, folds over variables that the body has not as products, and maxima and minima of
/// stored entries as 0 where there are none.
struct Region {
  std::vector<size_t> statements;  // of the whole program, in its order
  Program program;

  /// Which part of which axis of the whole program's tensor an axis here is; by tensor, empty where all are whole.
  struct AxisPart {
    int axis = 0;
    LevelPart part = LevelPart::whole;
    int64_t block = 1;
  };
  std::map<TensorId, std::vector<AxisPart>> parts;

  /// Inputs that are no tensors of the program: all of so many coordinates, in blocks of which the last is not full.
  std::map<TensorId, int64_t> ranges;
  std::vector<std::string> notes;  // what is read from a copy in other blocks

  /// A format of one of the region's tensors in terms of the whole program's axes.
  Format wholeFormat(TensorId tensor, Format format) const;
};

/// By tensor: the statements that read it, in program order.
using Readers = std::vector<std::vector<size_t>>;
Readers readersOf(const Program& program);

/// Requires known sizes. `statements` in program order. The work goes by the region's size, not the program's, where
/// the readers are known.
Region fuseRegion(const Program& program, const std::vector<size_t>& statements, const Readers& readers);
Region fuseRegion(const Program& program, const std::vector<size_t>& statements);

/// For each of `members`, whether a statement that is none of them or the user needs its tensor.
std::vector<bool> neededOutside(const Program& program, const std::vector<size_t>& members, const Readers& readers);

}  // namespace tokamak::sparse
