#include "runtime/crowding.h"

#include <algorithm>

namespace tokamak::runtime {

void Crowding::stalled(int64_t lost, int64_t end) {
  const int64_t before = length_.load(std::memory_order_relaxed);
  const bool again = before > 0 && end - last_.load(std::memory_order_relaxed) < before;
  const int64_t length = std::min(kLongest, std::max(kTimesLost * lost, again ? 2 * before : 0));
  length_.store(length, std::memory_order_relaxed);
  last_.store(end + length, std::memory_order_relaxed);
  until_.store(end + length, std::memory_order_relaxed);
  watch(end + length);
}

}  // namespace tokamak::runtime
