#pragma once

#include "search/data.h"
#include "sparse/schedule/schedule.h"

namespace tokamak::search {

/// A program made ready to be searched: rewritten, every format known but those of temps, and the values of all
/// tensors, computed once.
struct Model {
  sparse::Program program;
  sparse::Schedule base;  // what concerns the whole program; a plan adds its regions
  std::shared_ptr<const Data> data;
};

/// `inputs` in declared formats. Of `wish` only what concerns the whole program counts: algebra, formats, blocks.
Result<Model> prepare(const sparse::Program& program, const sparse::Bindings& inputs, const sparse::Schedule& wish);

/// Products as written, or re-associated across the whole program.
sparse::Schedule wholeProgram(bool algebra);

}  // namespace tokamak::search
