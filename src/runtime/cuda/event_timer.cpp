#include "runtime/cuda/event_timer.h"

namespace tokamak::runtime::cuda {

EventTimer::EventTimer(const Device& device, Stream stream, size_t pieces) : device_(device), stream_(stream) {
  if (pieces == 0) return;
  events_.resize(pieces + 1);
  for (Event& event : events_)
    if (status_ == 0) status_ = device_.api().createEvent(&event, 0);
  if (status_ == 0) status_ = device_.api().recordEvent(events_[next_++], stream_);
}

EventTimer::~EventTimer() {
  for (Event event : events_)
    if (event) device_.api().destroyEvent(event);
}

Result<> EventTimer::mark() {
  if (events_.empty()) return Unit{};
  if (status_ == 0) status_ = device_.api().recordEvent(events_[next_++], stream_);
  return device_.driver().check(status_, "events for the profile");
}

Result<std::vector<int64_t>> EventTimer::nanoseconds() {
  std::vector<int64_t> out;
  const Driver& driver = device_.driver();
  if (events_.empty()) return out;
  TK_RETURN_IF_ERROR(driver.check(driver.api.synchronizeEvent(events_[next_ - 1]), "waiting for the profile"));
  for (size_t i = 1; i < next_; ++i) {
    float milliseconds = 0;
    TK_RETURN_IF_ERROR(driver.check(driver.api.elapsed(&milliseconds, events_[i - 1], events_[i]), "the profile"));
    out.push_back(static_cast<int64_t>(static_cast<double>(milliseconds) * 1e6));
  }
  return out;
}

}  // namespace tokamak::runtime::cuda
