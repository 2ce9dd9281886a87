#pragma once

#include "sparse/stream/run/node.h"

namespace tokamak::stream {

/// Reference 0, then D.
template <class P>
class RootNode final : public RunNode<P> {
 public:
  using RunNode<P>::RunNode;

 private:
  void step() override {
    typename P::Out out(this->output(0));
    P clock = this->clock_;
    if (out.room() < 2) return;
    clock.put(out, 0);
    clock.tick();
    clock.put(out, kDone);
    this->steps_ += 1;
    this->done_ = true;
    this->clock_ = clock;
  }
};

}  // namespace tokamak::stream
