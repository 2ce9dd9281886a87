#pragma once

#include "sparse/stream/run/network.h"

namespace tokamak::sim {

/// A network with the memory of `comal-hbm`: scans of compressed levels, arrays and writes send their requests to it.
stream::Network<stream::Timed>::Factory hbmFactory(const stream::Inputs& inputs);

/// Runs it. Everything goes on until all nodes wait, for tokens or for memory; then the batches that were sent within
/// the memory's latency of the earliest one are served, in order: whatever an answer sets free is sent later than
/// those. A channel that is full holds up only nodes that do not go to memory, as long as none that does waits for
/// them.
Result<> runWithMemory(stream::Network<stream::Timed>& network, const std::function<bool()>& pause);

}  // namespace tokamak::sim
