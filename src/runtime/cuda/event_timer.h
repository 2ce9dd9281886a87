#pragma once

#include <vector>

#include "runtime/cuda/device.h"

namespace tokamak::runtime::cuda {

/// Times pieces of work on a stream by events between them. Of no pieces it does nothing.
class EventTimer {
 public:
  EventTimer(const Device& device, Stream stream, size_t pieces);
  ~EventTimer();
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;

  /// The piece that was put on the stream since the last mark ends here.
  Result<> mark();
  /// Waits for all pieces; one time each.
  Result<std::vector<int64_t>> nanoseconds();

 private:
  const Device& device_;
  Stream stream_;
  std::vector<Event> events_;
  size_t next_ = 0;
  Status status_ = 0;
};

}  // namespace tokamak::runtime::cuda
