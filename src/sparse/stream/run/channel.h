#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "sparse/stream/run/occupancy.h"
#include "sparse/stream/run/spill_memory.h"
#include "sparse/stream/run/token.h"

namespace tokamak::stream {

/// The tokens that have been put into a stream and not yet been taken by all its readers: a plain array that is moved
/// to the front when its end is reached. Readers have their own places in it, so that a broadcast copies nothing.
/// `Timed` channels keep a stamp with each token, blocked ones `elements` doubles. A backlog that grows long goes to a
/// file (SpillMemory).
class Channel {
 public:
  struct Reader {
    Channel* channel = nullptr;
    size_t at = 0;
    Stamp offset = 0;  // added to every stamp: one for each broadcast on the way
    Stamp waited = 0;  // cycles that the reader waited for tokens here
    uint32_t port = 0;
    bool abroad = false;  // runs on another thread than the producer, and sees what was put before the last `publish`
    std::unique_ptr<Occupancy> watch;  // where the run is watched

    /// Behind the last token that may be read.
    size_t end() const { return abroad ? channel->published_ : channel->tail_; }
  };

  Channel(size_t capacity, bool timed, size_t elements) : timed_(timed), elements_(elements) { resize(capacity); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  Reader* addReader(Stamp offset) {
    readers_.push_back(std::make_unique<Reader>());
    readers_.back()->channel = this;
    readers_.back()->offset = offset;
    return readers_.back().get();
  }

  /// Makes room at the end if there is any to be had. Without readers everything is room.
  void makeRoom() {
    const size_t first = firstUnread();
    if (first == tail_) {
      discard(first, 0);
    } else if (isTight() && first >= capacity_ / 2) {
      discard(first, tail_ - first);
    }
  }
  /// The same before its producer goes on; between threads that is seen to at the end of a round.
  void prepare() {
    if (!shared_) makeRoom();
  }
  /// Whether its producer may have to wait for room that only growing gives.
  bool isFull() const { return isTight() && firstUnread() < capacity_ / 2; }
  void grow() { resize(capacity_ * 2); }
  /// Gives room back that it was given, as far as its backlog is not in it: small channels stay in the caches.
  void shrink(size_t capacity) {
    makeRoom();
    while (capacity_ > capacity && capacity_ / 2 >= tail_ + 16) resize(capacity_ / 2);
  }
  /// Room for n tokens, whatever the backlog.
  void reserve(size_t n) {
    makeRoom();
    while (capacity_ - tail_ < n) grow();
  }
  /// Gives pages of a long backlog back to the system.
  void cool() {
    words_.cool();
    stamps_.cool();
    blocks_.cool();
  }

  /// Whether producer and readers run on several threads: then room is made by `publish` alone.
  void share(bool shared) {
    shared_ = shared;
    publish();
  }
  void publish() {
    makeRoom();
    published_ = tail_;
  }

  size_t capacity() const { return capacity_; }
  size_t backlog() const { return tail_ - firstUnread(); }
  uint64_t put() const { return passed_ + tail_; }             // tokens ever put
  uint64_t position(size_t at) const { return passed_ + at; }  // of the token at a place, from the stream's beginning
  size_t readerCount() const { return readers_.size(); }
  size_t elements() const { return elements_; }
  size_t bytes() const { return words_.residentBytes() + stamps_.residentBytes() + blocks_.residentBytes(); }

  Word* words() { return reinterpret_cast<Word*>(words_.data()); }
  Stamp* stamps() { return reinterpret_cast<Stamp*>(stamps_.data()); }
  double* blocks() { return reinterpret_cast<double*>(blocks_.data()); }
  size_t tail() const { return tail_; }
  void setTail(size_t tail) {
    if (watched_) [[unlikely]]
      note(tail);
    tail_ = tail;
  }
  /// Counts from now on how many tokens each reader has before it.
  void watch() {
    watched_ = timed_;
    for (const auto& reader : readers_) reader->watch = std::make_unique<Occupancy>();
  }

 private:
  bool isTight() const { return capacity_ - tail_ < 16; }  // no node puts more in a step

  size_t firstUnread() const {
    size_t first = tail_;
    for (const auto& reader : readers_) first = std::min(first, reader->at);
    return first;
  }

  void discard(size_t first, size_t keep) {
    if (first == 0) return;
    words_.moveDown(first * sizeof(Word), keep * sizeof(Word));
    if (timed_) stamps_.moveDown(first * sizeof(Stamp), keep * sizeof(Stamp));
    if (elements_ > 0) blocks_.moveDown(first * elements_ * sizeof(double), keep * elements_ * sizeof(double));
    passed_ += first;
    tail_ = keep;
    for (const auto& reader : readers_) reader->at -= first;
  }

  void note(size_t tail) {
    for (const auto& reader : readers_)
      for (size_t i = tail_; i < tail; ++i) reader->watch->put(stamps()[i] + reader->offset);
  }

  void resize(size_t capacity) {
    words_.resize(tail_ * sizeof(Word), capacity * sizeof(Word));
    if (timed_) stamps_.resize(tail_ * sizeof(Stamp), capacity * sizeof(Stamp));
    if (elements_ > 0) blocks_.resize(tail_ * elements_ * sizeof(double), capacity * elements_ * sizeof(double));
    capacity_ = capacity;
  }

  bool timed_, watched_ = false, shared_ = false;
  size_t elements_;
  size_t capacity_ = 0, tail_ = 0, published_ = 0;
  uint64_t passed_ = 0;  // tokens that are gone from the front
  SpillMemory words_, stamps_, blocks_;
  std::vector<std::unique_ptr<Reader>> readers_;
};

}  // namespace tokamak::stream
