#pragma once

#include "sparse/stream/run/data.h"
#include "sparse/stream/run/node.h"

namespace tokamak::stream {

/// Walks the fiber of each reference: one coordinate and child reference a step, then looks at the next token to choose
/// the stop. N is an empty fiber; it costs a step of its own.
template <class P>
class ScanNode final : public RunNode<P> {
 public:
  ScanNode(typename RunNode<P>::Site site, const LevelView& level)
      : RunNode<P>(std::move(site)), format_(level.format), size_(level.size), pos_(level.pos), crd_(level.crd) {}

 private:
  using In = typename P::In;
  using Out = typename P::Out;
  enum class State : uint8_t { idle, fiber, stop };

  void step() override {
    In in(this->input(0));
    Out crd(this->output(0)), ref(this->output(1));
    P clock = this->clock_;
    State state = state_;
    uint64_t steps = 0;
    while (true) {
      if (state == State::fiber) {
        const size_t n = clock.limit(std::min({static_cast<size_t>(end_ - at_), crd.room(), ref.room()}));
        emit(clock, n, crd, ref);
        steps += n;
        if (at_ < end_) break;
        state = State::stop;
      }
      if (!clock.may() || in.empty() || crd.full() || ref.full()) break;
      const Word head = in.head();
      clock.see(in);
      ++steps;
      if (state == State::stop) {
        Word end = stop(0);
        if (isStop(head)) {
          end = head + 1;
          in.pop(clock);
        }
        putBoth(clock, crd, ref, end);
        clock.tick();
        state = State::idle;
        continue;
      }
      if (!isControl(head) && !open(head, in)) break;
      in.pop(clock);
      if (!isControl(head)) {
        state = State::fiber;
        --steps;  // opening a fiber is part of its first step
      } else if (isStop(head)) {
        putBoth(clock, crd, ref, raisedHollow(head));
        clock.tick();
      } else if (head == kAbsent) {
        clock.tick();
        state = State::stop;
      } else {
        putBoth(clock, crd, ref, kDone);
        this->done_ = true;
        break;
      }
    }
    state_ = state;
    this->steps_ += steps;
    this->clock_ = clock;
  }

  /// Sets at_ and end_ to the fiber of a reference.
  bool open(Word reference, const In& in) {
    const auto parent = static_cast<int64_t>(reference);
    const int64_t count = format_ == LevelFormat::compressed  ? static_cast<int64_t>(pos_.size()) - 1
                          : format_ == LevelFormat::singleton ? static_cast<int64_t>(crd_.size())
                                                              : INT64_MAX;
    if (parent >= count) {
      this->fail("T0961", 0, in, fmt::format("reference {} into a level with {} fibers", parent, count),
                 "the stream belongs to another tensor or level");
      return false;
    }
    ++this->fibers_;
    base_ = 0;
    if (format_ == LevelFormat::dense) {
      base_ = parent * size_;
      at_ = 0;
      end_ = size_;
    } else if (format_ == LevelFormat::compressed) {
      at_ = pos_[static_cast<size_t>(parent)];
      end_ = pos_[static_cast<size_t>(parent) + 1];
    } else {
      at_ = parent;
      end_ = parent + 1;
    }
    return true;
  }

  void emit(P& clock, size_t n, Out& crd, Out& ref) {
    Word* coordinates = crd.words();
    Word* references = ref.words();
    const auto first = static_cast<Word>(at_);
    if (format_ == LevelFormat::dense) {
      for (size_t i = 0; i < n; ++i) coordinates[i] = first + i;
    } else {
      const int32_t* source = crd_.data() + at_;
      for (size_t i = 0; i < n; ++i) coordinates[i] = static_cast<Word>(source[i]);
    }
    const Word base = first + static_cast<Word>(base_);
    for (size_t i = 0; i < n; ++i) references[i] = base + i;
    clock.emit(n, crd, ref);
    crd.advance(n);
    ref.advance(n);
    at_ += static_cast<int64_t>(n);
    this->work_ += n;
  }

  static void putBoth(P& clock, Out& crd, Out& ref, Word word) {
    clock.put(crd, word);
    clock.put(ref, word);
  }

  LevelFormat format_;
  int64_t size_;
  std::span<const int64_t> pos_;
  std::span<const int32_t> crd_;
  State state_ = State::idle;
  int64_t at_ = 0, end_ = 0, base_ = 0;  // the fiber in work: places yet to walk, and what makes them references
};

}  // namespace tokamak::stream
