#pragma once

#include "sparse/stream/run/node.h"

namespace tokamak::stream {

/// Loads a value for each reference, one token a step; N loads as 0.
template <class P>
class ArrayNode final : public RunNode<P> {
 public:
  ArrayNode(typename RunNode<P>::Site site, std::span<const double> values)
      : RunNode<P>(std::move(site)), values_(values) {}

 private:
  void step() override {
    typename P::In in(this->input(0));
    typename P::Out out(this->output(0));
    P clock = this->clock_;
    const size_t n = clock.limit(std::min(in.size(), out.room()));
    const Word* from = in.words();
    Word* to = out.words();
    size_t controls = 0;
    for (size_t i = 0; i < n; ++i) {
      const Word word = from[i];
      if (isControl(word)) {
        ++controls;
        to[i] = word == kAbsent ? bitsOf(0.0) : word;
      } else if (word < values_.size()) {
        to[i] = valueWord(values_[word]);
      } else {
        in.pop(i, clock);
        this->fail("T0961", 0, in, fmt::format("reference {} into {} values", word, values_.size()),
                   "the stream belongs to another tensor or level");
        return;
      }
    }
    this->done_ = n > 0 && from[n - 1] == kDone;
    clock.steps(n, this->done_, in, out);
    in.pop(n, clock);
    out.advance(n);
    this->steps_ += n;
    this->work_ += n - controls;
    this->clock_ = clock;
  }

  std::span<const double> values_;
};

}  // namespace tokamak::stream
