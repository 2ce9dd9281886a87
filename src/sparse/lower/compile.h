#pragma once

#include "sparse/algebra/algebra.h"
#include "sparse/cost/estimate.h"
#include "sparse/einsum/evaluate.h"
#include "sparse/order/order.h"
#include "sparse/schedule/schedule.h"
#include "sparse/stream/graph.h"
#include "sparse/table/build.h"

namespace tokamak::sparse {

/// A region, how it runs, and its graph.
struct CompiledRegion {
  Region region;
  TableOptions options;
  Table table;
  stream::Graph graph;
  Estimate estimate;
  size_t ordersSeen = 1;                                // legal orders that were compared
  std::vector<std::pair<std::string, int64_t>> blocks;  // that the schedule asked for
  std::vector<std::string> notes;                       // permuted copies, orders that were passed over
};

/// A program ready to run: regions in the order in which they run. Every tensor of `program` has its format.
struct Compiled {
  Program program;
  std::vector<CompiledRegion> regions;
  std::vector<AlgebraStep> algebra;  // how the program was rewritten first
  bool rewrittenWhole = false;       // before it was cut into regions
};

/// Compiles under a schedule. Sizes must be known (`bindSizes`, or written in the program). Where the schedule leaves
/// the order of a region open, legal orders are compared by their estimates, from `data` (in declared formats) where it
/// is there, else from a tenth of the entries.
Result<Compiled> compile(const Program& program, const Schedule& schedule, const Bindings* data = nullptr);

/// The schedule of one region a statement, and the one that leaves the regions to the cost model.
Schedule unfused();
Schedule automatic();
/// What was compiled, as a schedule that gives the same regions and orders.
Schedule scheduleOf(const Compiled& compiled, const std::string& name);

}  // namespace tokamak::sparse
