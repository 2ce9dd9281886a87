#pragma once

#include "sparse/stream/run/node.h"

namespace tokamak::stream {

/// Merges two coordinate streams with their payloads. A step needs all four heads; equal coordinates or stops are put
/// and taken together, else the smaller coordinate is taken, and put for a union, with N for the other operand.
template <class P, JoinKind kind>
class Joiner2Node final : public RunNode<P> {
 public:
  using RunNode<P>::RunNode;

 private:
  using In = typename P::In;
  using Out = typename P::Out;

  void step() override {
    In crdA(this->input(0)), refA(this->input(1)), crdB(this->input(2)), refB(this->input(3));
    Out crd(this->output(0)), outA(this->output(1)), outB(this->output(2));
    P clock = this->clock_;
    const size_t room = std::min({crd.room(), outA.room(), outB.room()});
    size_t puts = 0;
    uint64_t steps = 0;
    while (clock.may() && !crdA.empty() && !refA.empty() && !crdB.empty() && !refB.empty() && puts < room) {
      const Word a = crdA.head(), b = crdB.head();
      clock.see(crdA);
      clock.see(refA);
      clock.see(crdB);
      clock.see(refB);
      ++steps;
      if (a == b || (isStop(a) && sameControl(a, b))) {
        if (isControl(a) && !payloadsFit(a, refA, refB)) break;
        copyBlock(refA, outA);
        copyBlock(refB, outB);
        clock.put(crd, a);
        clock.put(outA, refA.head());
        clock.put(outB, refB.head());
        ++puts;
        if (a == kDone) {
          this->done_ = true;
          break;
        }
        take(clock, crdA, refA);
        take(clock, crdB, refB);
      } else if (isControl(a) && isControl(b)) {
        this->failStops(2, crdB, a);
        break;
      } else if (a < b) {  // a control token is larger than any coordinate
        if constexpr (kind == JoinKind::unite) {
          copyBlock(refA, outA);
          clock.put(crd, a);
          clock.put(outA, refA.head());
          clock.put(outB, kAbsent);
          ++puts;
        }
        take(clock, crdA, refA);
      } else {
        if constexpr (kind == JoinKind::unite) {
          copyBlock(refB, outB);
          clock.put(crd, b);
          clock.put(outA, kAbsent);
          clock.put(outB, refB.head());
          ++puts;
        }
        take(clock, crdB, refB);
      }
      clock.tick();
    }
    this->steps_ += steps;
    this->clock_ = clock;
  }

  static void take(P& clock, In& crd, In& ref) {
    crd.pop(clock);
    ref.pop(clock);
  }
  bool payloadsFit(Word control, const In& refA, const In& refB) {
    if (sameControl(refA.head(), control) && sameControl(refB.head(), control)) return true;
    const bool first = !sameControl(refA.head(), control);
    this->failStops(first ? 1 : 3, first ? refA : refB, control);
    return false;
  }
};

/// The same for any number of operands.
template <class P, JoinKind kind>
class JoinerNode final : public RunNode<P> {
 public:
  using RunNode<P>::RunNode;

 private:
  using In = typename P::In;
  using Out = typename P::Out;

  void step() override {
    const size_t count = this->site().inputs.size() / 2;
    std::vector<std::unique_ptr<In>> ins;
    std::vector<std::unique_ptr<Out>> outs;
    ins.reserve(2 * count);
    outs.reserve(count + 1);
    for (size_t i = 0; i < 2 * count; ++i) ins.push_back(std::make_unique<In>(this->input(i)));
    for (size_t i = 0; i < count + 1; ++i) outs.push_back(std::make_unique<Out>(this->output(i)));
    P clock = this->clock_;
    while (clock.may() && std::ranges::none_of(ins, [](const auto& in) { return in->empty(); }) &&
           std::ranges::none_of(outs, [](const auto& out) { return out->full(); })) {
      Word least = ins[0]->head();
      for (size_t i = 0; i < count; ++i) least = std::min(least, ins[2 * i]->head());
      for (const auto& in : ins) clock.see(*in);
      ++this->steps_;
      if (isControl(least) && !allAt(least, ins)) break;
      merge(least, count, ins, outs, clock);
      if (least == kDone) {
        this->done_ = true;
        break;
      }
      clock.tick();
    }
    this->clock_ = clock;
  }

  void merge(Word least, size_t count, std::vector<std::unique_ptr<In>>& ins, std::vector<std::unique_ptr<Out>>& outs,
             P& clock) {
    const auto holds = [&](size_t i) { return ins[2 * i]->head() == least || isControl(least); };
    bool all = true;
    for (size_t i = 0; i < count; ++i) all = all && holds(i);
    const bool put = all || kind == JoinKind::unite;
    if (put) clock.put(*outs[0], least);
    for (size_t i = 0; i < count; ++i) {
      if (put && holds(i)) copyBlock(*ins[2 * i + 1], *outs[i + 1]);
      if (put) clock.put(*outs[i + 1], holds(i) ? ins[2 * i + 1]->head() : kAbsent);
    }
    if (least == kDone) return;
    for (size_t i = 0; i < count; ++i) {
      if (!holds(i)) continue;
      ins[2 * i]->pop(clock);
      ins[2 * i + 1]->pop(clock);
    }
  }

  /// All streams stand at the same control token.
  bool allAt(Word control, const std::vector<std::unique_ptr<In>>& ins) {
    for (size_t i = 0; i < ins.size(); ++i) {
      if (sameControl(ins[i]->head(), control)) continue;
      this->failStops(i, *ins[i], control);
      return false;
    }
    return true;
  }
};

}  // namespace tokamak::stream
