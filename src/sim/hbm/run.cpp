#include "sim/hbm/run.h"

#include <bit>
#include <unordered_map>

#include "sim/hbm/nodes.h"
#include "sparse/stream/run/engine.h"

namespace tokamak::sim {

namespace {

using stream::Channel;
using stream::RunNode;

class Scheduler {
 public:
  explicit Scheduler(stream::Network<Timed>& network)
      : network_(network), ready_((network.nodes().size() + 63) / 64, 0) {
    std::unordered_map<const Channel*, size_t> producers;
    for (size_t n = 0; n < nodes().size(); ++n) {
      for (Channel* channel : nodes()[n]->site().outputs) producers.emplace(channel, n);
      clients_.push_back(dynamic_cast<MemoryClient*>(nodes()[n].get()));
      wake(n);
    }
    links_.resize(nodes().size());
    for (size_t n = 0; n < nodes().size(); ++n)
      for (const Channel::Reader* reader : nodes()[n]->site().inputs) {
        const size_t from = producers.at(reader->channel);
        links_[n].producers.push_back(from);
        links_[from].consumers.push_back(n);
      }
  }

  Result<> run(const std::function<bool()>& pause) {
    for (uint64_t round = 1;; ++round) {
      TK_RETURN_IF_ERROR(settle());
      if (!serve()) {
        if (std::ranges::all_of(nodes(), [](const auto& node) { return node->done(); })) return Unit{};
        return stuck(network_);
      }
      if (round % 4096 == 0) network_.cool();
      if (round % 65536 == 0 && pause && !pause()) return Unit{};
    }
  }

 private:
  struct Links {
    std::vector<size_t> producers, consumers;  // nodes, by port
  };

  const std::vector<std::unique_ptr<RunNode<Timed>>>& nodes() const { return network_.nodes(); }
  void wake(size_t n) { ready_[n / 64] |= uint64_t{1} << (n % 64); }

  /// Runs ready nodes, producers first, until none is.
  Result<> settle() {
    do {
      for (size_t w = 0; w < ready_.size(); ++w)
        while (ready_[w] != 0) {
          const size_t n = w * 64 + static_cast<size_t>(std::countr_zero(ready_[w]));
          ready_[w] &= ready_[w] - 1;
          RunNode<Timed>& node = *nodes()[n];
          if (node.done()) continue;
          const bool moved = node.advance();
          if (node.fault()) return *node.fault();
          if (!moved) continue;
          for (size_t consumer : links_[n].consumers) wake(consumer);
          for (size_t producer : links_[n].producers)
            if (isHeldUp(producer)) wake(producer);
          if (std::ranges::any_of(ready_.begin(), ready_.begin() + static_cast<ptrdiff_t>(w),
                                  [](uint64_t word) { return word != 0; }))
            w = static_cast<size_t>(-1);
          if (w == static_cast<size_t>(-1)) break;
        }
    } while (releaseStarved());
    return Unit{};
  }

  bool isHeldUp(size_t n) const {
    return !nodes()[n]->done() && std::ranges::any_of(nodes()[n]->site().outputs, [](Channel* channel) {
      return channel->capacity() - channel->tail() < 16;
    });
  }

  /// Gives room to nodes that a memory client waits for, directly or not; whether there were any.
  bool releaseStarved() {
    bool released = false;
    seen_.assign(nodes().size(), false);
    for (size_t n = 0; n < nodes().size(); ++n)
      if (clients_[n] != nullptr && !clients_[n]->isWaiting() && !nodes()[n]->done()) released = release(n) || released;
    return released;
  }
  bool release(size_t n) {
    bool released = false;
    for (size_t i = 0; i < links_[n].producers.size(); ++i) {
      const Channel::Reader* reader = nodes()[n]->site().inputs[i];
      const size_t from = links_[n].producers[i];
      if (reader->channel->tail() - reader->at > 1 || seen_[from] || nodes()[from]->done()) continue;
      seen_[from] = true;
      if (clients_[from] != nullptr) continue;  // it is looked at in its own right
      for (Channel* channel : nodes()[from]->site().outputs) {
        if (!channel->isFull()) continue;
        channel->grow();
        wake(from);
        released = true;
      }
      released = release(from) || released;
    }
    return released;
  }

  bool serve() {
    batches_.clear();
    Stamp first = UINT64_MAX;
    for (MemoryClient* client : clients_)
      if (client != nullptr && client->isWaiting()) first = std::min(first, client->time());
    if (first == UINT64_MAX) return false;
    for (size_t n = 0; n < clients_.size(); ++n) {
      if (clients_[n] == nullptr || !clients_[n]->isWaiting() || clients_[n]->time() >= first + Hbm::kLatency) continue;
      batches_.push_back(clients_[n]);
      wake(n);
    }
    std::ranges::sort(batches_, [](const MemoryClient* a, const MemoryClient* b) { return a->before(*b); });
    memory_.serve(batches_);
    return true;
  }

  stream::Network<Timed>& network_;
  Hbm memory_;
  std::vector<uint64_t> ready_;         // a bit a node
  std::vector<MemoryClient*> clients_;  // by node; none where it does not go to memory
  std::vector<Links> links_;
  std::vector<bool> seen_;
  std::vector<MemoryClient*> batches_;
};

}  // namespace

stream::Network<Timed>::Factory hbmFactory(const stream::Inputs& inputs) {
  using namespace stream;
  return [&inputs](const Block& block, const RunNode<Timed>::Site& site,
                   Storages& results) -> std::unique_ptr<RunNode<Timed>> {
    const auto isBlocked = [&] {
      return !site.graph->node(site.id).inputs.empty() &&
             !site.graph->stream(site.graph->node(site.id).inputs[0]).block.isNumber();
    };
    if (const auto* scan = std::get_if<Scan>(&block)) {
      const LevelView& level = inputs.at(scan->tensor).levels[static_cast<size_t>(scan->level)];
      if (level.format == LevelFormat::compressed) return std::make_unique<HbmScanNode>(site, level);
    } else if (const auto* array = std::get_if<Array>(&block)) {
      if (site.graph->tensor(array->tensor)->block.empty())
        return std::make_unique<HbmArrayNode>(site, inputs.at(array->tensor).values);
    } else if (const auto* level = std::get_if<WriteLevel>(&block)) {
      return std::make_unique<HbmWriteLevelNode>(site,
                                                 &results.at(level->tensor).levels[static_cast<size_t>(level->level)]);
    } else if (const auto* values = std::get_if<WriteValues>(&block)) {
      if (!isBlocked()) return std::make_unique<HbmWriteValuesNode>(site, &results.at(values->tensor).values);
    }
    return nullptr;
  };
}

Result<> runWithMemory(stream::Network<Timed>& network, const std::function<bool()>& pause) {
  return Scheduler(network).run(pause);
}

}  // namespace tokamak::sim
