#pragma once

#include "sparse/stream/run/data.h"
#include "sparse/stream/run/node.h"

namespace tokamak::stream {

/// Stores coordinates and the ends of their fibers. A coordinate or a first stop is a step; a second stop in a row is
/// free.
template <class P>
class WriteLevelNode final : public RunNode<P> {
 public:
  WriteLevelNode(typename RunNode<P>::Site site, LevelStorage* level) : RunNode<P>(std::move(site)), level_(level) {
    level_->pos.push_back(0);
  }

 private:
  void step() override {
    typename P::In in(this->input(0));
    P clock = this->clock_;
    for (; clock.may() && !in.empty(); in.pop(clock)) {
      const Word head = in.head();
      clock.see(in);
      ++this->steps_;
      if (!isControl(head)) {
        level_->crd.push_back(static_cast<int32_t>(head));
        afterStop_ = false;
        clock.tick();
      } else if (isStop(head)) {
        if (hollowLevels(head) == 0) level_->pos.push_back(static_cast<int64_t>(level_->crd.size()));
        if (!afterStop_) clock.tick();
        afterStop_ = true;
      } else {
        this->done_ = true;
        break;
      }
    }
    this->clock_ = clock;
  }

  LevelStorage* level_;
  bool afterStop_ = false;
};

/// Stores values, a step each; stops are free, and D costs one more cycle.
template <class P>
class WriteValuesNode final : public RunNode<P> {
 public:
  WriteValuesNode(typename RunNode<P>::Site site, std::vector<double>* values)
      : RunNode<P>(std::move(site)), values_(values) {}

 private:
  void step() override {
    typename P::In in(this->input(0));
    P clock = this->clock_;
    for (; clock.may() && !in.empty(); in.pop(clock)) {
      const Word head = in.head();
      clock.see(in);
      ++this->steps_;
      if (isStop(head)) continue;
      clock.tick();
      if (head == kDone) {
        this->done_ = true;
        break;
      }
      values_->push_back(head == kAbsent ? 0.0 : valueOf(head));
    }
    this->clock_ = clock;
  }

  std::vector<double>* values_;
};

}  // namespace tokamak::stream
