#pragma once

#include "sparse/stream/run/node.h"

namespace tokamak::stream {

/// Values in turn to the lanes, stops and D to all; one token a step. The turn goes on from fiber to fiber.
template <class P>
class ForkNode final : public RunNode<P> {
 public:
  using RunNode<P>::RunNode;

 private:
  using In = typename P::In;
  using Out = typename P::Out;

  void step() override {
    In in(this->input(0));
    std::vector<std::unique_ptr<Out>> lanes;
    lanes.reserve(this->site().outputs.size());
    for (size_t i = 0; i < this->site().outputs.size(); ++i) lanes.push_back(std::make_unique<Out>(this->output(i)));
    P clock = this->clock_;
    const auto isFull = [](const auto& lane) { return lane->full(); };
    for (; clock.may() && !in.empty() && std::ranges::none_of(lanes, isFull); in.pop(clock)) {
      const Word head = in.head();
      clock.see(in);
      ++this->steps_;
      if (!isControl(head) || head == kAbsent) {
        copyBlock(in, *lanes[turn_]);
        clock.put(*lanes[turn_], head);
        turn_ = (turn_ + 1) % lanes.size();
      } else {
        for (const auto& lane : lanes) clock.put(*lane, head);
      }
      if (head == kDone) {
        this->done_ = true;
        break;
      }
      clock.tick();
    }
    this->clock_ = clock;
  }

  size_t turn_ = 0;
};

}  // namespace tokamak::stream
