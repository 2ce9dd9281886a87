#pragma once

#include <string>
#include <vector>

#include "sim/report.h"

namespace tokamak::sim {

enum class WaitKind : uint8_t { none, input, output, memory, compute };

struct Wait {
  WaitKind kind = WaitKind::none;
  size_t port = 0;
  uint64_t cycles = 0;
};
Wait longestWaitOf(const NodeReport& node);
/// `%v3 (from 4)`, `room in %v3`, `memory`, `a compute unit`.
std::string describe(const stream::Graph& graph, stream::NodeId node, const Wait& wait);

struct PathStep {
  stream::NodeId node;
  Wait wait;  // for which it was held up most; none at the last one
};

/// Why the run took so long: from the node that ends last, each time on to the one it waited for longest (the producer
/// of a stream, or the consumer that left no room), until one is busy for longer than it waits for others, or waits for
/// memory.
std::vector<PathStep> criticalPath(const stream::Graph& graph, const Report& report);

}  // namespace tokamak::sim
