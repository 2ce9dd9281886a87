#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/kernel_cache.h"

namespace tokamak::runtime {

/// The SQLite file behind a KernelCache. Every failure is reported to `warn` and answered as a miss; one that will not
/// go away by itself turns the store off. A connection does not survive a fork: in the child the store is off. Not safe
/// from two threads at once: the cache holds a lock.
class DiskStore {
 public:
  using Warn = std::function<void(std::string)>;
  DiskStore(const KernelCacheOptions& options, Warn warn);
  ~DiskStore();

  bool on() const { return database_ != nullptr && !inherited(); }
  const std::string& file() const { return file_; }

  std::optional<std::string> get(std::string_view key);
  /// Gives the number of entries that had to go for this one.
  int64_t put(std::string_view key, std::string_view blob, std::string_view description);
  std::vector<CacheEntry> list();
  int64_t clear();
  /// Entries and bytes.
  std::pair<int64_t, int64_t> totals();

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

  /// Whether the connection was opened by a process that this one was forked from.
  bool inherited() const;
  int open();
  int prepareSchema();
  int prepareStatements();
  int execute(const char* sql);
  int step(sqlite3_stmt* statement);
  int64_t number(const char* sql);
  int64_t evict(int64_t incoming);
  void touch(std::string_view key);
  void close();
  /// Reports `code`, and repairs or gives up as it demands.
  void failed(int code, std::string_view doing);
  bool moveAside();

  KernelCacheOptions options_;
  Warn warn_;
  std::string file_;
  sqlite3* database_ = nullptr;
  int process_ = 0;  // that opened it
  uint64_t inode_ = 0;
  Statement find_, insert_, touch_, remove_, oldest_;
  bool repaired_ = false;
  int refusals_ = 0;
};

}  // namespace tokamak::runtime
