#pragma once

#include "sparse/stream/run/node.h"

namespace tokamak::stream {

/// Random access to a dense level: parent * size + coordinate, one token a step.
template <class P>
class LocateNode final : public RunNode<P> {
 public:
  LocateNode(typename RunNode<P>::Site site, int64_t size)
      : RunNode<P>(std::move(site)), size_(static_cast<Word>(size)) {}

 private:
  using In = typename P::In;
  using Out = typename P::Out;

  void step() override {
    if (this->site().inputs.size() == 3) {
      In parent(this->input(2));
      run(&parent, parent);
    } else {
      run(nullptr);
    }
  }

  template <class... Parent>
  void run(const In* parent, Parent&... more) {
    In crd(this->input(0)), ref(this->input(1));
    Out located(this->output(0)), passed(this->output(1)), again(this->output(2));
    P clock = this->clock_;
    size_t n = std::min({crd.size(), ref.size(), located.room(), passed.room(), again.room()});
    if (parent != nullptr) n = std::min(n, parent->size());
    n = clock.limit(n);
    for (size_t i = 0; i < n; ++i)
      if (!one(i, crd, ref, parent, located)) return;
    if (n > 0) {
      std::memcpy(passed.words(), ref.words(), n * sizeof(Word));
      std::memcpy(again.words(), crd.words(), n * sizeof(Word));
      this->done_ = crd.ahead(n - 1) == kDone;
    }
    clock.steps(n, this->done_, crd, ref, more..., located, passed, again);
    crd.pop(n, clock);
    ref.pop(n, clock);
    (more.pop(n, clock), ...);
    located.advance(n);
    passed.advance(n);
    again.advance(n);
    this->steps_ += n;
    this->clock_ = clock;
  }

  bool one(size_t i, In& crd, In& ref, const In* parent, Out& located) {
    const Word c = crd.ahead(i), r = ref.ahead(i);
    const Word p = parent != nullptr ? parent->ahead(i) : 0;
    P unused;
    if (isControl(c)) {
      if (!sameControl(c, r)) {
        ref.pop(i, unused);
        this->failStops(1, ref, c);
        return false;
      }
      located.words()[i] = c;
      return true;
    }
    if (c >= size_ || (isControl(p) && p != kAbsent)) {
      crd.pop(i, unused);
      this->fail("T0961", 0, crd, fmt::format("coordinate {} in a level of size {}", c, size_),
                 "the sizes of the two tensors along this index differ");
      return false;
    }
    located.words()[i] = p == kAbsent ? kAbsent : p * size_ + c;
    return true;
  }

  Word size_;
};

}  // namespace tokamak::stream
