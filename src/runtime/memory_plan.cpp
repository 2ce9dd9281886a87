#include "runtime/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace tokamak::runtime {

namespace {

constexpr int64_t kPage = 4096, kLine = 64, kPageAlignedFrom = 64 << 10;

int64_t alignUp(int64_t value, int64_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }
int64_t alignmentOf(int64_t bytes) { return bytes >= kPageAlignedFrom ? kPage : kLine; }

bool overlapInTime(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

MemoryPlan planMemory(std::span<const Lifetime> lifetimes) {
  MemoryPlan plan;
  plan.offsets.assign(lifetimes.size(), 0);
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

  std::vector<int> placed;  // by offset
  for (const int index : order) {
    const Lifetime& wanted = lifetimes[index];
    if (wanted.bytes == 0) continue;
    const int64_t alignment = alignmentOf(wanted.bytes);
    int64_t end = 0, best = -1, bestGap = INT64_MAX;
    for (const int other : placed) {
      if (!overlapInTime(wanted, lifetimes[other])) continue;
      const int64_t start = alignUp(end, alignment), gap = plan.offsets[other] - start;
      if (gap >= wanted.bytes && gap < bestGap) best = start, bestGap = gap;
      end = std::max(end, plan.offsets[other] + lifetimes[other].bytes);
    }
    const int64_t offset = best >= 0 ? best : alignUp(end, alignment);
    plan.offsets[index] = offset;
    plan.arenaBytes = std::max(plan.arenaBytes, alignUp(offset + wanted.bytes, kLine));
    const auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                                     [&](int64_t value, int other) { return value < plan.offsets[other]; });
    placed.insert(at, index);
  }
  return plan;
}

}  // namespace tokamak::runtime
