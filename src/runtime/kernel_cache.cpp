#include "runtime/kernel_cache.h"

#include <algorithm>
#include <condition_variable>
#include <ctime>
#include <list>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "runtime/disk_store.h"

namespace tokamak::runtime {

namespace {

/// Least recently used entries in front, under a limit of bytes.
class MemoryStore {
 public:
  explicit MemoryStore(int64_t limit) : limit_(limit) {}

  std::optional<std::string> get(const std::string& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return std::nullopt;
    found->second->entry.lastUse = static_cast<int64_t>(std::time(nullptr));
    order_.splice(order_.end(), order_, found->second);
    return found->second->blob;
  }

  int64_t put(const std::string& key, std::string_view blob, std::string_view description) {
    const auto bytes = static_cast<int64_t>(blob.size());
    if (const auto found = index_.find(key); found != index_.end()) drop(found->second);
    if (bytes > limit_) return 0;
    int64_t dropped = 0;
    for (; bytes_ + bytes > limit_; ++dropped) drop(order_.begin());
    const auto when = static_cast<int64_t>(std::time(nullptr));
    order_.push_back({{key, std::string(description), bytes, when}, std::string(blob)});
    index_[key] = std::prev(order_.end());
    bytes_ += bytes;
    return dropped;
  }

  std::vector<CacheEntry> list() const {
    std::vector<CacheEntry> out;
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) out.push_back(it->entry);
    return out;
  }

  int64_t clear() {
    const int64_t count = entries();
    order_.clear(), index_.clear();
    bytes_ = 0;
    return count;
  }

  int64_t bytes() const { return bytes_; }
  int64_t entries() const { return static_cast<int64_t>(order_.size()); }

 private:
  struct Kept {
    CacheEntry entry;
    std::string blob;
  };
  void drop(std::list<Kept>::iterator it) {
    bytes_ -= it->entry.bytes;
    index_.erase(it->entry.key);
    order_.erase(it);
  }
  std::list<Kept> order_;
  std::unordered_map<std::string, std::list<Kept>::iterator> index_;
  int64_t bytes_ = 0, limit_;
};

}  // namespace

/// Two locks, so that what is in memory never waits for the disk. Taken one at a time.
struct KernelCache::State {
  explicit State(KernelCacheOptions o)
      : options(std::move(o)),
        memory(options.memoryLimitBytes),
        disk(options, [this](const std::string& text) { warn(text); }) {}

  void warn(const std::string& text) {
    {
      std::lock_guard lock(memoryLock);
      if (!stats.warning.empty()) return;
      stats.warning = text;
    }
    if (options.warn) options.warn(text);
  }

  KernelCacheOptions options;
  std::mutex memoryLock;  // memory and stats
  CacheStats stats;
  MemoryStore memory;
  std::mutex diskLock;
  DiskStore disk;
  std::mutex makingLock;
  std::condition_variable made;
  std::unordered_set<std::string> making;
};

/// Held by the one thread that may make what belongs to a key.
class KernelCache::Turn {
 public:
  Turn(State& state, std::string key) : state_(state), key_(std::move(key)) {
    std::unique_lock lock(state_.makingLock);
    state_.made.wait(lock, [this] { return !state_.making.contains(key_); });
    state_.making.insert(key_);
  }
  ~Turn() {
    {
      const std::lock_guard lock(state_.makingLock);
      state_.making.erase(key_);
    }
    state_.made.notify_all();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  State& state_;
  const std::string key_;
};

KernelCache::KernelCache(KernelCacheOptions options) : state_(std::make_unique<State>(std::move(options))) {}
KernelCache::~KernelCache() = default;

std::optional<std::string> KernelCache::get(std::string_view key) {
  const std::string name(key);
  {
    std::lock_guard lock(state_->memoryLock);
    if (auto blob = state_->memory.get(name)) {
      ++state_->stats.memoryHits;
      return blob;
    }
  }
  std::optional<std::string> blob;
  {
    std::lock_guard lock(state_->diskLock);
    blob = state_->disk.get(key);
  }
  std::lock_guard lock(state_->memoryLock);
  ++(blob ? state_->stats.diskHits : state_->stats.misses);
  if (blob) state_->memory.put(name, *blob, "");
  return blob;
}

void KernelCache::put(std::string_view key, std::string_view blob, std::string_view description) {
  int64_t dropped = 0;
  {
    std::lock_guard lock(state_->diskLock);
    dropped = state_->disk.put(key, blob, description);
  }
  std::lock_guard lock(state_->memoryLock);
  state_->stats.evictions += dropped + state_->memory.put(std::string(key), blob, description);
  ++state_->stats.puts;
}

Result<std::string> KernelCache::obtain(std::string_view key, std::string_view description,
                                        const std::function<Result<std::string>()>& make) {
  const Turn turn(*state_, std::string(key));
  if (auto known = get(key)) return std::move(*known);
  TK_TRY(std::string blob, make());
  put(key, blob, description);
  return blob;
}

std::vector<CacheEntry> KernelCache::list() {
  {
    std::lock_guard lock(state_->diskLock);
    if (state_->disk.on()) return state_->disk.list();
  }
  std::lock_guard lock(state_->memoryLock);
  return state_->memory.list();
}

int64_t KernelCache::clear() {
  int64_t onDisk = 0;
  {
    std::lock_guard lock(state_->diskLock);
    onDisk = state_->disk.clear();
  }
  std::lock_guard lock(state_->memoryLock);
  return std::max(onDisk, state_->memory.clear());
}

CacheStats KernelCache::stats() {
  std::pair<int64_t, int64_t> onDisk;
  bool on = false;
  {
    std::lock_guard lock(state_->diskLock);
    onDisk = state_->disk.totals();
    on = state_->disk.on();
  }
  std::lock_guard lock(state_->memoryLock);
  CacheStats stats = state_->stats;
  stats.memoryBytes = state_->memory.bytes(), stats.memoryEntries = state_->memory.entries();
  stats.diskEntries = onDisk.first, stats.diskBytes = onDisk.second;
  stats.onDisk = on, stats.file = state_->disk.file();
  return stats;
}

}  // namespace tokamak::runtime
