#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "support/ids.h"

namespace tokamak {

struct RegionTag;
using RegionId = Id<RegionTag>;

/// What became of a producer-consumer edge.
enum class EdgeDecision : uint8_t {
  fused,       // both ends in one kernel; the value never reaches memory for this reader
  replicated,  // the reader's kernel computes the producer again instead of loading it
  aliased,     // the reader sees the producer's memory under another shape; nothing moves
  library,     // the producer's library call applies the reader as an epilogue
  cut,         // stored by one kernel, loaded by another
};
template <>
struct EnumNames<EdgeDecision> {
  static constexpr std::array<std::string_view, 5> names = {"fused", "replicated", "aliased", "library", "cut"};
};

/// One edge of the graph, what was decided, by which rule and why, and what it is predicted to save (fused, replicated,
/// aliased, library) or cost (cut) at the hinted sizes.
struct LedgerEdge {
  ValueId producer, consumer;
  EdgeDecision decision = EdgeDecision::cut;
  std::string rule;    // short and stable: "same-domain", "row-broadcast", "folds-differ", ...
  std::string reason;  // for people: "inner-reduce declined: %3 folds axis 1, %7 folds axis 0"
  double bytes = 0;
  double microseconds = 0;
};

/// One kernel or library call of the plan.
struct LedgerRegion {
  RegionId id;
  std::string kind;              // "pointwise", "reduce", "scan", "library", ...
  std::string name;              // of the kernel
  std::string schedule;          // scheduler and plan, as text
  std::vector<ValueId> nodes;    // computed here, in order (replicated ones appear in several regions)
  std::vector<ValueId> inputs;   // loaded
  std::vector<ValueId> outputs;  // stored
  double bytesRead = 0, bytesWritten = 0;
  double microseconds = 0;           // predicted
  double measuredMicroseconds = -1;  // filled in by a profiled run; negative: not measured
};

/// Everything the planner decided about one graph (which it names nodes of), for `explain`.
struct Ledger {
  std::vector<LedgerEdge> edges;
  std::vector<LedgerRegion> regions;
  double unfusedBytes = 0, fusedBytes = 0;                // moved when every op is its own kernel; as planned
  double unfusedMicroseconds = 0, fusedMicroseconds = 0;  // predicted
  std::vector<std::string> notes;                         // what was specialised and why, and the like
};

}  // namespace tokamak
