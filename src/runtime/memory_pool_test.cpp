#include "runtime/memory_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace tokamak::runtime {
namespace {

TEST(MemoryPool, RoundsUpByAtMostAnEighth) {
  for (int64_t bytes : {1, 63, 64, 65, 1024, 1025, 1152, 1153, 4095, 65536, 65537, 1 << 20, (1 << 21) + 1, 1 << 30}) {
    const int64_t size = MemoryPool::blockSize(bytes);
    EXPECT_GE(size, bytes);
    EXPECT_EQ(size % 64, 0);
    if (bytes > 1024) EXPECT_LE(size, bytes + bytes / 8 + 1) << bytes;
    EXPECT_EQ(MemoryPool::blockSize(size), size);
  }
  int64_t last = 0;
  for (int64_t bytes = 1; bytes < 200000; bytes += 61) {
    EXPECT_GE(MemoryPool::blockSize(bytes), last);
    last = MemoryPool::blockSize(bytes);
  }
}

TEST(MemoryPool, AlignsAndReuses) {
  MemoryPool pool;
  for (int64_t bytes : {0, 1, 100, 5000, 70000, 3 << 20, 40 << 20}) {
    void* first = nullptr;
    {
      PoolBlock block = *pool.allocate(bytes);
      first = block.data();
      ASSERT_NE(first, nullptr);
      EXPECT_GE(block.size(), bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % (bytes >= 65536 ? 4096 : 64), 0u);
      std::memset(block.data(), 1, block.size());
    }
    PoolBlock again = *pool.allocate(bytes);
    EXPECT_EQ(again.data(), first) << bytes;
  }
  EXPECT_EQ(pool.counters().hits, 8);  // 0 and 1 bytes are one class
  EXPECT_EQ(pool.counters().misses, 6);
}

TEST(MemoryPool, CountsAndTrims) {
  MemoryPool pool({.limitBytes = 1 << 30});
  PoolBlock a = *pool.allocate(4 << 20), b = *pool.allocate(1000);
  EXPECT_EQ(pool.counters().inUseBytes, (4 << 20) + 1024);
  EXPECT_EQ(pool.counters().peakBytes, (4 << 20) + 1024);
  a.reset();
  EXPECT_EQ(pool.counters().inUseBytes, 1024);
  EXPECT_EQ(pool.counters().cachedBytes, 4 << 20);
  pool.trim();
  EXPECT_EQ(pool.counters().cachedBytes, 0);
  EXPECT_EQ(pool.counters().givenBackBytes, 4 << 20);
  EXPECT_EQ(pool.counters().peakBytes, (4 << 20) + 1024);
}

TEST(MemoryPool, KeepsWithinItsLimitOldestFirst) {
  MemoryPool pool({.limitBytes = 10 << 20});
  PoolBlock a = *pool.allocate(4 << 20), b = *pool.allocate(5 << 20), c = *pool.allocate(3 << 20);
  void* newest = c.data();
  a.reset(), b.reset(), c.reset();  // 12 MiB: the first one goes
  EXPECT_EQ(pool.counters().cachedBytes, 8 << 20);
  EXPECT_EQ(pool.counters().givenBackBytes, 4 << 20);
  EXPECT_EQ(pool.allocate(3 << 20)->data(), newest);
  PoolBlock larger = *pool.allocate(20 << 20);
  larger.reset();  // larger than the limit: straight back
  EXPECT_LE(pool.counters().cachedBytes, 10 << 20);
  pool.setLimit(0);
  EXPECT_EQ(pool.counters().cachedBytes, 0);
}

TEST(MemoryPool, ThriftyBlocksGoStraightBackAndMakeRoomFirst) {
  MemoryPool pool({.limitBytes = 1 << 30});
  { PoolBlock shared = *pool.allocate(3 << 20, Growth::thrifty); }
  EXPECT_EQ(pool.counters().cachedBytes, 0);
  { PoolBlock a = *pool.allocate(10 << 20), b = *pool.allocate(12 << 20), small = *pool.allocate(1000); }
  PoolBlock larger = *pool.allocate(16 << 20, Growth::thrifty);  // both of the others make room for it
  EXPECT_EQ(pool.counters().cachedBytes, 1024);
  larger.reset();
  EXPECT_EQ(pool.counters().cachedBytes, (16 << 20) + 1024);  // large ones are kept
  PoolBlock again = *pool.allocate(16 << 20, Growth::thrifty), tiny = *pool.allocate(1000, Growth::thrifty);
  EXPECT_EQ(pool.counters().hits, 2);
  EXPECT_EQ(pool.counters().cachedBytes, 0);
}

TEST(MemoryPool, ThriftyBlocksTakeNoMoreThanIsAskedFor) {
  MemoryPool pool;
  PoolBlock block = *pool.allocate((1 << 20) + 100, Growth::thrifty);
  EXPECT_EQ(block.size(), (1 << 20) + 128);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data()) % 64, 0);
}

