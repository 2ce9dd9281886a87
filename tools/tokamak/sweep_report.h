#pragma once

#include "command.h"
#include "search/model.h"
#include "search/search.h"
#include "sim_arguments.h"
#include "sparse_arguments.h"

namespace tokamak::tool {

struct SweepOptions {
  SparseArguments program;
  SimArguments timing;
  std::string output, database, scheduler, algebra = "both";
  std::vector<int64_t> blocks;
  search::SpaceOptions space;
  search::SearchOptions search;
  bool json = false;
  bool next = false, worker = false, accept = false;  // steps of a search on a cluster
};

/// One variant of the program, its space, and what was found there.
struct Searched {
  search::Model model;
  search::Space space;
  search::Outcome outcome;
};

/// Prints the front and the best schedule of all variants, and writes the schedule where one is wanted. The schedule is
/// compiled again from the program as written and run: its outputs are compared, so what is written is what was found.
Result<Outcome> reportSweep(const SweepOptions& options, const SparseProgram& program,
                            const std::vector<Searched>& found, const std::string& database, bool interrupted);

}  // namespace tokamak::tool
