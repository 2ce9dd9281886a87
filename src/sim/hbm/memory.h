#pragma once

#include <array>
#include <vector>

#include "sparse/stream/run/token.h"

namespace tokamak::sim {

using stream::Stamp;

/// A node that sends batches of word requests to the shared memory and waits for the last answer; one batch at a time.
class MemoryClient {
 public:
  enum class State : uint8_t { idle, posted, answered };

  MemoryClient(size_t order, bool writes) : order_(order), writes_(writes) {}

  State state() const { return state_; }
  bool isWaiting() const { return state_ == State::posted; }
  Stamp time() const { return time_; }
  unsigned count() const { return count_; }
  bool writes() const { return writes_; }
  uint64_t requests() const { return requests_; }  // ever sent
  /// Batches of one cycle are taken readers first, then writers, in order of node.
  bool before(const MemoryClient& other) const {
    if (time_ != other.time_) return time_ < other.time_;
    return writes_ != other.writes_ ? other.writes_ : order_ < other.order_;
  }

  void answer(Stamp at) {
    answer_ = at;
    state_ = State::answered;
  }

 protected:
  void post(Stamp time, unsigned count) {
    time_ = time;
    count_ = count;
    requests_ += count;
    state_ = State::posted;
  }
  /// When the last request was answered; the client is free again.
  Stamp takeAnswer() {
    state_ = State::idle;
    return answer_;
  }

 private:
  size_t order_;
  bool writes_;
  State state_ = State::idle;
  Stamp time_ = 0, answer_ = 0;
  unsigned count_ = 0;
  uint64_t requests_ = 0;
};

/// The memory of the `comal-hbm` profile: 8 channels, each serves a request every 2 cycles. A batch sent at t is seen
/// at t + 1; a request starts at b = max(when its channel is free, t + 2) and is answered at b + 17. Addresses do not
/// matter: within a cycle the i-th request moves a running channel index by i, and the cycle by the number of its
/// requests.
class Hbm {
 public:
  static constexpr Stamp kLatency = 19;  // of a request to an idle channel: nothing is answered sooner

  /// Serves batches that are sorted by `before`; none that comes later may have been sent before the last of these.
  void serve(const std::vector<MemoryClient*>& batches);

 private:
  static constexpr size_t kChannels = 8;
  std::array<Stamp, kChannels> free_{};
  size_t index_ = 0;
};

}  // namespace tokamak::sim
