#pragma once

#include "sparse/stream/graph.h"
#include "sparse/stream/run/channel.h"
#include "sparse/stream/run/recorder.h"

/// What a node's loop works with: cursors into its streams and a clock, all local values that live in registers, and
/// put back when the loop ends. `Untimed` computes values alone; `Timed` keeps the `comal` profile's time: taking or
/// peeking a token waits for its stamp, putting one stamps it with the next cycle.
namespace tokamak::stream {

/// Reads a stream from where its reader stands.
class In {
 public:
  explicit In(Channel::Reader* reader)
      : reader_(reader),
        watch_(reader->watch.get()),
        words_(reader->channel->words()),
        stamps_(reader->channel->stamps()),
        offset_(reader->offset),
        at_(reader->at),
        end_(reader->end()) {}
  In(const In&) = delete;
  In& operator=(const In&) = delete;
  ~In() {
    reader_->at = at_;
    reader_->waited += waited_;
  }

  bool empty() const { return at_ == end_; }
  size_t size() const { return end_ - at_; }
  Word head() const { return words_[at_]; }
  Word ahead(size_t i) const { return words_[at_ + i]; }
  const Word* words() const { return words_ + at_; }
  Stamp stamp() const { return stamps_[at_] + offset_; }
  Stamp stampAhead(size_t i) const { return stamps_[at_ + i] + offset_; }
  const double* block() const { return reader_->channel->blocks() + at_ * reader_->channel->elements(); }
  uint64_t position() const { return reader_->channel->position(at_); }
  void addWait(Stamp cycles) const { waited_ += cycles; }
  uint32_t port() const { return reader_->port; }
  template <class Clock>
  void pop(Clock& clock) {
    if constexpr (Clock::kTimed)
      if (watch_ != nullptr) [[unlikely]]
        watch_->take(clock.t);
    ++at_;
  }
  /// Tokens that `Clock::steps` has seen to.
  template <class Clock>
  void pop(size_t n, Clock&) {
    at_ += n;
  }
  void noteTaken(Stamp time) const { watch_->take(time); }

 private:
  Channel::Reader* reader_;
  Occupancy* watch_;
  const Word* words_;
  const Stamp* stamps_;
  Stamp offset_;
  size_t at_, end_;
  mutable Stamp waited_ = 0;
};

/// Writes a stream at its end.
class Out {
 public:
  explicit Out(Channel* channel) : channel_(channel) {
    channel->prepare();
    words_ = channel->words();
    stamps_ = channel->stamps();
    at_ = channel->tail();
    end_ = channel->capacity();
  }
  Out(const Out&) = delete;
  Out& operator=(const Out&) = delete;
  ~Out() { channel_->setTail(at_); }

  bool full() const { return at_ == end_; }
  size_t room() const { return end_ - at_; }
  Word* words() { return words_ + at_; }
  double* block() { return channel_->blocks() + at_ * channel_->elements(); }
  size_t elements() const { return channel_->elements(); }
  void push(Word word) { words_[at_++] = word; }
  void push(Word word, Stamp stamp) {
    words_[at_] = word;
    stamps_[at_++] = stamp;
  }
  void setStamp(size_t i, Stamp stamp) { stamps_[at_ + i] = stamp; }
  void advance(size_t n) { at_ += n; }

 private:
  Channel* channel_;
  Word* words_;
  Stamp* stamps_;
  size_t at_, end_;
};

/// How a network of such channels is put together: broadcasts are views.
template <bool timed>
struct ChannelSetup {
  static constexpr bool kViews = true;
  size_t chunk = 1024;  // tokens that a channel has room for, at least 32

  std::unique_ptr<Channel> make(StreamId, size_t elements) const {
    const size_t tokens = elements == 0 ? chunk : std::max<size_t>(32, chunk / elements);  // fewer of large blocks
    return std::make_unique<Channel>(tokens, timed, elements);
  }
  static Channel::Reader* reader(Channel& channel, Stamp offset, size_t port) {
    Channel::Reader* reader = channel.addReader(offset);
    reader->port = static_cast<uint32_t>(port);
    return reader;
  }
};

/// No time passes.
struct Untimed {
  using Channel = stream::Channel;
  using Reader = stream::Channel::Reader;
  using In = stream::In;
  using Out = stream::Out;
  static constexpr bool kTimed = false, kBounded = false;
  using Setup = ChannelSetup<false>;

