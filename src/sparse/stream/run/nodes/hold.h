#pragma once

#include "sparse/stream/run/node.h"

namespace tokamak::stream {

/// The outer coordinate again for each inner one; one inner token a step. Outer stops follow from the inner ones and
/// are dropped when the next group begins.
template <class P>
class HoldNode final : public RunNode<P> {
 public:
  using RunNode<P>::RunNode;

 private:
  using In = typename P::In;
  using Out = typename P::Out;

  void step() override {
    In outer(this->input(0)), inner(this->input(1));
    Out outerOut(this->output(0)), innerOut(this->output(1));
    P clock = this->clock_;
    while (clock.may() && !this->done_ && !inner.empty() && !outer.empty() && !outerOut.full() && !innerOut.full()) {
      const Word head = inner.head();
      if (leftOver_ && outer.size() < 2) break;
      if (leftOver_) {
        clock.see(outer);
        outer.pop(clock);
        leftOver_ = false;
      }
      const bool needsCoordinate = !isControl(head) || (isStop(head) && hollowLevels(head) == 0);
      if (needsCoordinate ? isControl(outer.head()) : isStop(outer.head()) != isStop(head)) {
        this->failStops(0, outer, head);
        break;
      }
      clock.see(outer);
      clock.see(inner);
      ++this->steps_;
      clock.put(innerOut, head);
      clock.put(outerOut, isControl(head) ? head : outer.head());
      if (head == kDone) {
        this->done_ = true;
        break;
      }
      if (isStop(head)) {
        outer.pop(clock);
        leftOver_ = hollowLevels(head) == 0 && stopLevel(head) > 0;
      }
      inner.pop(clock);
      clock.tick();
    }
    this->clock_ = clock;
  }

  bool leftOver_ = false;  // the outer stop that goes with the last inner one
};

}  // namespace tokamak::stream
