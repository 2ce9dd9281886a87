#pragma once

#include "schedule/lowering.h"
#include "schedule/phases.h"

namespace tokamak::schedule::gpu {

/// The part of a region that computes `roots` from its inputs and from values in `known` (by value; none if empty). Its
/// outputs are still the region's.
Region partOf(const Graph& graph, const Region& region, const std::vector<ValueId>& roots,
              const std::vector<bool>& known = {});

/// Cuts a reduce region at its folds: a region a sweep, each with the results it leaves for later ones as outputs, and
/// at the end a pointwise one if something is stored at full level. Results that only pass between them get scratch in
/// `memory`.
std::vector<Region> splitSweeps(const Graph& graph, const Region& region, RegionMemory& memory);

/// What a region with folds across does row by row: all but what comes after those folds. They are still its `across`.
Region rowsPart(const Graph& graph, const Region& region);
/// The folds across and what comes after them, as a region that folds all axes but the region's.
Region columnsPart(const Graph& graph, const Region& region);
/// A reduce region of one sweep without what comes before its folds.
Region afterFolds(const Graph& graph, const Region& region);

/// The launches of several, in order, as one.
Scheduled joined(std::vector<Scheduled> parts, std::string scheduler, std::string plan);

}  // namespace tokamak::schedule::gpu
