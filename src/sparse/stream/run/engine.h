#pragma once

#include "sparse/stream/run/network.h"

namespace tokamak::stream {

/// Gives the smallest full channel room; T0963 where none is full.
template <class P>
Result<> growSmallest(Network<P>& network);

/// Runs a network to its end. Channels are small arrays; nodes run in turn, producers first, each as far as it can, so
/// that a few thousand tokens of every stream exist at a time. Where a stream has to hold more (a row that is
/// normalised once its sum is known), nobody can move: then the smallest full channel is doubled. The results do not
/// depend on any of this. `pause` is called now and then; it may end the run by returning false.
template <class P>
Result<> runNetwork(Network<P>& network, const std::function<bool()>& pause = {}) {
  for (uint64_t round = 1;; ++round) {
    bool moved = false, finished = true;
    for (const auto& node : network.nodes()) {
      if (node->done()) continue;
      finished = false;
      moved = node->advance() || moved;
      if (node->fault()) return *node->fault();
    }
    if (finished) return Unit{};
    if (!moved) TK_RETURN_IF_ERROR(growSmallest(network));
    if (round % 1024 == 0 && pause && !pause()) return Unit{};
  }
}

template <class P>
Result<> growSmallest(Network<P>& network) {
  typename P::Channel* smallest = nullptr;
  for (const auto& channel : network.channels())
    if (channel->isFull() && (smallest == nullptr || channel->capacity() < smallest->capacity()))
      smallest = channel.get();
  if (smallest == nullptr)
    return Diagnostic{"T0963",
                      {},
                      fmt::format("@{}: no node can go on, though streams have not ended", network.graph().name),
                      "a stream ends before the others that meet it"};
  smallest->grow();
  return Unit{};
}

}  // namespace tokamak::stream
