#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "sim/hw/scratchpad.h"
#include "sparse/stream/graph.h"
#include "sparse/stream/run/token.h"

/// The `hw` profile's streams and clock: cycle by cycle, at most one token a port and cycle, streams of bounded depth.
namespace tokamak::sim {

using stream::isControl;
using stream::Word;

/// A first-in first-out buffer. A token put is there from its stamp on; a place that is taken from is free a cycle
/// later. So nothing depends on the order in which the nodes of one cycle run.
class Fifo {
 public:
  /// `depth` 0: no bound.
  Fifo(const Stamp* now, size_t depth, size_t elements)
      : now_(now), depth_(depth == 0 ? SIZE_MAX : depth), elements_(elements) {
    resize(depth == 0 ? 64 : std::bit_ceil(depth));
  }

  bool has(size_t i) const { return size_ > i && stamps_[slot(i)] <= *now_; }
  Stamp stamp(size_t i) const { return stamps_[slot(i)]; }
  Word& word(size_t i) { return words_[slot(i)]; }
  double* block(size_t i) { return blocks_.get() + slot(i) * elements_; }
  size_t size() const { return size_; }
  size_t elements() const { return elements_; }
  size_t depth() const { return depth_; }
  uint64_t put() const { return put_; }
  uint64_t taken() const { return put_ - size_; }
  size_t peak() const { return peak_; }
  size_t readerCount() const { return hasReader_ ? 1 : 0; }
  size_t bytes() const { return capacity_ * (16 + elements_ * 8); }
  void addReader() { hasReader_ = true; }

  /// Places to put into. Without a reader everything that is put is gone.
  size_t room() const {
    if (!hasReader_) return SIZE_MAX;
    const size_t held = size_ + (lastPop_ == *now_ ? popsNow_ : 0);
    return depth_ > held ? depth_ - held : 0;
  }
  void push(Stamp stamp) {  // the word stands at word(size())
    stamps_[slot(size_)] = stamp;
    lastStamp_ = stamp;
    ++put_;
    if (!hasReader_) return;
    ++size_;
    peak_ = std::max(peak_, size_);
    if (size_ == capacity_ && depth_ > capacity_) resize(capacity_ * 2);
  }
  void pop() {
    if (lastPop_ != *now_) popsNow_ = 0;
    lastPop_ = *now_;
    ++popsNow_;
    --size_;
    head_ = (head_ + 1) & (capacity_ - 1);
  }
  Stamp lastStamp() const { return lastStamp_; }
  Stamp now() const { return *now_; }

 private:
  size_t slot(size_t i) const { return (head_ + i) & (capacity_ - 1); }
  void resize(size_t capacity);

  const Stamp* now_;
  size_t depth_, elements_;
  size_t capacity_ = 0, head_ = 0, size_ = 0, peak_ = 0;
  uint64_t put_ = 0;
  Stamp lastPop_ = UINT64_MAX, lastStamp_ = 0;
  size_t popsNow_ = 0;
  bool hasReader_ = false;
  std::unique_ptr<Word[]> words_;
  std::unique_ptr<Stamp[]> stamps_;
  std::unique_ptr<double[]> blocks_;
};

class FifoIn {
 public:
  explicit FifoIn(Fifo* fifo) : fifo_(fifo) {}

  bool empty() const { return !fifo_->has(0); }
  size_t size() const {  // as far as loops look ahead
    size_t n = 0;
    while (n < 4 && fifo_->has(n)) ++n;
    return n;
  }
  Word head() const { return fifo_->word(0); }
  Word ahead(size_t i) const { return fifo_->word(i); }
  const Word* words() const { return &fifo_->word(0); }  // one token a step
  const double* block() const { return fifo_->block(0); }
  uint64_t position() const { return fifo_->taken(); }
  template <class Clock>
  void pop(Clock&) {
    fifo_->pop();
  }
  template <class Clock>
  void pop(size_t n, Clock&) {
    for (; n > 0; --n) fifo_->pop();
  }

 private:
  Fifo* fifo_;
};

class FifoOut {
 public:
  explicit FifoOut(Fifo* fifo) : fifo_(fifo) {}

  bool full() const { return fifo_->room() == 0; }
  size_t room() const { return fifo_->room(); }
  Word* words() { return &fifo_->word(fifo_->size()); }
  double* block() { return fifo_->block(fifo_->size()); }
  size_t elements() const { return fifo_->elements(); }
  void push(Word word, Stamp stamp) {
    fifo_->word(fifo_->size()) = word;
    fifo_->push(stamp);
  }
  Stamp lastStamp() const { return fifo_->lastStamp(); }
  void setStamp(Stamp stamp) { pending_ = stamp; }
  void advance(size_t n) {
    if (n > 0) fifo_->push(pending_);
  }

 private:
  Fifo* fifo_;
  Stamp pending_ = 0;
};

/// A node's clock: `t` is the next cycle in which it may do something, `now` the one that is being simulated.
struct Hw {
  using Channel = Fifo;
  using Reader = Fifo;
  using In = FifoIn;
  using Out = FifoOut;
  static constexpr bool kTimed = true, kBounded = true;

  /// Depths by stream.
  struct Setup {
    static constexpr bool kViews = false;
    const Stamp* now = nullptr;
    std::function<size_t(stream::StreamId)> depth;

    std::unique_ptr<Fifo> make(stream::StreamId stream, size_t elements) const {
      return std::make_unique<Fifo>(now, stream ? depth(stream) : 1, elements);
    }
    static Fifo* reader(Fifo& fifo, Stamp, size_t) {
      fifo.addReader();
      return &fifo;
    }
  };

  Stamp t = 0, now = 0;
  Stamp latency = 1, interval = 1;
  Scratchpad* pad = nullptr;  // of an accumulator's workspace

  void start(Stamp cycle) {
    now = cycle;
    t = std::max(t, cycle);
  }
  bool may() const { return t <= now; }
  size_t limit(size_t n) const { return may() ? std::min<size_t>(n, 1) : 0; }
  void see(const In&) {}
  void follow(const In&) {}
  void await(Stamp) {}
  void await(const In&, Stamp) {}
  void tick(uint64_t cycles = 1) { t += cycles; }
  void move() { ++t; }
  Stamp signal() const { return 0; }
  Stamp next() const { return t + 1; }
  Stamp last() const { return t; }

  /// One token a port and cycle: a second one is a cycle later, and the node with it.
  Stamp stampFor(const Out& out, Stamp wanted) {
    const Stamp stamp = std::max(wanted, out.lastStamp() + 1);
    t += stamp - wanted;
    return stamp;
  }
  void put(Out& out, Word word) { out.push(word, stampFor(out, t + latency)); }
  void putLate(Out& out, Word word, uint64_t cycles) { out.push(word, stampFor(out, t + cycles)); }
  void putAt(Out& out, Word word, Stamp stamp) { out.push(word, std::max({stamp, now + 1, out.lastStamp() + 1})); }

  template <class... Ports>
  void steps(size_t n, bool endsWithDone, Ports&... ports) {
    if (n == 0) return;
    (mark(ports), ...);
    if (!endsWithDone) t += interval;
  }
  template <class... Outs>
  void emit(size_t n, Outs&... outs) {
    if (n == 0) return;
    (mark(outs), ...);
    ++t;
  }
  /// An entry of the workspace is read and written; `entries` are in use.
  bool touch(Word at, size_t entries) { return pad == nullptr || pad->touch(at, entries, t); }

 private:
  void mark(const In&) {}
  void mark(Out& out) { out.setStamp(stampFor(out, t + latency)); }
};

}  // namespace tokamak::sim
