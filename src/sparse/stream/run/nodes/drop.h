#pragma once

#include "sparse/stream/run/node.h"

namespace tokamak::stream {

/// Drops outer coordinates with empty inner fibers, and those fibers. An outer coordinate and its whole inner fiber are
/// one step. The stop of a fiber is put once it is known whether another fiber of the group follows, with the stamp
/// that it had.
template <class P>
class DropNode final : public RunNode<P> {
 public:
  using RunNode<P>::RunNode;

 private:
  using In = typename P::In;
  using Out = typename P::Out;

  void step() override {
    In outer(this->input(0)), inner(this->input(1));
    Out outerOut(this->output(0)), innerOut(this->output(1));
    P clock = this->clock_;
    while (clock.may() && !this->done_ && !this->fault() && !outer.empty() && !inner.empty() && !outerOut.full() &&
           innerOut.room() >= 2) {
      clock.see(outer);
      const Word head = outer.head();
      if (!isControl(head))
        walk(clock, outer, inner, outerOut, innerOut);
      else if (isStop(head))
        closeGroup(clock, outer, inner, outerOut, innerOut);
      else
        finish(clock, inner, outerOut, innerOut);
    }
    this->clock_ = clock;
  }

  /// One token of the fiber of the outer coordinate.
  void walk(P& clock, In& outer, In& inner, Out& outerOut, Out& innerOut) {
    const Word head = inner.head();
    ++this->steps_;
    clock.see(inner);
    if (!isControl(head) || head == kAbsent) {
      if (held_) clock.putAt(innerOut, stop(0), stamp_);
      held_ = false;
      copyBlock(inner, innerOut);
      clock.put(innerOut, head);
      filled_ = true;
      inner.pop(clock);
      clock.move();
      return;
    }
    if (!isStop(head)) return this->failStops(1, inner, outer.head());
    stamp_ = clock.next();
    if (filled_) {
      clock.put(outerOut, outer.head());
      held_ = true;
    }
    filled_ = false;
    walked_ = true;
    inner.pop(clock);
    outer.pop(clock);
    clock.tick();
  }

  void closeGroup(P& clock, In& outer, In& inner, Out& outerOut, Out& innerOut) {
    const Word head = outer.head();
    ++this->steps_;
    if (!walked_) {  // the group was empty before: its inner stop is still there
      if (!isStop(inner.head())) return this->failStops(1, inner, head + 1);
      clock.see(inner);
      inner.pop(clock);
      stamp_ = clock.next();
    }
    clock.putAt(innerOut, held_ ? head + 1 : raisedHollow(head), stamp_);
    clock.put(outerOut, head);
    held_ = walked_ = false;
    outer.pop(clock);
    clock.tick();
  }

  void finish(P& clock, In& inner, Out& outerOut, Out& innerOut) {
    if (inner.head() != kDone) return this->failStops(1, inner, kDone);
    clock.see(inner);
    clock.put(innerOut, kDone);
    clock.put(outerOut, kDone);
    ++this->steps_;
    this->done_ = true;
  }

  bool filled_ = false;  // the fiber in work has an entry
  bool walked_ = false;  // the group had a coordinate
  bool held_ = false;    // a kept fiber's stop is not yet put
  Stamp stamp_ = 0;
};

}  // namespace tokamak::stream