  bool may() const { return true; }
  size_t limit(size_t n) const { return n; }
  void see(const In&) {}
  void follow(const In&) {}
  void await(Stamp) {}
  void await(const In&, Stamp) {}
  void tick(uint64_t = 1) {}
  void move() {}
  bool touch(Word, size_t) { return true; }
  Stamp signal() const { return 0; }
  void put(Out& out, Word word) { out.push(word); }
  void putLate(Out& out, Word word, uint64_t) { out.push(word); }
  void putAt(Out& out, Word word, Stamp) { out.push(word); }
  Stamp next() const { return 0; }
  Stamp last() const { return 0; }

  /// The words of n tokens stand ready behind each `out`: one step a token, from tokens of all `ins` at once.
  template <class... Ports>
  void steps(size_t, bool, Ports&...) {}
  /// Likewise without inputs.
  template <class... Outs>
  void emit(size_t, Outs&...) {}
};

struct Timed {
  using Channel = stream::Channel;
  using Reader = stream::Channel::Reader;
  using In = stream::In;
  using Out = stream::Out;
  static constexpr bool kTimed = true, kBounded = false;  // bounded: workspaces are counted
  using Setup = ChannelSetup<true>;
  Stamp t = 0;
  Recorder* recorder = nullptr;  // where the run is watched

  bool may() const { return true; }
  size_t limit(size_t n) const { return n; }

  void see(const In& in) { until(in, in.stamp()); }
  void follow(const In& in) { await(in.stamp()); }  // the same, and nobody counts the wait
  void await(Stamp stamp) { t = std::max(t, stamp); }
  void await(const In& in, Stamp stamp) { until(in, stamp); }  // what is waited for came from `in`
  void tick(uint64_t cycles = 1) {
    if (recorder != nullptr) [[unlikely]]
      recorder->busy(t, cycles);
    t += cycles;
  }
  void move() {}                             // a token moved within a step
  bool touch(Word, size_t) { return true; }  // an entry of a workspace, and how many it has; whether it has room
  Stamp signal() const { return t + 1; }     // when a signal made now arrives
  void put(Out& out, Word word) { out.push(word, t + 1); }
  void putLate(Out& out, Word word, uint64_t latency) { out.push(word, t + latency); }
  void putAt(Out& out, Word word, Stamp stamp) { out.push(word, stamp); }
  Stamp next() const { return t + 1; }  // what a token put now is stamped
  Stamp last() const { return t; }      // what one put before the last tick was

  template <class... Ports>
  void steps(size_t n, bool endsWithDone, Ports&... ports) {
    if (recorder != nullptr) [[unlikely]]
      return watchedSteps(n, endsWithDone, ports...);
    for (size_t i = 0; i < n; ++i) {
      (wait(ports, i), ...);
      (mark(ports, i), ...);
      ++t;
    }
    if (endsWithDone) --t;
  }
  template <class... Outs>
  void emit(size_t n, Outs&... outs) {
    for (size_t i = 0; i < n; ++i) (outs.setStamp(i, t + 1 + i), ...);
    tick(n);
  }

 private:
  template <class... Ports>
  void watchedSteps(size_t n, bool endsWithDone, Ports&... ports) {
    for (size_t i = 0; i < n; ++i) {
      (watchedWait(ports, i), ...);
      (mark(ports, i), ...);
      (took(ports), ...);
      if (i + 1 < n || !endsWithDone) tick();
    }
  }
  void watchedWait(const In& in, size_t i) { until(in, in.stampAhead(i)); }
  void watchedWait(const Out&, size_t) {}
  void took(const In& in) { in.noteTaken(t); }
  void took(const Out&) {}

  void until(const In& in, Stamp stamp) {
    if (recorder != nullptr && stamp > t) [[unlikely]]
      recorder->waits(Doing::input, in.port(), t, stamp);
    waitFor(in, stamp);
  }
  void waitFor(const In& in, Stamp stamp) {
    const Stamp later = std::max(t, stamp);
    in.addWait(later - t);
    t = later;
  }
  void wait(const In& in, size_t i) { waitFor(in, in.stampAhead(i)); }
  void wait(const Out&, size_t) {}
  void mark(const In&, size_t) {}
  void mark(Out& out, size_t i) { out.setStamp(i, t + 1); }
};

}  // namespace tokamak::stream
