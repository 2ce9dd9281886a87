#include "runtime/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace tokamak::runtime {

namespace {

constexpr int64_t kPage = 4096, kLine = 64, kPageAlignedFrom = 64 << 10;

int64_t alignUp(int64_t value, int64_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }
int64_t alignmentOf(int64_t bytes) { return bytes >= kPageAlignedFrom ? kPage : kLine; }

bool overlapInTime(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

/// One stretch of memory and what has a place in it.
class Stretch {
 public:
  explicit Stretch(int64_t capacity) : capacity_(capacity) {}

  struct Gap {
    int64_t offset = -1, bytes = INT64_MAX;  // offset -1: none
  };
  /// The tightest gap; what is behind everything counts as one.
  Gap tightest(const Lifetime& wanted) const {
    const int64_t alignment = alignmentOf(wanted.bytes);
    int64_t end = 0;
    Gap best;
    auto consider = [&](int64_t limit) {
      const int64_t start = alignUp(end, alignment), gap = limit - start;
      if (gap >= wanted.bytes && gap < best.bytes) best = {start, gap};
    };
    for (const Placed& other : placed_) {
      if (!overlapInTime(wanted, other.lifetime)) continue;
      consider(other.offset);
      end = std::max(end, other.offset + other.lifetime.bytes);
    }
    consider(capacity_);
    return best;
  }
  void put(const Lifetime& lifetime, int64_t offset) {
    const auto at = std::upper_bound(placed_.begin(), placed_.end(), offset,
                                     [](int64_t value, const Placed& other) { return value < other.offset; });
    placed_.insert(at, {offset, lifetime});
  }

 private:
  struct Placed {
    int64_t offset;
    Lifetime lifetime;
  };
  int64_t capacity_;
  std::vector<Placed> placed_;  // by offset
};

}  // namespace

MemoryPlan planMemory(std::span<const Lifetime> lifetimes, std::span<const Host> hosts) {
  MemoryPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
  plan.hosts.assign(lifetimes.size(), -1);
  for (const Lifetime& l : lifetimes) {
    int64_t padded = 0;
    if (__builtin_add_overflow(l.bytes, kPage, &padded) ||
        __builtin_add_overflow(plan.totalBytes, padded, &plan.totalBytes)) {
      plan.arenaBytes = plan.totalBytes = INT64_MAX;
      return plan;
    }
  }
  plan.totalBytes = 0;
  for (const Lifetime& l : lifetimes) plan.totalBytes += alignUp(l.bytes, alignmentOf(l.bytes));

  std::vector<int> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return lifetimes[a].bytes != lifetimes[b].bytes ? lifetimes[a].bytes > lifetimes[b].bytes : a < b;
  });

  std::vector<Stretch> stretches;  // of the hosts, then the arena
  for (const Host& host : hosts) stretches.emplace_back(host.bytes);
  stretches.emplace_back(INT64_MAX - kPage);
  for (const int index : order) {
    const Lifetime& wanted = lifetimes[index];
    if (wanted.bytes == 0) continue;
    size_t chosen = hosts.size();
    Stretch::Gap best;
    for (size_t h = 0; h < hosts.size(); ++h) {
      if (wanted.last >= hosts[h].first) continue;
      if (const auto gap = stretches[h].tightest(wanted); gap.offset >= 0 && gap.bytes < best.bytes)
        best = gap, chosen = h;
    }
    if (chosen == hosts.size()) best = stretches.back().tightest(wanted);
    stretches[chosen].put(wanted, best.offset);
    plan.offsets[index] = best.offset;
    if (chosen < hosts.size())
      plan.hosts[index] = static_cast<int>(chosen);
    else
      plan.arenaBytes = std::max(plan.arenaBytes, alignUp(best.offset + wanted.bytes, kLine));
  }
  return plan;
}

}  // namespace tokamak::runtime
