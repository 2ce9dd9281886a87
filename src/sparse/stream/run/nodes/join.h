#pragma once

#include "sparse/stream/run/node.h"

namespace tokamak::stream {

/// Takes from each lane in turn what one forked value became: itself at depth 0, else tokens up to a stop of level
/// depth - 1 or more. One token a step. A higher stop says that the lane has nothing more of the forked fiber; when all
/// lanes have said so the fiber ends. The stop that ends a turn is put once it is known whether another turn follows,
/// with the stamp that it had.
template <class P>
class JoinNode final : public RunNode<P> {
 public:
  JoinNode(typename RunNode<P>::Site site, int depth)
      : RunNode<P>(std::move(site)), depth_(static_cast<unsigned>(depth)), spent_(this->site().inputs.size(), false) {}

 private:
  using In = typename P::In;
  using Out = typename P::Out;

  void step() override {
    Out out(this->output(0));
    P clock = this->clock_;
    while (clock.may() && !this->done_ && !this->fault() && out.room() >= 2) {
      if (left() == 0) {
        endFiber(clock, out);
        continue;
      }
      In in(this->input(lane()));
      if (in.empty()) break;
      take(clock, in, out);
    }
    this->clock_ = clock;
  }

  size_t left() const { return static_cast<size_t>(std::ranges::count(spent_, false)); }
  /// The lane whose turn it is; lanes that are spent are passed over, which happens only when none has a value left.
  size_t lane() const {
    size_t lane = turn_;
    while (spent_[lane]) lane = (lane + 1) % spent_.size();
    return lane;
  }

  void take(P& clock, In& in, Out& out) {
    const Word head = in.head();
    clock.see(in);
    ++this->steps_;
    if (head == kDone) return finishLane(clock, in, out);
    if (finished_ > 0) return this->failStops(lane(), in, kDone);
    const bool isEnd = isStop(head) && (depth_ == 0 || stopLevel(head) >= depth_);
    if (isEnd && !inside_ && hollowLevels(head) >= depth_) {  // nothing in this lane: no turn
      last_ = held_ ? last_ : head;
      level_ = stopLevel(head);
      spent_[lane()] = true;
    } else {
      release(clock, out);
      const size_t lane = this->lane();
      if (isStop(head) && stopLevel(head) + 1 >= depth_) {
        hold(clock.next(), head);
        level_ = stopLevel(head);
        spent_[lane] = isEnd;
        nextTurn(lane);
      } else {
        copyBlock(in, out);
        clock.put(out, head);
        inside_ = true;
        if (depth_ == 0) nextTurn(lane);
      }
    }
    in.pop(clock);
    clock.tick();
  }

  void nextTurn(size_t lane) {
    inside_ = false;
    turn_ = (lane + 1) % spent_.size();
  }
  void hold(Stamp stamp, Word word) {
    held_ = true;
    stamp_ = stamp;
    last_ = word;
  }
  /// A turn follows, so the stop of the one before it ends only what that value became.
  void release(P& clock, Out& out) {
    if (!held_) return;
    clock.putAt(out, stop(depth_ - 1) | (last_ & kHollowMask), stamp_);
    held_ = false;
  }
  void endFiber(P& clock, Out& out) {
    const Word end = stop(level_) | (last_ & kHollowMask);
    if (held_)
      clock.putAt(out, end, stamp_);
    else
      clock.putAt(out, end, clock.last());
    held_ = false;
    spent_.assign(spent_.size(), false);
    ++this->steps_;
  }

  void finishLane(P& clock, In& in, Out& out) {
    if (inside_ || held_ || (finished_ == 0 && left() != spent_.size())) {
      this->failStops(lane(), in, stop(level_));
      return;
    }
    spent_[lane()] = true;
    if (++finished_ == spent_.size()) {
      clock.put(out, kDone);
      this->done_ = true;
    } else {
      clock.tick();
    }
  }

  unsigned depth_;
  std::vector<bool> spent_;  // lanes that have nothing more of the fiber
  size_t turn_ = 0, finished_ = 0;
  bool inside_ = false;  // a turn has begun
  bool held_ = false;    // a turn's stop is not yet put
  Stamp stamp_ = 0;
  Word last_ = kControl;  // the last stop, for its hollow levels
  unsigned level_ = 0;    // of the stop that ends the fiber
};

}  // namespace tokamak::stream
