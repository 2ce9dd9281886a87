#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace tokamak::runtime {

struct KernelCacheOptions {
  std::string folder;  // empty: memory only
  bool make = true;    // folder and file, where they are missing; false: memory only there, without a word
  int64_t memoryLimitBytes = 64ll << 20;
  int64_t diskLimitBytes = 512ll << 20;
  int busyTimeoutMs = 200;                     // how long another process's write is waited for
  std::function<void(std::string_view)> warn;  // told once what is the matter with the disk
};

struct CacheEntry {
  std::string key;
  std::string description;
  int64_t bytes = 0;
  int64_t lastUse = 0;  // seconds since 1970
};

struct CacheStats {
  int64_t memoryHits = 0, diskHits = 0, misses = 0, puts = 0, evictions = 0;
  int64_t memoryBytes = 0, diskBytes = 0, memoryEntries = 0, diskEntries = 0;
  bool onDisk = false;  // false: memory only, by choice or because the disk failed
  std::string file;
  std::string warning;  // what `warn` was told
};

/// Compiled things by key: in memory, and in one SQLite file that processes share. Least recently used ones go when a
/// limit is reached. Each blob carries a checksum.
///
///   KernelCache cache({.folder = "/home/me/.cache/tokamak", .warn = print});
///   TK_TRY(const std::string object, cache.obtain(key, "layer_norm f32", [&] { return compile(kernel); }));
///
/// The cache costs time, never a failure: a damaged, locked, read-only or full disk is reported once and means a miss.
/// A damaged file is moved aside (`kernels.db.damaged`) and a new one begun. Safe from many threads and processes.
class KernelCache {
 public:
  explicit KernelCache(KernelCacheOptions options = {});
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;

  std::optional<std::string> get(std::string_view key);
  void put(std::string_view key, std::string_view blob, std::string_view description);
  /// What is there, or what `make` makes: by one thread, while the others that ask for the same wait for it.
  Result<std::string> obtain(std::string_view key, std::string_view description,
                             const std::function<Result<std::string>()>& make);

  /// What is on disk (in memory, where there is no disk), latest use first.
  std::vector<CacheEntry> list();
  /// Forgets everything, in memory and on disk. Gives the number of entries dropped.
  int64_t clear();
  CacheStats stats();

 private:
  struct State;
  class Turn;
  std::unique_ptr<State> state_;
};

}  // namespace tokamak::runtime
