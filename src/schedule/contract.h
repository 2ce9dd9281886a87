#pragma once

#include "schedule/lowering.h"

namespace tokamak::schedule {

/// Products in plain loops, for what no library serves (integers, float64, one row against a matrix) and for when there
/// is none; pointwise work that follows is done before the result is stored. Lanes run along the axis that both the
/// loads and the result are contiguous in, or along the folded axis when that is where the operands are.
struct Contract {
  static constexpr std::string_view name = "contract";
  struct Plan {
    int lanes = 16;
    int64_t grain = 8;  // results along the columns that a thread must have, when lanes run along the folded axis
    /// A few rows against a matrix: all `rows` are folded with `columns` lines of the matrix at a time, so that it is
    /// read once, as fast as memory gives it. 0: each result by itself.
    int64_t rows = 0, columns = 1;
    bool fetches = true;  // lines of the matrix are asked for ahead
    std::string str() const;
  };

  Decision accepts(const Graph& graph, const Region& region) const;
  Plan plan(const Graph& graph, const Region& region, const DimBindings& hints, const Device& device) const;
  Scheduled lower(const Graph& graph, const Region& region, const Plan& plan, const std::string& kernelName) const;
};

}  // namespace tokamak::schedule
