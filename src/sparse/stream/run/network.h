#pragma once

#include <functional>

#include "sparse/stream/run/make_node.h"

namespace tokamak::stream {

/// A graph made ready to run under profile `P`: a RunNode for each node but broadcasts, a channel for each stream but
/// those that are views of others, and the outputs to be.
template <class P>
class Network {
 public:
  using Channel = typename P::Channel;
  using Made = std::unique_ptr<RunNode<P>>;
  /// Makes nodes of its own for some blocks; nothing for the others.
  using Factory = std::function<Made(const Block&, const typename RunNode<P>::Site&, Storages& results)>;

  using Setup = typename P::Setup;

  /// Requires a verified graph whose inputs are bound (`bindSizes`).
  Network(const Graph& graph, const Inputs& inputs, const Setup& setup = {}, const Factory& factory = {})
      : graph_(graph), setup_(setup) {
    addResults();
    NodeMaker<P> maker(graph, inputs, results_);
    channelOf_.resize(graph.streams().size());
    offsets_.resize(graph.streams().size(), 0);
    for (NodeId id : topologicalOrder(graph)) {
      const Node& node = graph.node(id);
      if (Setup::kViews && std::holds_alternative<Broadcast>(node.block)) {
        share(node);
        continue;
      }
      auto site = connect(id);
      Made made = factory ? factory(node.block, site, results_) : nullptr;
      nodes_.push_back(made ? std::move(made) : maker.make(node.block, std::move(site)));
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

  /// Gives pages of long backlogs back to the system; to be called now and then.
  void cool() {
    for (const auto& channel : channels_) channel->cool();
  }

  const Graph& graph() const { return graph_; }
  const std::vector<Made>& nodes() const { return nodes_; }  // producers first
  const std::vector<std::unique_ptr<Channel>>& channels() const { return channels_; }
  Storages& results() { return results_; }

 private:
  void addResults() {
    for (const Tensor& tensor : graph_.tensors()) {
      if (!tensor.isOutput) continue;
      TensorStorage& result = results_[tensor.name];
      result.block = tensor.block;
      for (const Level& level : tensor.levels) result.levels.push_back({LevelFormat::compressed, level.size, {}, {}});
    }
  }

  typename RunNode<P>::Site connect(NodeId id) {
    const Node& node = graph_.node(id);
    typename RunNode<P>::Site site{&graph_, id, {}, {}};
    for (StreamId input : node.inputs)
      site.inputs.push_back(setup_.reader(*channelOf_[input.index], offsets_[input.index], site.inputs.size()));
    for (StreamId output : node.outputs) {
      const int64_t elements = output ? graph_.stream(output).block.elements() : 0;
      channels_.push_back(setup_.make(output, static_cast<size_t>(elements)));
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

  const Graph& graph_;
  Setup setup_;
  Storages results_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<Channel*> channelOf_;  // by stream
  std::vector<Stamp> offsets_;       // by stream: broadcasts on the way
  std::vector<StreamId> broadcast_;  // streams that are views of others
  std::vector<Made> nodes_;
};

}  // namespace tokamak::stream
