#pragma once

#include <deque>

#include "sparse/stream/run/token.h"

namespace tokamak::stream {

/// A sequence of times that never falls, kept as runs with equal steps. When there are too many runs, neighbours are
/// joined, and the times in between become approximate.
class TimeRuns {
 public:
  bool empty() const { return runs_.empty(); }
  Stamp front() const { return runs_.front().first; }
  void push(Stamp time);
  void pop();

 private:
  struct Run {
    Stamp first = 0;
    uint32_t step = 0, count = 0;
    Stamp at(uint32_t i) const { return first + static_cast<Stamp>(step) * i; }
  };
  static constexpr size_t kMostRuns = size_t{1} << 15;
  void coarsen();

  std::deque<Run> runs_;
};

/// The most tokens that stand between a stream's producer and its reader at one time of the simulation. Nodes run ahead
/// of each other, so what was put and what was taken is known in any order; both are put in order of time here.
class Occupancy {
 public:
  void put(Stamp time);
  void take(Stamp time);
  uint64_t peak() const { return peak_; }

 private:
  void settle();

  TimeRuns puts_, takes_;  // not yet in order
  uint64_t put_ = 0, taken_ = 0, peak_ = 0;
};

}  // namespace tokamak::stream
