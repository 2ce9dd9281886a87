#pragma once

#include "sparse/stream/run/alu_ops.h"
#include "sparse/stream/run/node.h"

namespace tokamak::stream {

/// Computes token by token, one a step; stops pass through, N reads as 0. `F` takes one double an input.
template <class P, class F, size_t count>
class AluNode final : public RunNode<P> {
 public:
  AluNode(typename RunNode<P>::Site site, F function) : RunNode<P>(std::move(site)), function_(function) {}

 private:
  using In = typename P::In;
  using Out = typename P::Out;

  void step() override { run(std::make_index_sequence<count>{}); }

  template <size_t... i>
  void run(std::index_sequence<i...>) {
    std::array<In, count> ins = {In(this->input(i))...};
    Out out(this->output(0));
    P clock = this->clock_;
    const size_t n = clock.limit(std::min({ins[i].size()..., out.room()}));
    const std::array<const Word*, count> from = {ins[i].words()...};
    Word* to = out.words();
    size_t stops = 0;
    for (size_t k = 0; k < n; ++k) {
      if ((!isControl(from[i][k]) && ...)) {
        to[k] = bitsOf(function_(valueOf(from[i][k])...));
      } else if (const size_t odd = control(k, from, to); odd < count) {
        ins[odd].pop(k, clock);
        this->failStops(odd, ins[odd], from[odd == 0 ? 1 : 0][k]);
        return;
      } else {
        stops += isControl(to[k]) ? 1 : 0;
      }
    }
    this->done_ = n > 0 && from[0][n - 1] == kDone;
    clock.steps(n, this->done_, ins[i]..., out);
    (ins[i].pop(n, clock), ...);
    out.advance(n);
    this->steps_ += n;
    this->work_ += n - stops;
    this->clock_ = clock;
  }

  /// A step on which some operand is no number: all are stops or D, or the N among them are zeros. The operand that
  /// does not fit, or `count`.
  size_t control(size_t k, const std::array<const Word*, count>& from, Word* to) {
    const auto isNumber = [](Word word) { return !isControl(word) || word == kAbsent; };
    const Word first = from[0][k];
    for (size_t i = 1; i < count; ++i)
      if (isNumber(first) ? !isNumber(from[i][k]) : !sameControl(first, from[i][k])) return i;
    to[k] = isNumber(first) ? compute(k, from, std::make_index_sequence<count>{}) : first;
    return count;
  }
  template <size_t... i>
  Word compute(size_t k, const std::array<const Word*, count>& from, std::index_sequence<i...>) {
    return bitsOf(function_((from[i][k] == kAbsent ? 0.0 : valueOf(from[i][k]))...));
  }

  F function_;
};

}  // namespace tokamak::stream
