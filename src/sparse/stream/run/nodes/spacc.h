#pragma once

#include <numeric>
#include <unordered_map>
#include <utility>

#include "sparse/stream/run/fold.h"
#include "sparse/stream/run/nodes/blocks.h"

namespace tokamak::stream {

/// Accumulator of any order k: folds over the outermost of k+1 coordinates into a workspace over the others. A step
/// needs the heads of all streams. Inside an outer coordinate: an inner coordinate is folded; an inner stop takes the
/// coordinate above it; a stop of a middle stream takes the coordinate above it, and with an empty fiber the stops
/// below it. An outer stop puts the whole workspace in order of coordinates with one stamp. Folding a block takes a
/// cycle an element. With one inner coordinate an empty group's inner stop goes before its outer one, as in Spacc1Node.
template <class P, FoldOp op>
class SpaccNode final : public RunNode<P> {
 public:
  SpaccNode(typename RunNode<P>::Site site, int order, BlockShape shape)
      : RunNode<P>(std::move(site)),
        order_(static_cast<size_t>(order)),
        isNumber_(shape.isNumber()),
        width_(shape.isNumber() ? 1 : static_cast<size_t>(shape.elements())),
        zeros_(width_, 0.0),
        touched_(order_ + 1, false) {}

 private:
  using In = typename P::In;
  using Out = typename P::Out;
  using Ins = std::vector<std::unique_ptr<In>>;
  using Outs = std::vector<std::unique_ptr<Out>>;

  void step() override {
    Ins ins;
    Outs outs;
    for (size_t i = 0; i < order_ + 2; ++i) ins.push_back(std::make_unique<In>(this->input(i)));
    for (size_t i = 0; i < order_ + 1; ++i) outs.push_back(std::make_unique<Out>(this->output(i)));
    P clock = this->clock_;
    while (clock.may() && !this->done_ && !this->fault()) {
      if (flushing_) {
        if (!flush(clock, *ins[0], outs)) break;
        continue;
      }
      if (looking_ && !look(clock, ins)) break;
      if (std::ranges::any_of(ins, [](const auto& in) { return in->empty(); })) break;
      for (const auto& in : ins) clock.see(*in);
      ++this->steps_;
      if (std::exchange(first_, false) && order_ == 1 && isStop(ins[0]->head()) && isStop(ins[1]->head())) {
        pop(clock, *ins[1]);
        pop(clock, *ins[2]);
        continue;
      }
      one(clock, ins, outs);
    }
    this->clock_ = clock;
  }

  void one(P& clock, Ins& ins, Outs& outs) {
    size_t depth = 0;  // of the first stream at a control token
    while (depth <= order_ && !isControl(ins[depth]->head())) ++depth;
    if (depth > order_) {
      accumulate(ins, clock);
      pop(clock, *ins[order_]);
      pop(clock, *ins[order_ + 1]);
      touched_.assign(touched_.size(), true);
      this->work_ += width_;
      clock.tick(width_);
      return;
    } else if (depth == 0 && ins[0]->head() == kDone) {
      finish(clock, ins, outs);
      return;
    } else if (depth == 0) {
      takeEmpty(clock, ins, 0);
      startFlush();
      return;
    } else if (!isStop(ins[depth]->head()) ||
               (depth == order_ && !sameControl(ins[order_]->head(), ins[order_ + 1]->head()))) {
      return this->failStops(order_ + 1, *ins[order_ + 1], ins[depth]->head());
    } else {
      takeEmpty(clock, ins, depth);
      pop(clock, *ins[depth]);
      if (depth == order_) pop(clock, *ins[order_ + 1]);
      pop(clock, *ins[depth - 1]);
      touched_[depth - 1] = true;
      for (size_t i = depth; i <= order_; ++i) touched_[i] = false;
    }
    clock.tick();
  }

  static void pop(P& clock, In& in) { in.pop(clock); }

  /// Of order 1, after a group: whether the next is empty. An inner stop asks after the outer stream.
  bool look(P& clock, Ins& ins) {
    if (ins[1]->empty()) return false;
    if (isStop(ins[1]->head())) {
      if (ins[0]->empty() || ins[2]->empty()) return false;
      clock.see(*ins[0]);
      if (isStop(ins[0]->head())) {
        pop(clock, *ins[1]);
        pop(clock, *ins[2]);
      }
    }
    clock.tick();
    looking_ = false;
    return true;
  }

  /// Where stream `depth` is at a stop and had no coordinate since its last one, the streams below have a stop for the
  /// absent fiber.
  void takeEmpty(P& clock, Ins& ins, size_t depth) {
    if (touched_[depth] || depth == order_ || order_ == 1) return;
    for (size_t i = depth + 1; i < order_ + 2; ++i) {
      if (!isStop(ins[i]->head())) return this->failStops(i, *ins[i], ins[depth]->head());
      pop(clock, *ins[i]);
    }
  }

