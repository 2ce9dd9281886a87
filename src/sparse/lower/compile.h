#pragma once

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
  std::vector<std::string> notes;  // permuted copies, orders that were passed over
};

/// A program ready to run: regions in the order in which they run. Every tensor of `program` has its format.
struct Compiled {
  Program program;
  std::vector<CompiledRegion> regions;
};

/// Compiles under a schedule. Sizes must be known (`bindSizes`, or written in the program). `data` serves the estimates
/// of sizes where it is there.
Result<Compiled> compile(const Program& program, const Schedule& schedule, const Bindings* data = nullptr);

/// The schedule of one region a statement.
Schedule unfused();

}  // namespace tokamak::sparse
