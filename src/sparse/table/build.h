#pragma once

#include <map>
#include <set>

#include "sparse/table/region.h"
#include "sparse/table/table.h"

namespace tokamak::sparse {

/// How a region is to run.
struct TableOptions {
  /// All variables of the region's program, outermost first. Each access's levels must come in this order.
  std::vector<VarId> order;
  /// The format in which an access reads its tensor, where that is not the tensor's own (a copy).
  std::map<ExprId, Format> views;
  /// Tensors whose dense levels are walked and intersected instead of located.
  std::set<std::string> iterate;
  /// Lanes that share the elements along a variable.
  std::map<VarId, int> lanes;
};

/// Builds the table of a region. Every operation loops over its own variables only: an operand that lacks a variable is
/// repeated along it, a fold whose variable is the innermost is a reduce, one with k variables inside it a spacc of
/// order k. At each variable the rules of zero decide which coordinates are visited: factors intersect, terms unite,
/// and what is not zero at zero visits all.
///
/// T0970 where an access's storage contradicts the order, T0971 where a computed operand of several levels would have
/// to be joined, T0972 where lanes cannot be joined again.
Result<Table> buildTable(const Region& region, const TableOptions& options);

/// The levels of a format as streams walk them: COO's repeated coordinates are grouped, so they read as compressed.
Format walkedFormat(const Format& format);

}  // namespace tokamak::sparse
