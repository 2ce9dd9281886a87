#pragma once

#include "sparse/stream/run/network.h"

namespace tokamak::sim {

/// Rounds that a run goes on alone before it is shared out: most end within them.
constexpr uint64_t kRoundsAlone = 512;

/// Runs a network to its end on several threads. Each has a stretch of the nodes, producers first, of about the same
/// weight; nodes run as in `stream::runNetwork`, and tokens for another thread's nodes are handed over at the end of a
/// round. A node's clock depends on its tokens alone, so that values and cycles are those of a single thread. Where the
/// first rounds on threads show no gain, one thread goes on alone.
Result<> runOnThreads(stream::Network<stream::Timed>& network, unsigned threads, const std::function<bool()>& pause,
                      uint64_t roundsAlone = kRoundsAlone);

}  // namespace tokamak::sim
