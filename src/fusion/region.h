#pragma once

#include <vector>

#include "fusion/ledger.h"
#include "graph/graph.h"

namespace tokamak {

/// How a region runs.
enum class RegionKind : uint8_t {
  pointwise,  // every output has the domain's shape; one pass
  reduce,     // folds over `folded` axes of the domain, with pointwise work before, between and after
  scan,       // a running fold along `folded`, with pointwise work before and after
  scatter,    // one scatter, its operands computed on the way
  contract,   // one matmul or conv, and what follows it in place
};
template <>
struct EnumNames<RegionKind> {
  static constexpr std::array<std::string_view, 5> names = {"pointwise", "reduce", "scan", "scatter", "contract"};
};

/// One kernel-to-be: what it stores, the shape it iterates over and the axes it folds. What it computes follows: from the
/// outputs back to values that other regions store, graph inputs and constants.
///
/// Values in a region are at one of two levels: full (shape `domain`) or kept (`domain` without `folded`).
struct Region {
  RegionId id;
  RegionKind kind = RegionKind::pointwise;
  Shape domain;
  std::vector<Axis> folded;      // empty unless reduce or scan
  std::vector<ValueId> outputs;  // stored
  std::vector<ValueId> inputs;   // stored values, graph inputs, constants that are loaded
  std::vector<ValueId> nodes;    // all that is computed here: members, replicated producers, views; in order
};

/// A partition of a graph into regions, in an order in which producers run first. Reshapes of stored values that no region
/// computes are aliases.
struct FusionPlan {
  std::vector<Region> regions;
  std::vector<ValueId> aliasOf;  // per value: the stored value whose memory it shares; invalid otherwise
  Ledger ledger;
};

/// What the planner believes of a machine, in bytes and microseconds.
struct MachineModel {
  double bytesPerMicrosecond = 20000;  // streaming through memory, all cores
  double launchMicroseconds = 1.5;     // one more kernel
  double opsPerMicrosecond = 60000;    // simple f32 element operations, all cores
  double rowBudgetBytes = 1 << 20;     // what a row may occupy in a core's own cache between sweeps
  int64_t maxWeight = 160;             // element operations in one kernel, so that registers and compile time hold out
  int threads = 2;
};

struct FusionOptions {
  MachineModel machine;
  DimBindings hints;    // likely values of symbols; 1024 where absent
  bool fuse = true;     // false: every op a kernel of its own, for comparison
  bool library = true;  // products may take pointwise epilogues into a library call
};

/// Partitions a graph of primitive ops (composites must have been decomposed). Cost grows almost linearly with its size.
FusionPlan planFusion(const Graph& graph, const FusionOptions& options);

}  // namespace tokamak
