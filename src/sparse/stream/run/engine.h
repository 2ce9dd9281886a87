#pragma once

#include <functional>

#include "sparse/stream/run/make_node.h"

namespace tokamak::stream {

/// A graph at work under profile `P`: one RunNode a node, one channel a stream. Channels are small arrays; nodes run in
/// turn, producers first, each as far as it can, so that a few thousand tokens of every stream exist at a time. Where a
/// stream has to hold more (a row that is normalised once its sum is known), nobody can move: then the smallest full
/// channel is doubled. The results do not depend on any of this.
template <class P>
class Engine {
 public:
  static constexpr size_t kChunk = 1024;

  /// Requires a verified graph whose inputs are bound (`bindSizes`). `chunk`: tokens that a channel has room for, at least 32.
  Engine(const Graph& graph, const Inputs& inputs, size_t chunk = kChunk) : graph_(graph), chunk_(chunk) {
    addResults();
    NodeMaker<P> maker(graph, inputs, results_);
    channelOf_.resize(graph.streams().size());
    offsets_.resize(graph.streams().size(), 0);
    for (NodeId id : topologicalOrder(graph)) {
      const Node& node = graph.node(id);
      if (std::holds_alternative<Broadcast>(node.block))
        share(node);
      else
        nodes_.push_back(maker.make(node.block, connect(id)));
    }
  }

  /// Runs to the end. `pause` is called now and then; it may end the run by returning false.
  Result<> run(const std::function<bool()>& pause = {}) {
    for (uint64_t round = 1;; ++round) {
      bool moved = false, finished = true;
      for (const auto& node : nodes_) {
        if (node->done()) continue;
        finished = false;
        moved = node->advance() || moved;
        if (node->fault()) return *node->fault();
      }
      if (finished) return Unit{};
      if (!moved) TK_RETURN_IF_ERROR(growOne());
      if (round % 1024 == 0 && pause && !pause()) return Unit{};
    }
  }

  /// Tokens put into streams; a broadcast counts once for each reader, a repeat its signals too.
  uint64_t tokens() const {
    uint64_t sum = 0;
    for (const auto& channel : channels_)
      if (channel->readerCount() > 0) sum += channel->put();
    for (StreamId stream : broadcast_) sum += channelOf_[stream.index]->put();
    for (const auto& node : nodes_)
      if (const auto* repeat = dynamic_cast<const RepeatNode<P>*>(node.get())) sum += repeat->signals();
    return sum;
  }

  size_t bytes() const {
    size_t sum = 0;
    for (const auto& channel : channels_) sum += channel->bytes();
    return sum;
  }

  const std::vector<std::unique_ptr<RunNode<P>>>& nodes() const { return nodes_; }
  Storages& results() { return results_; }

 private:
  using Channel = typename P::Channel;

  void addResults() {
    for (const Tensor& tensor : graph_.tensors()) {
      if (!tensor.isOutput) continue;
      TensorStorage& result = results_[tensor.name];
      result.block = tensor.block;
      for (const Level& level : tensor.levels) result.levels.push_back({LevelFormat::compressed, level.size, {}, {}});
    }
  }

  /// Fewer tokens of large blocks.
  size_t chunkFor(int64_t elements) const {
    return elements == 0 ? chunk_ : std::max<size_t>(32, chunk_ / static_cast<size_t>(elements));
  }

  typename RunNode<P>::Site connect(NodeId id) {
    const Node& node = graph_.node(id);
    typename RunNode<P>::Site site{&graph_, id, {}, {}};
    for (StreamId input : node.inputs) site.inputs.push_back(channelOf_[input.index]->addReader(offsets_[input.index]));
    for (StreamId output : node.outputs) {
      const int64_t elements = output ? graph_.stream(output).block.elements() : 0;
      channels_.push_back(std::make_unique<Channel>(chunkFor(elements), P::kTimed, static_cast<size_t>(elements)));
      site.outputs.push_back(channels_.back().get());
      if (output) channelOf_[output.index] = channels_.back().get();
    }
    return site;
  }

  /// A broadcast's outputs are its input's channel, read a cycle later.
  void share(const Node& node) {
    const size_t from = node.inputs[0].index;
    for (StreamId output : node.outputs) {
      if (!output) continue;
      channelOf_[output.index] = channelOf_[from];
      offsets_[output.index] = offsets_[from] + 1;
      broadcast_.push_back(output);
    }
  }

  Result<> growOne() {
    Channel* smallest = nullptr;
    for (const auto& channel : channels_)
      if (channel->isFull() && (smallest == nullptr || channel->capacity() < smallest->capacity()))
        smallest = channel.get();
    if (smallest == nullptr)
      return Diagnostic{"T0963",
                        {},
                        fmt::format("@{}: no node can go on, though streams have not ended", graph_.name),
                        "a stream ends before the others that meet it"};
    smallest->grow();
    return Unit{};
  }

  const Graph& graph_;
  size_t chunk_;
  Storages results_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<Channel*> channelOf_;                 // by stream
  std::vector<Stamp> offsets_;                      // by stream: broadcasts on the way
  std::vector<StreamId> broadcast_;                 // streams that are views of others
  std::vector<std::unique_ptr<RunNode<P>>> nodes_;  // producers first
};

}  // namespace tokamak::stream
