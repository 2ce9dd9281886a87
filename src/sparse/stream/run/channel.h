#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "sparse/stream/run/token.h"

namespace tokamak::stream {

/// The tokens that have been put into a stream and not yet been taken by all its readers: a plain array that is moved
/// to the front when its end is reached. Readers have their own places in it, so that a broadcast copies nothing.
/// `Timed` channels keep a stamp with each token, blocked ones `elements` doubles.
class Channel {
 public:
  struct Reader {
    Channel* channel = nullptr;
    size_t at = 0;
    Stamp offset = 0;  // added to every stamp: one for each broadcast on the way
    Stamp waited = 0;  // cycles that the reader waited for tokens here
  };

  Channel(size_t capacity, bool timed, size_t elements) : timed_(timed), elements_(elements) { resize(capacity); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  Reader* addReader(Stamp offset) {
    readers_.push_back(std::make_unique<Reader>(Reader{this, 0, offset}));
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
  /// Whether its producer may have to wait for room that only growing gives.
  bool isFull() const { return isTight() && firstUnread() < capacity_ / 2; }
  void grow() { resize(capacity_ * 2); }
  /// Room for n tokens, whatever the backlog.
  void reserve(size_t n) {
    makeRoom();
    while (capacity_ - tail_ < n) grow();
  }

  size_t capacity() const { return capacity_; }
  size_t backlog() const { return tail_ - firstUnread(); }
  uint64_t put() const { return passed_ + tail_; }             // tokens ever put
  uint64_t position(size_t at) const { return passed_ + at; }  // of the token at a place, from the stream's beginning
  size_t readerCount() const { return readers_.size(); }
  size_t elements() const { return elements_; }
  size_t bytes() const {
    return capacity_ * (sizeof(Word) + (timed_ ? sizeof(Stamp) : 0) + elements_ * sizeof(double));
  }

  Word* words() { return words_.get(); }
  Stamp* stamps() { return stamps_.get(); }
  double* blocks() { return blocks_.get(); }
  size_t tail() const { return tail_; }
  void setTail(size_t tail) { tail_ = tail; }

 private:
  bool isTight() const { return capacity_ - tail_ < 16; }  // no node puts more in a step

  size_t firstUnread() const {
    size_t first = tail_;
    for (const auto& reader : readers_) first = std::min(first, reader->at);
    return first;
  }

  void discard(size_t first, size_t keep) {
    if (first == 0) return;
    std::memmove(words_.get(), words_.get() + first, keep * sizeof(Word));
    if (timed_) std::memmove(stamps_.get(), stamps_.get() + first, keep * sizeof(Stamp));
    if (elements_ > 0)
      std::memmove(blocks_.get(), blocks_.get() + first * elements_, keep * elements_ * sizeof(double));
    passed_ += first;
    tail_ = keep;
    for (const auto& reader : readers_) reader->at -= first;
  }

  template <class T>
  static void enlarge(std::unique_ptr<T[]>& array, size_t used, size_t size) {
    std::unique_ptr<T[]> larger(new T[size]);
    if (used > 0) std::memcpy(larger.get(), array.get(), used * sizeof(T));
    array = std::move(larger);
  }
  void resize(size_t capacity) {
    enlarge(words_, tail_, capacity);
    if (timed_) enlarge(stamps_, tail_, capacity);
    if (elements_ > 0) enlarge(blocks_, tail_ * elements_, capacity * elements_);
    capacity_ = capacity;
  }

  bool timed_;
  size_t elements_;
  size_t capacity_ = 0, tail_ = 0;
  uint64_t passed_ = 0;  // tokens that are gone from the front
  std::unique_ptr<Word[]> words_;
  std::unique_ptr<Stamp[]> stamps_;
  std::unique_ptr<double[]> blocks_;
  std::vector<std::unique_ptr<Reader>> readers_;
};

}  // namespace tokamak::stream