  void accumulate(const Ins& ins, P& clock) {
    const Word word = ins[order_ + 1]->head();
    if (isControl(word) && word != kAbsent) return this->failStops(order_ + 1, *ins[order_ + 1], ins[order_]->head());
    const double number = word == kAbsent ? 0.0 : valueOf(word);
    const double* value = isNumber_ ? &number : elementsOf(*ins[order_ + 1], zeros_);
    key_.clear();
    for (size_t i = 1; i <= order_; ++i) {
      const auto crd = static_cast<uint32_t>(ins[i]->head());
      key_.append(reinterpret_cast<const char*>(&crd), sizeof(crd));
    }
    const auto [it, fresh] = index_.try_emplace(key_, index_.size());
    if (fresh) {
      values_.resize(values_.size() + width_, foldIdentity(op));
      for (size_t i = 1; i <= order_; ++i) keys_.push_back(static_cast<uint32_t>(ins[i]->head()));
    }
    foldBlock(op, values_.data() + it->second * width_, value, width_);
    if (!clock.touch(it->second, index_.size() * width_)) this->failOverflow(*ins[order_], index_.size());
  }

  uint32_t crd(size_t entry, size_t level) const { return keys_[sorted_[entry] * order_ + level]; }

  void startFlush() {
    sorted_.resize(index_.size());
    std::iota(sorted_.begin(), sorted_.end(), size_t{0});
    std::ranges::sort(sorted_, [this](size_t a, size_t b) {
      return std::lexicographical_compare(keys_.begin() + a * order_, keys_.begin() + (a + 1) * order_,
                                          keys_.begin() + b * order_, keys_.begin() + (b + 1) * order_);
    });
    this->peak_ = std::max(this->peak_, static_cast<uint64_t>(sorted_.size()));
    at_ = 0;
    flushing_ = true;
  }

  /// The outermost level at which an entry differs from the one before it.
  size_t changedLevel(size_t entry) const {
    size_t level = 0;
    while (entry > 0 && level + 1 < order_ && crd(entry, level) == crd(entry - 1, level)) ++level;
    return level;
  }

  /// The stops below a level at which the coordinate changes; values stop with the innermost.
  void endFibers(P& clock, size_t changed, Outs& outs) {
    for (size_t level = changed + 1; level < order_; ++level) {
      const Word end = stop(static_cast<unsigned>(level - changed - 1));
      clock.put(*outs[level], end);
      if (level + 1 == order_) clock.put(*outs[order_], end);
    }
  }

  bool flush(P& clock, In& outer, Outs& outs) {
    for (; at_ < sorted_.size(); ++at_, clock.move()) {
      if (!clock.may() || std::ranges::any_of(outs, [](const auto& out) { return out->room() < 2; })) return false;
      const size_t changed = changedLevel(at_);
      if (at_ > 0) endFibers(clock, changed, outs);
      for (size_t level = at_ == 0 ? 0 : changed; level < order_; ++level) clock.put(*outs[level], crd(at_, level));
      const double* value = values_.data() + sorted_[at_] * width_;
      if (!isNumber_) std::copy_n(value, width_, outs[order_]->block());
      clock.put(*outs[order_], isNumber_ ? bitsOf(*value) : 0);
      ++this->steps_;
    }
    if (!clock.may() || std::ranges::any_of(outs, [](const auto& out) { return out->full(); })) return false;
    for (size_t i = 0; i <= order_; ++i) clock.put(*outs[i], endOf(outer.head(), std::min(i, order_ - 1)));
    index_.clear();
    keys_.clear();
    values_.clear();
    touched_.assign(touched_.size(), false);
    outer.pop(clock);
    looking_ = order_ == 1;
    if (!looking_) clock.tick();
    ++this->steps_;
    flushing_ = false;
    return true;
  }

  /// The stop of the results `level` levels below the outermost; without entries there are no fibers there.
  Word endOf(Word head, size_t level) const {
    Word end = head;
    for (size_t i = 0; i < level; ++i) end = sorted_.empty() ? raisedHollow(end) : end + 1;
    return end;
  }

  void finish(P& clock, Ins& ins, Outs& outs) {
    for (size_t i = 1; i < ins.size(); ++i)
      if (ins[i]->head() != kDone) return this->failStops(i, *ins[i], kDone);
    for (const auto& out : outs) clock.put(*out, kDone);
    this->done_ = true;
  }

  size_t order_;
  bool isNumber_;
  size_t width_;  // elements of a value
  std::vector<double> zeros_;
  std::vector<bool> touched_;  // by stream: whether it had a coordinate since its last stop
  std::string key_;
  std::unordered_map<std::string, size_t> index_;  // the entry by its coordinates
  std::vector<uint32_t> keys_;                     // order_ coordinates an entry
  std::vector<double> values_;
  std::vector<size_t> sorted_;
  bool flushing_ = false, looking_ = false, first_ = true;
  size_t at_ = 0;
};

}  // namespace tokamak::stream
