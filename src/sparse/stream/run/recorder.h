#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "sparse/stream/run/token.h"

/// What is noted of a node's cycles when a run is watched.
namespace tokamak::stream {

/// How many cycles of each stretch of time something was busy: stretches of equal length, which doubles as time goes
/// on.
class Timeline {
 public:
  static constexpr size_t kStretches = 256;

  void add(Stamp from, Stamp cycles) {
    const Stamp end = from + cycles;
    while (end > width_ * kStretches) widen();
    for (Stamp at = from; at < end;) {
      const Stamp stretch = at / width_, next = std::min(end, (stretch + 1) * width_);
      busy_[stretch] += next - at;
      at = next;
    }
  }
  Stamp width() const { return width_; }
  const std::array<Stamp, kStretches>& busy() const { return busy_; }
  void widen() {
    for (size_t i = 0; i < kStretches; ++i) busy_[i] = 2 * i + 1 < kStretches ? busy_[2 * i] + busy_[2 * i + 1] : 0;
    width_ *= 2;
  }

 private:
  Stamp width_ = 1;
  std::array<Stamp, kStretches> busy_{};
};

enum class Doing : uint8_t { busy, input, output, memory, compute };  // the others are what it waits for

/// Cycles from `from` to before `to`.
struct Slice {
  Stamp from = 0, to = 0;
  Doing doing = Doing::busy;
  uint32_t port = 0;
};

/// Cycles of which every slice is kept.
struct Window {
  Stamp from = 0, to = 0;
  bool operator==(const Window&) const = default;
};

class Recorder {
 public:
  static constexpr size_t kMostSlices = size_t{1} << 18;

  explicit Recorder(Window window) : window_(window) {}

  void busy(Stamp from, Stamp cycles) {
    timeline_.add(from, cycles);
    note({from, from + cycles, Doing::busy, 0});
  }
  void waits(Doing cause, uint32_t port, Stamp from, Stamp to) { note({from, to, cause, port}); }

  const Timeline& timeline() const { return timeline_; }
  const std::vector<Slice>& slices() const { return slices_; }

 private:
  void note(Slice slice) {
    if (slice.to <= window_.from || slice.from >= window_.to || slice.from == slice.to) return;
    slice.from = std::max(slice.from, window_.from);
    slice.to = std::min(slice.to, window_.to);
    if (!slices_.empty()) {
      Slice& last = slices_.back();
      if (last.doing == slice.doing && last.port == slice.port && last.to >= slice.from) {
        last.to = std::max(last.to, slice.to);
        return;
      }
    }
    if (slices_.size() < kMostSlices) slices_.push_back(slice);
  }

  Window window_;
  Timeline timeline_;
  std::vector<Slice> slices_;
};

}  // namespace tokamak::stream
