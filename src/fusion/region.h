#pragma once

#include <functional>
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

/// Who runs a contract region.
enum class Tier : uint8_t { kernel, library };
template <>
struct EnumNames<Tier> {
  static constexpr std::array<std::string_view, 2> names = {"kernel", "library"};
};

/// What a library call does to its result before storing it, one after another.
struct EpilogueStep {
  enum class Kind : uint8_t { activation, binary } kind = Kind::activation;
  Activation activation;                // of kind activation
  BinaryKind binary = BinaryKind::add;  // of kind binary: result op operand
  ValueId operand;                      // of kind binary: a stored value
  enum class Across : uint8_t {
    none,
    rows,
    scalar
  } across = Across::none;  // operand has the result's shape, one value a column (channel), one value
  ValueId result;           // the graph value that stands after this step
};

/// One kernel-to-be: what it stores, the shape it iterates over and the axes it folds. What it computes follows: from
/// the outputs back to values that other regions store, graph inputs and constants.
///
/// Values in a region are at one of two levels: full (shape `domain`) or kept (`domain` without `folded`).
struct Region {
  RegionId id;
  RegionKind kind = RegionKind::pointwise;
  Shape domain;
  std::vector<Axis> folded;            // empty unless reduce or scan
  std::vector<ValueId> across;         // folds over all axes but `folded`, taken on the way (see join_regions.h)
  std::vector<ValueId> outputs;        // stored
  std::vector<ValueId> inputs;         // stored values, graph inputs, constants that are loaded
  std::vector<ValueId> nodes;          // all that is computed here: members, replicated producers, views; in order
  Tier tier = Tier::kernel;            // of contract regions
  ValueId contraction;                 // the product of a contract region
  std::vector<EpilogueStep> epilogue;  // of library regions
};

/// A partition of a graph into regions, in an order in which producers run first. Reshapes of stored values that no
/// region computes are aliases.
struct FusionPlan {
  std::vector<Region> regions;
  std::vector<ValueId>
      aliasOf;  // per value: for a reshape that shares its operand's memory, that operand; invalid otherwise
  Ledger ledger;
};

/// What the planner believes of a machine, in bytes and microseconds.
struct MachineModel {
  double bytesPerMicrosecond = 20000;  // streaming through memory, all cores
  double launchMicroseconds = 1.5;     // one more kernel
  double opsPerMicrosecond = 60000;    // simple f32 element operations, all cores
  double rowBudgetBytes = 1 << 20;     // what a row may occupy in a core's own cache between sweeps
  int64_t maxWeight = 160;             // element operations in one kernel, so that registers and compile time hold out
  int64_t maxAgain = 8;                // element operations computed a second time rather than stored and loaded
  int64_t maxAcross = 0;               // elements of folds that rows' threads can carry from row to row; 0: none
  bool pairsFolds = false;             // folds that make a pair (fold_pairs.h) share a sweep
  int threads = 2;
};

struct FusionOptions {
  MachineModel machine;
  DimBindings hints;                // likely values of symbols; 1024 where absent
  bool fuse = true;                 // false: every op a kernel of its own, for comparison
  std::vector<DType> libraryTypes;  // dtypes whose products a library serves; none: there is no library
  bool epilogues = true;            // library calls may apply what follows a product
  bool libraryConvs = true;         // it serves convolutions too
  bool libraryFewRows = false;      // and products of a few rows, which a kernel does at the speed of a read
  /// Whether a library call can apply these steps after the product; null: any.
  std::function<bool(const Graph&, ValueId product, const std::vector<EpilogueStep>&)> acceptsEpilogue;
  /// An activation of a tensor of this type, written out in primitives as the pipeline leaves it: how epilogues are
  /// found.
  std::function<Graph(const Activation&, const TensorType&)> decomposed;
};

/// Partitions a graph of primitive ops (composites must have been decomposed). Cost grows almost linearly with its
/// size.
FusionPlan planFusion(const Graph& graph, const FusionOptions& options);

}  // namespace tokamak
