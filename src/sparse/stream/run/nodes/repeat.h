#pragma once

#include "sparse/stream/run/node.h"

namespace tokamak::stream {

/// A signal maker and a repeater. The maker turns each value of `along` into R and each stop into S, a step each; the
/// repeater puts its head for R and drops it for S, looking at the next token to choose the stop. Both are simulated
/// here; the signals themselves are not kept.
template <class P>
class RepeatNode final : public RunNode<P> {
 public:
  using RunNode<P>::RunNode;

  /// Signals made, one a token of `along`.
  uint64_t signals() const { return this->steps_; }
  const P& maker() const { return maker_; }

 private:
  using In = typename P::In;
  using Out = typename P::Out;

  void step() override {
    In data(this->input(0)), along(this->input(1));
    Out out(this->output(0));
    P clock = this->clock_, maker = maker_;
    uint64_t steps = 0;
    while (clock.may() && !data.empty() && !along.empty() && !out.full()) {
      const Word head = data.head(), signal = along.head();
      if (isStop(signal) && !isStop(head) && data.size() < 2) break;  // the stop depends on the next token
      if (!fits(signal, head, data)) break;
      ++steps;
      maker.follow(along);
      const auto stamp = maker.signal();
      along.pop(maker);
      clock.see(data);
      clock.await(along, stamp);
      if (!isControl(signal) || signal == kAbsent) {
        copyBlock(data, out);
        clock.put(out, head);
      } else if (signal == kDone) {
        clock.put(out, kDone);
        this->done_ = true;
        break;
      } else if (!stopFor(signal, head, data, out, clock)) {
        break;
      }
      maker.tick();
      clock.tick();
    }
    this->steps_ += steps;
    this->clock_ = clock;
    maker_ = maker;
  }

  /// Values repeat values, and both streams end together.
  bool fits(Word signal, Word head, const In& data) {
    const bool repeats = !isControl(signal) || signal == kAbsent;
    if (repeats ? !isControl(head) || head == kAbsent : (signal == kDone) == (head == kDone)) return true;
    this->failStops(0, data, signal);
    return false;
  }

  bool stopFor(Word signal, Word head, In& data, Out& out, P& clock) {
    Word end = stop(0);
    if (isStop(head)) {
      end = raisedHollow(head);
    } else {
      data.pop(clock);
      clock.see(data);
      if (isStop(data.head())) { end = data.head() + 1; }
    }
    if (!sameControl(end, signal)) {
      this->failStops(0, data, signal - (stopLevel(signal) > 0 ? 1 : 0));
      return false;
    }
    if (isStop(data.head())) data.pop(clock);
    clock.put(out, end);
    return true;
  }

  P maker_;
};

}  // namespace tokamak::stream
