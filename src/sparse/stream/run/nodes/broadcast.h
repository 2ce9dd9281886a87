#pragma once

#include "sparse/stream/run/node.h"

namespace tokamak::stream {

/// The same token to every reader once all have room; for profiles in which a broadcast is more than a view.
template <class P>
class BroadcastNode final : public RunNode<P> {
 public:
  using RunNode<P>::RunNode;

 private:
  using Out = typename P::Out;

  void step() override {
    typename P::In in(this->input(0));
    std::vector<std::unique_ptr<Out>> outs;
    outs.reserve(this->site().outputs.size());
    for (size_t i = 0; i < this->site().outputs.size(); ++i) outs.push_back(std::make_unique<Out>(this->output(i)));
    P clock = this->clock_;
    const auto isFull = [](const auto& out) { return out->full(); };
    for (; clock.may() && !in.empty() && std::ranges::none_of(outs, isFull); in.pop(clock)) {
      const Word head = in.head();
      clock.see(in);
      ++this->steps_;
      for (const auto& out : outs) {
        copyBlock(in, *out);
        clock.put(*out, head);
      }
      if (head == kDone) {
        this->done_ = true;
        break;
      }
      clock.move();
    }
    this->clock_ = clock;
  }
};

}  // namespace tokamak::stream
