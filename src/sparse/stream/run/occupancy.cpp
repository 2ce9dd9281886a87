#include "sparse/stream/run/occupancy.h"

#include <algorithm>

namespace tokamak::stream {

void TimeRuns::push(Stamp time) {
  if (!runs_.empty()) {
    Run& last = runs_.back();
    const Stamp step = time - last.first;
    if (last.count == 1 && step <= UINT32_MAX) {
      last.step = static_cast<uint32_t>(step);
      last.count = 2;
      return;
    }
    if (last.count < UINT32_MAX && time == last.at(last.count)) {
      ++last.count;
      return;
    }
  }
  if (runs_.size() == kMostRuns) coarsen();
  runs_.push_back({time, 0, 1});
}

void TimeRuns::pop() {
  Run& run = runs_.front();
  run.first += run.step;
  if (--run.count == 0) runs_.pop_front();
}

void TimeRuns::coarsen() {
  std::deque<Run> joined;
  for (size_t i = 0; i + 1 < runs_.size(); i += 2) {
    const Run &a = runs_[i], &b = runs_[i + 1];
    const uint32_t count = a.count + b.count;
    const Stamp last = b.at(b.count - 1);
    joined.push_back({a.first, static_cast<uint32_t>((last - a.first) / (count - 1)), count});
  }
  if (runs_.size() % 2 == 1) joined.push_back(runs_.back());
  runs_ = std::move(joined);
}

void Occupancy::put(Stamp time) {
  puts_.push(time);
  settle();
}

void Occupancy::take(Stamp time) {
  takes_.push(time);
  settle();
}

/// A token counts from its stamp on until it is taken; one that is taken in the cycle of a put makes room for it.
void Occupancy::settle() {
  while (!puts_.empty() && !takes_.empty()) {
    if (takes_.front() <= puts_.front() && taken_ < put_) {
      takes_.pop();
      ++taken_;
      continue;
    }
    puts_.pop();
    ++put_;
    peak_ = std::max(peak_, put_ - taken_);
  }
}

}  // namespace tokamak::stream
