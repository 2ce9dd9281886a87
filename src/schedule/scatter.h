#pragma once

#include "schedule/lowering.h"

namespace tokamak::schedule {

/// What becomes of an element that an update meets.
ExprId combined(Writer& w, ScatterKind kind, ExprId old, ExprId x);

/// A copy of the first operand, then the updates in the order of the index along the scattered axis. Points that differ
/// in another axis never meet, so those axes run in parallel and across lanes, and the result never depends on timing.
struct ScatterUpdates {
  static constexpr std::string_view name = "scatter";
  struct Plan {
    int lanes = 16;
    int64_t grain = 1;
    std::string str() const;
  };

  Decision accepts(const Graph& graph, const Region& region) const;
  Plan plan(const Graph& graph, const Region& region, const DimBindings& hints, const Device& device) const;
  Scheduled lower(const Graph& graph, const Region& region, const Plan& plan, const std::string& kernelName) const;
};

}  // namespace tokamak::schedule
