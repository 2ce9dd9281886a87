#include "runtime/kernel_cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

namespace tokamak::runtime {
namespace {

std::string blobOf(int i, int size = 2000) {
  std::string out(size, '\0');
  for (int k = 0; k < size; ++k) out[k] = static_cast<char>(i * 31 + k * 7);
  return out;
}

struct KernelCacheTest : testing::Test {
  std::string folder;
  int warnings = 0;
  std::string lastWarning;
  void SetUp() override {
    char name[] = "/tmp/tokamak_cache_XXXXXX";
    folder = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  KernelCacheOptions options(const std::string& sub = "/cache") {
    KernelCacheOptions o;
    o.folder = folder + sub;
    o.busyTimeoutMs = 100;
    o.warn = [this](std::string_view text) { ++warnings, lastWarning = text; };
    return o;
  }
  std::string database() { return folder + "/cache/kernels.db"; }
  void fill(int entries = 20) {
    KernelCache cache(options());
    for (int i = 0; i < entries; ++i) cache.put(fmt::format("key{:03}", i), blobOf(i), fmt::format("kernel {}", i));
  }
  void sql(const char* text) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(database().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, text, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  /// Whatever happened to the disk: puts and gets of new things are right and nothing is said twice.
  void expectStillRight(KernelCache& cache) {
    for (int i = 0; i < 5; ++i) {
      cache.put(fmt::format("new{}", i), blobOf(i + 100), "new");
      EXPECT_EQ(cache.get(fmt::format("new{}", i)), blobOf(i + 100));
    }
    EXPECT_EQ(cache.get("no such key"), std::nullopt);
    EXPECT_EQ(warnings, 1) << lastWarning;
    EXPECT_EQ(cache.stats().warning, lastWarning);
  }
};

TEST_F(KernelCacheTest, AskingMakesNoFile) {
  KernelCacheOptions o = options();
  o.make = false;
  {
    KernelCache cache(o);
    EXPECT_FALSE(cache.stats().onDisk);
    EXPECT_EQ(cache.stats().file, database());
    EXPECT_TRUE(cache.list().empty());
    EXPECT_EQ(cache.clear(), 0);
    EXPECT_FALSE(std::filesystem::exists(folder + "/cache"));
  }
  fill(3);
  EXPECT_EQ(KernelCache(o).list().size(), 3u);
  EXPECT_EQ(warnings, 0) << lastWarning;
}

TEST_F(KernelCacheTest, KeepsInMemoryAndOnDisk) {
  fill();
  KernelCache cache(options());
  EXPECT_EQ(cache.get("key007"), blobOf(7));
  EXPECT_EQ(cache.get("key007"), blobOf(7));
  EXPECT_EQ(cache.get("other"), std::nullopt);
  const CacheStats stats = cache.stats();
  EXPECT_EQ(stats.diskHits, 1);
  EXPECT_EQ(stats.memoryHits, 1);
  EXPECT_EQ(stats.misses, 1);
  EXPECT_EQ(stats.diskEntries, 20);
  EXPECT_EQ(stats.diskBytes, 40000);
  EXPECT_TRUE(stats.onDisk);
  EXPECT_EQ(stats.file, database());
  EXPECT_EQ(warnings, 0);
}

TEST_F(KernelCacheTest, OverwritesListsAndClears) {
  KernelCache cache(options());
  cache.put("a", "first", "one");
  cache.put("a", std::string("sec\0nd", 6), "two");
  cache.put("b", "", "empty");
  EXPECT_EQ(cache.get("a"), std::string("sec\0nd", 6));
  EXPECT_EQ(KernelCache(options()).get("a"), std::string("sec\0nd", 6));
  EXPECT_EQ(KernelCache(options()).get("b"), "");
  auto entries = cache.list();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].key, "a");
  EXPECT_EQ(entries[0].description, "two");
  EXPECT_EQ(entries[0].bytes, 6);
  EXPECT_GT(entries[0].lastUse, 1600000000);
  EXPECT_EQ(cache.clear(), 2);
  EXPECT_EQ(cache.get("a"), std::nullopt);
  EXPECT_TRUE(cache.list().empty());
  EXPECT_EQ(KernelCache(options()).get("a"), std::nullopt);
}

TEST_F(KernelCacheTest, MemoryOnlyWithoutAFolder) {
  KernelCacheOptions o;
  o.memoryLimitBytes = 5000;
  KernelCache cache(o);
  for (int i = 0; i < 4; ++i) cache.put(std::to_string(i), blobOf(i), "");
  EXPECT_EQ(cache.get("0"), std::nullopt);
  EXPECT_EQ(cache.get("3"), blobOf(3));
  EXPECT_EQ(cache.list().size(), 2u);
  EXPECT_EQ(cache.stats().evictions, 2);
  cache.put("large", std::string(6000, 'x'), "");  // larger than the limit: not kept, nothing else lost
  EXPECT_EQ(cache.get("large"), std::nullopt);
  EXPECT_EQ(cache.list().size(), 2u);
  EXPECT_EQ(cache.clear(), 2);
}

TEST_F(KernelCacheTest, EvictsLeastRecentlyUsedFromDisk) {
  fill(10);
  sql("UPDATE entries SET last_use = 1000 + CAST(substr(key, 4) AS INTEGER)");
  KernelCacheOptions o = options();
  o.diskLimitBytes = 20000;
  KernelCache cache(o);
  EXPECT_EQ(cache.get("key000"), blobOf(0));  // now the latest
  cache.put("new", blobOf(50, 4000), "");
  EXPECT_EQ(cache.stats().diskEntries, 9);
  EXPECT_EQ(cache.stats().evictions, 2);
  KernelCache fresh(o);
  EXPECT_EQ(fresh.get("key001"), std::nullopt);
  EXPECT_EQ(fresh.get("key002"), std::nullopt);
  EXPECT_EQ(fresh.get("key000"), blobOf(0));
  EXPECT_EQ(fresh.get("key003"), blobOf(3));
  cache.put("huge", std::string(30000, 'x'), "");
  EXPECT_EQ(cache.stats().diskEntries, 9);
}

TEST_F(KernelCacheTest, FileOfGarbageIsMovedAside) {
  std::filesystem::create_directories(folder + "/cache");
  std::ofstream(database()) << std::string(5000, 'z');
  KernelCache cache(options());
  expectStillRight(cache);
  EXPECT_TRUE(std::filesystem::exists(database() + ".damaged"));
  EXPECT_TRUE(cache.stats().onDisk);
  EXPECT_EQ(KernelCache(options()).get("new1"), blobOf(101));
}

TEST_F(KernelCacheTest, DamagedPagesAreSurvived) {
  fill(50);
  const auto size = std::filesystem::file_size(database());
  {
    std::fstream file(database(), std::ios::in | std::ios::out | std::ios::binary);
    for (size_t at = 4096; at + 4096 <= size; at += 4096) {  // all but the first page
      file.seekp(at);
      file << std::string(200, '\xee');
    }
  }
  KernelCache cache(options());
  for (int i = 0; i < 50; ++i) {
    const auto blob = cache.get(fmt::format("key{:03}", i));
    if (blob) EXPECT_EQ(*blob, blobOf(i));
  }
  expectStillRight(cache);
}

TEST_F(KernelCacheTest, EveryByteFlipGivesTheRightBlobOrNone) {
  fill(3);
  std::ifstream in(database(), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  int hits = 0;
  for (size_t at = 0; at < whole.size(); at += 97) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    for (const char* suffix : {"-wal", "-shm", ".damaged"}) std::filesystem::remove(database() + suffix);
    std::ofstream(database(), std::ios::binary | std::ios::trunc) << changed;
    warnings = 0;
    KernelCache cache(options());
    for (int i = 0; i < 3; ++i) {
      const auto blob = cache.get(fmt::format("key{:03}", i));
      hits += blob.has_value();
      if (blob) EXPECT_EQ(*blob, blobOf(i)) << at;
    }
    EXPECT_LE(warnings, 1);
  }
  EXPECT_GT(hits, 0);
}

TEST_F(KernelCacheTest, TruncatedFileIsSurvived) {
  fill(50);
  std::filesystem::resize_file(database(), 9000);
  KernelCache cache(options());
  for (int i = 0; i < 50; ++i) cache.get(fmt::format("key{:03}", i));
  expectStillRight(cache);
}

TEST_F(KernelCacheTest, ChecksumMismatchIsAMissAndIsForgotten) {
  fill(3);
  sql("UPDATE entries SET blob = zeroblob(2000) WHERE key = 'key001'");
  KernelCache cache(options());
  EXPECT_EQ(cache.get("key001"), std::nullopt);
  EXPECT_EQ(cache.get("key002"), blobOf(2));
  EXPECT_EQ(cache.stats().diskEntries, 2);
  expectStillRight(cache);
}

TEST_F(KernelCacheTest, AnotherSchemaIsMovedAside) {
  fill(3);
  sql("PRAGMA user_version=77");
  KernelCache cache(options());
  EXPECT_EQ(cache.get("key001"), std::nullopt);
  expectStillRight(cache);
  EXPECT_TRUE(std::filesystem::exists(database() + ".damaged"));
}

TEST_F(KernelCacheTest, RightVersionWithAnotherTableIsMovedAside) {
  std::filesystem::create_directories(folder + "/cache");
  sql("CREATE TABLE entries(x); PRAGMA user_version=1");
  KernelCache cache(options());
  expectStillRight(cache);
  EXPECT_TRUE(cache.stats().onDisk);
}

TEST_F(KernelCacheTest, FolderThatCannotBeMade) {
  std::ofstream(folder + "/file") << "x";
  KernelCache cache(options("/file/cache"));
  expectStillRight(cache);
  EXPECT_FALSE(cache.stats().onDisk);
  EXPECT_EQ(cache.list().size(), 5u);  // from memory
}

TEST_F(KernelCacheTest, DatabaseThatIsAFolder) {
  std::filesystem::create_directories(database());
  KernelCache cache(options());
  expectStillRight(cache);
  EXPECT_FALSE(cache.stats().onDisk);
}

TEST_F(KernelCacheTest, LockedByAnother) {
  fill(3);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(database().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  {
    KernelCache cache(options());
    EXPECT_EQ(cache.get("key001"), blobOf(1));  // readers do not wait
    expectStillRight(cache);                    // writers give up, with a warning
  }
  sqlite3_exec(other, "ROLLBACK; PRAGMA journal_mode=DELETE; PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE", nullptr,
               nullptr, nullptr);
  {
    warnings = 0;
    KernelCache cache(options());
    EXPECT_EQ(cache.get("key001"), std::nullopt);
    expectStillRight(cache);
  }
  sqlite3_close(other);
  EXPECT_EQ(KernelCache(options()).get("key001"), blobOf(1));  // nothing was moved aside
}

/// Runs `body` in a child process; its result is whether the child ended with 0.
template <class Body>
int spawn(Body body) {
  const pid_t child = fork();
  if (child != 0) return child;
  int code = 0;
  try {
    code = body();
  } catch (...) { code = 1; }
  _exit(code);
}

bool ended(int child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(KernelCacheTest, FullDisk) {
  const int child = spawn([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{200000, 200000};  // files of this process cannot grow further: writes fail
    setrlimit(RLIMIT_FSIZE, &limit);
    KernelCache cache(options());
    for (int i = 0; i < 100; ++i) {
      cache.put(fmt::format("key{:03}", i), blobOf(i, 20000), "");
      if (cache.get(fmt::format("key{:03}", i)) != blobOf(i, 20000)) return 1;
    }
    return warnings == 1 ? 0 : 2;
  });
  EXPECT_TRUE(ended(child));
  KernelCache cache(options());
  for (int i = 0; i < 100; ++i)
    if (auto blob = cache.get(fmt::format("key{:03}", i))) EXPECT_EQ(*blob, blobOf(i, 20000));
  EXPECT_EQ(warnings, 0) << lastWarning;
}

TEST_F(KernelCacheTest, ManyProcessesAtOnce) {
  std::vector<int> children;
  children.reserve(4);
  for (int p = 0; p < 4; ++p) {
    children.push_back(spawn([&] {
      KernelCacheOptions o = options();
      o.busyTimeoutMs = 10000;
      KernelCache cache(o);  // all make the file at the same time
      for (int i = 0; i < 40; ++i) {
        const std::string key = fmt::format("key{:03}", i);
        if (auto blob = cache.get(key); blob && *blob != blobOf(i)) return 1;
        cache.put(key, blobOf(i), "");
      }
      return warnings == 0 ? 0 : 2;
    }));
  }
  for (int child : children) EXPECT_TRUE(ended(child));
  KernelCache cache(options());
  for (int i = 0; i < 40; ++i) EXPECT_EQ(cache.get(fmt::format("key{:03}", i)), blobOf(i));
  EXPECT_EQ(cache.stats().diskEntries, 40);
}

TEST_F(KernelCacheTest, ManyThreadsAtOnce) {
  KernelCache cache(options());
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 30; ++i) {
        const std::string key = fmt::format("key{:03}", i);
        if (auto blob = cache.get(key))
          EXPECT_EQ(*blob, blobOf(i));
        else
          cache.put(key, blobOf(i), "");
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(cache.stats().diskEntries, 30);
}

TEST_F(KernelCacheTest, OpensQuickly) {
  fill(100);
  double best = 1e9;
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    KernelCache cache(options());
    ASSERT_TRUE(cache.get("key050"));
    best = std::min(best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  RecordProperty("microseconds_to_open_and_get", static_cast<int>(best));
  EXPECT_LT(best, 50000);
}

TEST_F(KernelCacheTest, WhatManyThreadsAskForIsMadeOnce) {
  KernelCache cache(options());
  std::atomic<int> made{0}, wrong{0};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 4; ++k) {
        const int key = (t + k) % 4;
        const auto blob = cache.obtain(fmt::format("k{}", key), "", [&]() -> Result<std::string> {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          ++made;
          return blobOf(key);
        });
        wrong += !blob || *blob != blobOf(key);
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(made, 4);
  EXPECT_EQ(wrong, 0);
}

TEST_F(KernelCacheTest, WhatCouldNotBeMadeIsTriedAgain) {
  KernelCache cache(options());
  const auto failed = cache.obtain("k", "", [] { return Result<std::string>(Diagnostic{"T0000", {}, "no", ""}); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "no");
  EXPECT_EQ(*cache.obtain("k", "", [] { return Result<std::string>("yes"); }), "yes");
  EXPECT_EQ(*cache.obtain("k", "", [] { return Result<std::string>("again"); }), "yes");
}

}  // namespace
}  // namespace tokamak::runtime
