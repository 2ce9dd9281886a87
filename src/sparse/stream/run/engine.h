#pragma once

#include "sparse/stream/run/network.h"

namespace tokamak::stream {

/// T0963: the first node that waits for a token that nobody will put.
template <class P>
Diagnostic stuck(const Network<P>& network) {
  const Graph& graph = network.graph();
  for (const auto& node : network.nodes()) {
    if (node->done()) continue;
    const auto& site = node->site();
    for (size_t i = 0; i < site.inputs.size(); ++i) {
      if (site.inputs[i]->at < site.inputs[i]->end()) continue;
      const Node& from = graph.node(site.id);
      return {"T0963", from.location,
              fmt::format("{}: input {} (%{}), token {}: nothing comes, though its streams have not ended",
                          describe(graph, site.id), i, graph.stream(from.inputs[i]).name,
                          site.inputs[i]->channel->position(site.inputs[i]->at)),
              "a stream ends before the others that meet it"};
    }
  }
  return {"T0963",
          {},
          fmt::format("@{}: no node can go on, though streams have not ended", graph.name),
          "a stream ends before the others that meet it"};
}

/// Gives the smallest full channel room; T0963 where none is full.
template <class P>
Result<> growSmallest(Network<P>& network) {
  typename P::Channel* smallest = nullptr;
  for (const auto& channel : network.channels())
    if (channel->isFull() && (smallest == nullptr || channel->capacity() < smallest->capacity()))
      smallest = channel.get();
  if (smallest == nullptr) return stuck(network);
  smallest->grow();
  return Unit{};
}

/// Runs a network for some rounds; whether it came to its end. Channels are small arrays; nodes run in turn, producers
/// first, each as far as it can, so that a few thousand tokens of every stream exist at a time. Where a stream has to
/// hold more (a row that is normalised once its sum is known), nobody can move: then the smallest full channel is
/// doubled. The results do not depend on any of this.
template <class P>
Result<bool> runRounds(Network<P>& network, uint64_t rounds) {
  for (; rounds > 0; --rounds) {
    bool moved = false, finished = true;
    for (const auto& node : network.nodes()) {
      if (node->done()) continue;
      finished = false;
      moved = node->advance() || moved;
      if (node->fault()) return *node->fault();
    }
    if (finished) return true;
    if (!moved) TK_RETURN_IF_ERROR(growSmallest(network));
  }
  return false;
}

/// To the end. `pause` is called now and then; it may end the run by returning false.
template <class P>
Result<> runNetwork(Network<P>& network, const std::function<bool()>& pause = {}) {
  for (uint64_t turn = 1;; ++turn) {
    TK_TRY(const bool finished, runRounds(network, 128));
    if (finished) return Unit{};
    network.cool();
    if (turn % 8 == 0 && pause && !pause()) return Unit{};
  }
}

}  // namespace tokamak::stream
