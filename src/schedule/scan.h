#pragma once

#include "schedule/lowering.h"

namespace tokamak::schedule {

/// A running fold along one axis with pointwise work before and after it. Along the last axis the lanes of a vector are
/// folded by prefixes and the last lane is carried; along another axis every lane carries its own column.
struct RunningFold {
  static constexpr std::string_view name = "scan";
  struct Plan {
    int lanes = 16;  // 1: element by element
    int64_t grain = 1;
    std::string str() const;
  };

  Decision accepts(const Graph& graph, const Region& region) const;
  Plan plan(const Graph& graph, const Region& region, const DimBindings& hints, const Device& device) const;
  Scheduled lower(const Graph& graph, const Region& region, const Plan& plan, const std::string& kernelName) const;
};

}  // namespace tokamak::schedule
