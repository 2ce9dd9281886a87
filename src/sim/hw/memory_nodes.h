#pragma once

#include "sim/hw/fifo.h"
#include "sim/hw/storage.h"
#include "sparse/stream/run/data.h"
#include "sparse/stream/run/node.h"

/// The blocks that go to memory in the `hw` profile. Requests overlap: a node asks for what comes next while it waits.
namespace tokamak::sim {

using HwNode = stream::RunNode<Hw>;

/// A node that may wait for memory; the cycle in which what it waits for is there, or 0.
class MemoryWaiter {
 public:
  virtual ~MemoryWaiter() = default;
  virtual Stamp wakeAt() const = 0;
};

/// Walks compressed and singleton levels: segments of the next references are fetched early, coordinates burst by burst
/// with the next one on its way.
class HwScanNode final : public HwNode, public MemoryWaiter {
 public:
  HwScanNode(Site site, const stream::LevelView& level, ReadPort positions, ReadPort coordinates, int64_t lookahead)
      : HwNode(std::move(site)),
        level_(level),
        positions_(std::move(positions)),
        coordinates_(std::move(coordinates)),
        lookahead_(static_cast<size_t>(lookahead)) {}
  Stamp wakeAt() const override { return wait_; }

 private:
  enum class Phase : uint8_t { idle, fiber, stop };
  void step() override;
  void askAhead();
  bool open(FifoIn& in);
  void control(FifoIn& in, FifoOut& crd, FifoOut& ref);
  void walk(FifoOut& crd, FifoOut& ref);
  void end(FifoIn& in, FifoOut& crd, FifoOut& ref);
  void take(FifoIn& in);

  stream::LevelView level_;
  ReadPort positions_, coordinates_;
  size_t lookahead_;
  std::deque<Stamp> asked_;  // for tokens at the front of the input: when their segments are there
  Phase phase_ = Phase::idle;
  int64_t at_ = 0, end_ = 0;
  Stamp ready_ = 0;  // when the coordinate at at_ is there; 0 before it is asked for
  Stamp wait_ = 0;
};

/// Loads values, several at a time on their way, in order.
class HwArrayNode final : public HwNode, public MemoryWaiter {
 public:
  HwArrayNode(Site site, std::span<const double> values, ReadPort port, int64_t outstanding)
      : HwNode(std::move(site)),
        values_(values),
        port_(std::move(port)),
        outstanding_(static_cast<size_t>(outstanding)) {}
  Stamp wakeAt() const override { return flying_.empty() ? 0 : flying_.front().ready; }

 private:
  struct Load {
    Word word;
    int64_t reference;  // of a block of values
    Stamp ready;
  };
  void step() override;
  bool accept(FifoIn& in, size_t elements);
  void put(FifoOut& out);

  std::span<const double> values_;
  ReadPort port_;
  size_t outstanding_;
  std::deque<Load> flying_;
};

/// Stores the coordinates and segment ends of a level, or the values of a tensor; a token a cycle while bursts go out.
class HwWriteNode final : public HwNode, public MemoryWaiter {
 public:
  HwWriteNode(Site site, stream::LevelStorage* level, std::vector<double>* values, WritePort entries,
              WritePort segments)
      : HwNode(std::move(site)),
        level_(level),
        values_(values),
        entries_(std::move(entries)),
        segments_(std::move(segments)) {
    if (level_ != nullptr) level_->pos.push_back(0);
  }
  Stamp wakeAt() const override { return wait_; }

 private:
  void step() override;
  void store(const FifoIn& in, Word head);

  stream::LevelStorage* level_;  // one of the two
  std::vector<double>* values_;
  WritePort entries_, segments_;
  Stamp wait_ = 0;
};

/// A broadcast without cursors that live on the heap: it runs every cycle.
class HwBroadcastNode final : public HwNode {
 public:
  using HwNode::HwNode;

 private:
  void step() override;
};

}  // namespace tokamak::sim
