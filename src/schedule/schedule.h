#pragma once

#include "schedule/lowering.h"

namespace tokamak::schedule {

/// A scheduler says whether it can run a region (structure only), how (a plan: pure, fast, plain data that prints), and
/// does.
template <class S>
concept Scheduler = requires(const S& s, const Graph& graph, const Region& region, const DimBindings& hints,
                             const Device& device, const typename S::Plan& plan) {
  { s.accepts(graph, region) } -> std::same_as<Decision>;
  { s.plan(graph, region, hints, device) } -> std::same_as<typename S::Plan>;
  { s.lower(graph, region, plan, std::string()) } -> std::same_as<Scheduled>;
  { plan.str() } -> std::same_as<std::string>;
};

Diagnostic noScheduler(const std::string& refusals);

/// The region by one scheduler, or its refusal.
template <Scheduler S>
Result<Scheduled> runScheduler(const S& scheduler, const Graph& graph, const Region& region, const DimBindings& hints,
                               const Device& device, const std::string& kernelName) {
  if (Decision decision = scheduler.accepts(graph, region); !decision) return noScheduler(decision.reason());
  return scheduler.lower(graph, region, scheduler.plan(graph, region, hints, device), kernelName);
}

/// The kernel of a region, by the first scheduler of its kind that accepts it. A region no scheduler takes is our bug:
/// the diagnostic (T0510) carries every refusal.
Result<Scheduled> scheduleRegion(const Graph& graph, const Region& region, const DimBindings& hints,
                                 const Device& device, const std::string& kernelName);

}  // namespace tokamak::schedule
