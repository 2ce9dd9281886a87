#pragma once

#include "sparse/stream/run/node.h"
#include "sparse/stream/run/workspace.h"

namespace tokamak::stream {

/// Accumulator of order 1: folds values by inner coordinate while the outer fiber lasts. A step needs the heads of all
/// three streams. An outer coordinate is taken with the stop that ends its inner fiber; an outer stop puts the whole
/// workspace in order of coordinate and the stop, all with one stamp, and then, where an inner stop is left over, looks
/// at the next outer token: if that is a stop too, its group is empty and the inner stop is its own.
template <class P, FoldOp op>
class Spacc1Node final : public RunNode<P> {
 public:
  using RunNode<P>::RunNode;

 private:
  using In = typename P::In;
  using Out = typename P::Out;
  enum class State : uint8_t { first, fold, flush, look };

  void step() override {
    In outer(this->input(0)), inner(this->input(1)), val(this->input(2));
    Out crd(this->output(0)), out(this->output(1));
    P clock = this->clock_;
    while (clock.may() && !this->fault() && !this->done_) {
      if (state_ == State::flush && !flush(clock, outer, crd, out)) break;
      if (state_ == State::look && !look(clock, outer, inner, val)) break;
      if (outer.empty() || inner.empty() || val.empty()) break;
      if (state_ == State::first)
        first(clock, outer, inner, val);
      else if (!fold(clock, outer, inner, val, crd, out))
        break;
    }
    this->clock_ = clock;
  }

  /// An empty first group has an inner stop and no outer coordinate to take it with.
  void first(P& clock, In& outer, In& inner, In& val) {
    state_ = State::fold;
    if (!isStop(outer.head()) || !isStop(inner.head())) return;
    clock.see(inner);
    clock.see(val);
    inner.pop(clock);
    val.pop(clock);
    ++this->steps_;
  }

  /// Steps until the outer stream is at a stop or tokens are missing; whether to go on.
  bool fold(P& clock, In& outer, In& inner, In& val, Out& crd, Out& out) {
    const Word head = outer.head();
    clock.see(outer);
    if (isControl(head)) return close(clock, head, inner, val, crd, out);
    const size_t n = clock.limit(std::min(inner.size(), val.size()));
    const Word* coordinates = inner.words();
    const Word* values = val.words();
    size_t i = 0;
    for (; i < n && !isControl(coordinates[i]); ++i) {
      const Word value = values[i];
      if (isControl(value) && value != kAbsent) break;
      const double number = value == kAbsent ? 0.0 : valueOf(value);
      if constexpr (P::kBounded) {
        workspace_.foldCounted(coordinates[i], number);
        if (!clock.touch(coordinates[i], workspace_.size())) return this->failOverflow(inner, workspace_.size());
      } else {
        workspace_.fold(coordinates[i], number);
      }
    }
    clock.steps(i, false, inner, val);
    inner.pop(i, clock);
    val.pop(i, clock);
    this->steps_ += i;
    this->work_ += i;
    if (i == n) return n > 0 && clock.may();
    if (!sameControl(inner.head(), val.head()) || !isStop(inner.head())) {
      this->failStops(2, val, inner.head());
      return false;
    }
    clock.see(inner);
    clock.see(val);
    outer.pop(clock);
    inner.pop(clock);
    val.pop(clock);
    clock.tick();
    ++this->steps_;
    return true;
  }

  bool close(P& clock, Word head, In& inner, In& val, Out& crd, Out& out) {
    clock.see(inner);
    clock.see(val);
    if (head == kDone) {
      if (inner.head() != kDone || val.head() != kDone) {
        this->failStops(inner.head() != kDone ? 1 : 2, inner.head() != kDone ? inner : val, head);
        return false;
      }
      if (crd.full() || out.full()) return false;
      clock.put(crd, kDone);
      clock.put(out, kDone);
      ++this->steps_;
      this->done_ = true;
      return false;
    }
    coordinates_.clear();
    values_.clear();
    workspace_.drain([this](uint64_t at, double value) {
      coordinates_.push_back(at);
      values_.push_back(bitsOf(value));
    });
    this->peak_ = std::max(this->peak_, static_cast<uint64_t>(coordinates_.size()));
    at_ = 0;
    state_ = State::flush;
    return true;
  }

  /// Puts what is left of the workspace and the stop, and takes the stop.
  bool flush(P& clock, In& outer, Out& crd, Out& out) {
    const size_t n = clock.limit(std::min({coordinates_.size() - at_, crd.room(), out.room()}));
    for (size_t i = 0; i < n; ++i) {
      clock.put(crd, coordinates_[at_ + i]);
      clock.put(out, values_[at_ + i]);
    }
    at_ += n;
    if (n > 0) {
      ++this->steps_;
      clock.move();
    }
    if (at_ < coordinates_.size() || !clock.may() || crd.full() || out.full()) return false;
    clock.put(crd, outer.head());
    clock.put(out, outer.head());
    outer.pop(clock);
    ++this->steps_;
    state_ = State::look;
    return true;
  }

  bool look(P& clock, In& outer, In& inner, In& val) {
    if (inner.empty()) return false;
    if (isStop(inner.head())) {
      if (outer.empty() || val.empty()) return false;
      clock.see(outer);
      if (isStop(outer.head())) {
        inner.pop(clock);
        val.pop(clock);
      }
    }
    clock.tick();
    ++this->steps_;
    state_ = State::fold;
    return true;
  }

  State state_ = State::first;
  Workspace<op> workspace_;
  std::vector<Word> coordinates_, values_;  // being flushed
  size_t at_ = 0;
};

}  // namespace tokamak::stream
