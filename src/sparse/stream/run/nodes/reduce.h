#pragma once

#include "sparse/stream/run/fold.h"
#include "sparse/stream/run/node.h"

namespace tokamak::stream {

/// Folds each innermost fiber, one token a step. The stop puts the value and, above the innermost level, what is left
/// of the stop, both with one stamp. N counts as 0.
template <class P, FoldOp op>
class ReduceNode final : public RunNode<P> {
 public:
  ReduceNode(typename RunNode<P>::Site site, std::optional<double> init)
      : RunNode<P>(std::move(site)), init_(init.value_or(foldIdentity(op))), value_(init_) {}

 private:
  void step() override {
    typename P::In in(this->input(0));
    typename P::Out out(this->output(0));
    P clock = this->clock_;
    double value = value_;
    uint64_t steps = 0, folded = 0;
    while (clock.may() && !in.empty() && out.room() >= 2) {
      const Word head = in.head();
      clock.see(in);
      ++steps;
      if (!isControl(head)) {
        value = fold<op>(value, valueOf(head));
        ++folded;
      } else if (isStop(head)) {
        if (hollowLevels(head) == 0) clock.put(out, bitsOf(value));
        value = init_;
        if (stopLevel(head) > 0) clock.put(out, loweredStop(head));
      } else if (head == kAbsent) {
        value = fold<op>(value, 0.0);
        ++folded;
      } else {
        clock.put(out, kDone);
        this->done_ = true;
        break;
      }
      in.pop(clock);
      clock.tick();
    }
    value_ = value;
    this->steps_ += steps;
    this->work_ += folded;
    this->clock_ = clock;
  }

  double init_, value_;
};

}  // namespace tokamak::stream
