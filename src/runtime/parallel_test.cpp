#include "runtime/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "runtime/alone.h"

namespace tokamak::runtime {
namespace {

struct Seen {
  std::vector<int> counts;
  std::mutex mutex;
  std::vector<std::pair<int64_t, int64_t>> pieces;
  int64_t scratchBytes = 0;
  const KernelHost* nested = nullptr;
};

void body(void* environment, int64_t begin, int64_t end, std::byte* scratch) {
  Seen& seen = *static_cast<Seen*>(environment);
  if (seen.scratchBytes) {
    ASSERT_EQ(reinterpret_cast<uintptr_t>(scratch) % 64, 0u);
    std::memset(scratch, 1, seen.scratchBytes);
  }
  for (int64_t i = begin; i < end; ++i) ++seen.counts[i];
  std::lock_guard lock(seen.mutex);
  seen.pieces.emplace_back(begin, end);
}

TEST(ParallelHost, CoversEveryIterationOnce) {
  for (int threads : {1, 2, 3, 7}) {
    const ParallelHost host(threads);
    EXPECT_EQ(host.threads(), threads);
    for (int64_t count : {0, 1, 2, 3, 5, 100, 1001}) {
      for (int64_t grain : {0, 1, 3, 1000}) {
        Seen seen;
        seen.counts.assign(count, 0);
        seen.scratchBytes = 100 + count;
        host.parallelFor(&host, count, grain, seen.scratchBytes, &body, &seen);
        for (int c : seen.counts) ASSERT_EQ(c, 1);
        const int64_t most = std::max<int64_t>(1, std::min<int64_t>(threads, count / std::max<int64_t>(1, grain)));
        EXPECT_LE(static_cast<int64_t>(seen.pieces.size()), most);
        if (count == 0) EXPECT_TRUE(seen.pieces.empty());
      }
    }
  }
}

TEST(CallerAlone, LastsAsLongAsItLives) {
  const ParallelHost host;
  const int before = host.threads();
  {
    const CallerAlone alone(true);
    EXPECT_EQ(host.threads(), 1);
    const CallerAlone again(true), never(false);
    EXPECT_EQ(host.threads(), 1);
  }
  EXPECT_EQ(host.threads(), before);
}

void nestedBody(void* environment, int64_t begin, int64_t end, std::byte* scratch) {
  Seen& seen = *static_cast<Seen*>(environment);
  std::memset(scratch, 2, 64);
  for (int64_t i = begin; i < end; ++i) {
    Seen inner;
    inner.counts.assign(10, 0);
    inner.scratchBytes = 256;
    seen.nested->parallelFor(seen.nested, 10, 1, 256, &body, &inner);
    ASSERT_EQ(inner.pieces.size(), 1u);   // on this thread
    ASSERT_EQ(scratch[0], std::byte{2});  // with scratch of its own
    ++seen.counts[i];
  }
}

TEST(ParallelHost, NestedLoopsRunOnTheCallersThread) {
  const ParallelHost host(2);
  Seen seen;
  seen.counts.assign(4, 0);
  seen.nested = &host;
  host.parallelFor(&host, 4, 1, 64, &nestedBody, &seen);
  EXPECT_EQ(seen.counts, std::vector<int>(4, 1));
}

TEST(ParallelHost, ServesManyThreads) {
  const ParallelHost host(2);
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        Seen seen;
        seen.counts.assign(97, 0);
        seen.scratchBytes = 64;
        host.parallelFor(&host, 97, 1, 64, &body, &seen);
        for (int c : seen.counts) ASSERT_EQ(c, 1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

struct Late {
  std::thread::id caller;
  std::atomic<int> pieces = 0;
  std::chrono::milliseconds delay{0};
};

void lateBody(void* environment, int64_t, int64_t, std::byte*) {
  Late& late = *static_cast<Late*>(environment);
  ++late.pieces;
  if (std::this_thread::get_id() != late.caller) std::this_thread::sleep_for(late.delay);
}

TEST(ParallelHost, AThreadThatDoesNotRunIsNotWaitedForAgain) {
  const ParallelHost host(2);
  const auto run = [&](int milliseconds) {
    Late late{.caller = std::this_thread::get_id(), .delay = std::chrono::milliseconds(milliseconds)};
    host.parallelFor(&host, 2, 1, 0, &lateBody, &late);
    return late.pieces.load();
  };
  // A machine that is busy anyhow may have sent loops to their caller before, or hold this thread up between two loops
  // for so long that they are shared again.
  bool alone = false;
  for (int tries = 0; !alone && tries < 300; ++tries) {
    while (run(20) == 1 && ++tries < 300) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    alone = true;
    for (int i = 0; i < 5; ++i) alone = alone && run(20) == 1;
  }
  EXPECT_TRUE(alone);
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  EXPECT_EQ(run(0), 2);
}

TEST(ParallelHost, TakesOpenMpsNumberOfThreadsByDefault) { EXPECT_GE(ParallelHost().threads(), 1); }

TEST(ThreadScratch, GrowsAndIsReused) {
  std::byte* small = threadScratch(100);
  EXPECT_EQ(threadScratch(50), small);
  std::byte* large = threadScratch(1 << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large) % 64, 0u);
  std::memset(large, 0, 1 << 20);
}

}  // namespace
}  // namespace tokamak::runtime
