#pragma once

#include "sim/hbm/memory.h"
#include "sparse/stream/run/data.h"
#include "sparse/stream/run/node.h"

/// The blocks that go to memory in the `comal-hbm` profile, with its batches of up to 8 words.
namespace tokamak::sim {

using stream::In;
using stream::LevelStorage;
using stream::LevelView;
using stream::Out;
using stream::Timed;
using stream::Word;

constexpr size_t kBatch = 8;

class MemoryNode : public stream::RunNode<Timed>, public MemoryClient {
 public:
  MemoryNode(Site site, bool writes) : RunNode(std::move(site)), MemoryClient(this->site().id.index, writes) {}
  Stamp waitedForMemory() const { return waited_; }

 protected:
  void step() final {
    if (isWaiting()) return;
    for (stream::Channel* channel : site().outputs) channel->reserve(2 * kBatch);
    if (state() == State::answered) {
      const Stamp answer = takeAnswer();
      waited_ += answer - std::min(answer, clock_.t);
      clock_.await(answer);
      ++steps_;
      answered();
    }
    if (!isWaiting() && !done_ && !fault_) go();
  }
  /// A batch of `count` words, sent now.
  void ask(size_t count) {
    post(clock_.t, static_cast<unsigned>(count));
    ++steps_;
  }

  virtual void answered() = 0;  // what waited for the batch
  virtual void go() = 0;        // on, until a batch is sent or tokens are missing

 private:
  Stamp waited_ = 0;
};

/// Two words for the segment ends of a reference, then its coordinates in batches that are put with one stamp.
class HbmScanNode final : public MemoryNode {
 public:
  HbmScanNode(Site site, const LevelView& level) : MemoryNode(std::move(site), false), level_(level) {}

 private:
  enum class Phase : uint8_t { idle, segment, batch, stop };
  void answered() override;
  void go() override;
  void askNext();

  LevelView level_;
  Phase phase_ = Phase::idle;
  int64_t at_ = 0, end_ = 0;
};

/// References gather until 8 are there or another token comes; their values are put with one stamp.
class HbmArrayNode final : public MemoryNode {
 public:
  HbmArrayNode(Site site, std::span<const double> values) : MemoryNode(std::move(site), false), values_(values) {}

 private:
  void answered() override;
  void go() override;

  std::span<const double> values_;
  std::vector<Word> pending_;
};

/// Coordinates and segment ends in batches of 8; both are flushed by a repeated stop or D.
class HbmWriteLevelNode final : public MemoryNode {
 public:
  HbmWriteLevelNode(Site site, LevelStorage* level) : MemoryNode(std::move(site), true), level_(level) {
    level_->pos.push_back(0);
  }

 private:
  void answered() override;
  void go() override;
  bool count(size_t& pending);
  bool flush();

  LevelStorage* level_;
  size_t coordinates_ = 0, segments_ = 0;  // not yet sent
  bool afterStop_ = false, owesTick_ = false;
};

/// A request a value.
class HbmWriteValuesNode final : public MemoryNode {
 public:
  HbmWriteValuesNode(Site site, std::vector<double>* values) : MemoryNode(std::move(site), true), values_(values) {}

 private:
  void answered() override { clock_.tick(); }
  void go() override;

  std::vector<double>* values_;
};

}  // namespace tokamak::sim