TEST(MemoryPool, FittedIsThriftyWhileLastingBlocksAreHeld) {
  MemoryPool pool({.limitBytes = 1 << 30});
  PoolBlock saved = *pool.allocate(1 << 20, Growth::lasting), tiny = *pool.allocate(1000, Growth::lasting);
  { PoolBlock beside = *pool.allocate(2 << 20, Growth::fitted); }
  EXPECT_EQ(pool.counters().cachedBytes, 0);
  saved.reset();
  EXPECT_EQ(pool.counters().cachedBytes, 0);
  { PoolBlock after = *pool.allocate(2 << 20, Growth::fitted); }  // small ones do not count
  EXPECT_GT(pool.counters().cachedBytes, 0);
  PoolBlock large = *pool.allocate(16 << 20, Growth::lasting);
  large.reset();  // kept, but nobody's
  { PoolBlock after = *pool.allocate(64 << 10, Growth::fitted); }
  EXPECT_EQ(pool.counters().cachedBytes, 16 << 20);  // it was cut from that
}

TEST(MemoryPool, BlocksAreJoinedWithNeighboursWhosePagesWereGivenBack) {
  MemoryPool pool({.limitBytes = 1 << 30});
  PoolBlock a = *pool.allocate(4 << 20, Growth::fitted), b = *pool.allocate(16 << 20, Growth::fitted);
  PoolBlock c = *pool.allocate(4 << 20, Growth::fitted);
  b.reset();
  pool.trim();
  a.reset();
  PoolBlock both = *pool.allocate(20 << 20, Growth::fitted);
  EXPECT_EQ(pool.counters().misses, 1);
}

TEST(MemoryPool, PagesThatAreThereServeBeforeThoseThatWereGivenBack) {
  MemoryPool pool({.limitBytes = 1 << 30});
  PoolBlock a = *pool.allocate(4 << 20, Growth::fitted), b = *pool.allocate(4 << 20, Growth::fitted);
  PoolBlock c = *pool.allocate(4 << 20, Growth::fitted);
  const std::byte* there = b.data();
  a.reset();
  pool.trim();
  b.reset();
  PoolBlock again = *pool.allocate(2 << 20, Growth::fitted);
  EXPECT_EQ(again.data(), there);
}

TEST(MemoryPool, FittedBlocksAreCutFromKeptOnesAndJoinedAgain) {
  MemoryPool pool({.limitBytes = 1 << 30});
  std::byte* whole = nullptr;
  {
    PoolBlock large = *pool.allocate(8 << 20);
    whole = large.data();
  }
  PoolBlock a = *pool.allocate(1 << 20, Growth::fitted), b = *pool.allocate(3 << 20, Growth::fitted);
  EXPECT_EQ(a.data(), whole);
  EXPECT_EQ(b.data(), whole + (1 << 20));
  EXPECT_EQ(pool.counters().inUseBytes, 4 << 20);
  EXPECT_EQ(pool.counters().cachedBytes, 4 << 20);
  PoolBlock plain = *pool.allocate(2 << 20);  // others cut nothing
  EXPECT_EQ(pool.counters().misses, 2);
  plain.reset();
  a.reset(), b.reset();
  PoolBlock again = *pool.allocate(8 << 20, Growth::fitted);
  EXPECT_EQ(again.data(), whole);
  EXPECT_EQ(pool.counters().misses, 2);
  EXPECT_EQ(pool.counters().cachedBytes, 2 << 20);
  PoolBlock more = *pool.allocate(4 << 20, Growth::fitted);  // the first of a region
  EXPECT_EQ(pool.counters().misses, 3);
  EXPECT_EQ(pool.counters().cachedBytes, 30 << 20);
  PoolBlock next = *pool.allocate(5 << 20, Growth::fitted);
  EXPECT_EQ(next.data(), more.data() + (4 << 20));
  EXPECT_EQ(pool.counters().misses, 3);
  more.reset(), next.reset();
  again.reset();
  pool.trim();
  EXPECT_EQ(pool.counters().cachedBytes, 0);
  EXPECT_EQ(pool.counters().givenBackBytes, 42 << 20);
}

TEST(MemoryPool, PartsOfABlockInUseGiveTheirPagesBack) {
  for (int64_t chunk : {1 << 20, 8 << 20}) {  // the C library's, and mapped
    MemoryPool pool({.limitBytes = 1 << 30});
    { PoolBlock large = *pool.allocate(chunk); }
    PoolBlock a = *pool.allocate(chunk / 4, Growth::fitted), b = *pool.allocate(chunk / 4, Growth::fitted);
    std::memset(b.data(), 5, b.size());
    a.reset();
    pool.trim();  // the first quarter and the second half
    EXPECT_EQ(pool.counters().cachedBytes, 0);
    EXPECT_EQ(pool.counters().givenBackBytes, chunk * 3 / 4);
    EXPECT_EQ(b.data()[0], std::byte{5});
    EXPECT_EQ(b.data()[b.size() - 1], std::byte{5});
    b.reset();
    EXPECT_EQ(pool.counters().cachedBytes, chunk / 4);
    pool.trim();
    EXPECT_EQ(pool.counters().givenBackBytes, chunk);
    PoolBlock c = *pool.allocate(chunk, Growth::fitted);
    std::memset(c.data(), 1, c.size());
  }
}

TEST(MemoryPool, RefusesWhatTheMachineDoesNotHave) {
  MemoryPool pool;
  { PoolBlock kept = *pool.allocate(1 << 20); }
  for (int64_t bytes : {int64_t{1} << 45, int64_t{1} << 60, INT64_MAX, int64_t{-1}}) {
    auto result = pool.allocate(bytes);
    ASSERT_FALSE(result) << bytes;
    EXPECT_EQ(result.error().code, "T0601");
    EXPECT_NE(result.error().message.find(std::to_string(bytes)), std::string::npos);
  }
  EXPECT_TRUE(pool.allocate(100));
}

TEST(MemoryPool, BlocksOutliveThePoolAndComeFromDeleters) {
  auto pool = std::make_unique<MemoryPool>();
  PoolBlock a = *pool->allocate(5 << 20), b = *pool->allocate(10);
  std::byte* data = a.data();
  MemoryPool::Block* raw = a.detach();
  EXPECT_FALSE(a);
  pool.reset();
  data[0] = std::byte{7}, b.data()[9] = std::byte{1};
  std::thread([&] { MemoryPool::release(raw); }).join();
  MemoryPool::release(nullptr);
}

TEST(MemoryPool, ServesManyThreads) {
  MemoryPool pool({.limitBytes = 8 << 20});
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<PoolBlock> held;
      uint64_t random = t + 1;
      for (int i = 0; i < 3000; ++i) {
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        const int64_t bytes = 1 + (random >> 33) % (i % 10 == 0 ? 3 << 20 : 20000);
        PoolBlock block = *pool.allocate(bytes, i % 3 == 0 ? Growth::free : Growth::fitted);
        block.data()[0] = std::byte(t), block.data()[bytes - 1] = std::byte(t);
        if (held.size() < 8)
          held.push_back(std::move(block));
        else
          std::swap(held[i % 8], block);
        for (const auto& other : held) ASSERT_EQ(other.data()[0], std::byte(t));
        if (i % 500 == 0) pool.trim(1 << 20);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(pool.counters().inUseBytes, 0);
  EXPECT_LE(pool.counters().cachedBytes, 8 << 20);
}

TEST(MemoryPool, HotPathIsCheap) {
  MemoryPool pool;
  { PoolBlock warm = *pool.allocate(4096); }
  double ns = 1e9;
  for (int round = 0; round < 20; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 1000; ++i) PoolBlock block = *pool.allocate(4096);
    ns =
        std::min(ns, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / 1000);
  }
  RecordProperty("ns_per_allocate_and_release", static_cast<int>(ns));
  EXPECT_EQ(pool.counters().misses, 1);
  EXPECT_LT(ns, 5000);  // a loose bound for loaded machines and sanitizers
}

}  // namespace
}  // namespace tokamak::runtime
