#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace tokamak::library {

/// What was made for the extents used lately; the least recently used go first. Safe from many threads.
template <class Key, class Value>
class Recent {
 public:
  explicit Recent(int capacity) : capacity_(capacity > 0 ? capacity : 1) {}

  std::shared_ptr<const Value> find(const Key& key) const {
    std::lock_guard lock(mutex_);
    for (Entry& entry : entries_) {
      if (!(entry.key == key)) continue;
      entry.lastUse = ++clock_;
      return entry.value;
    }
    return nullptr;
  }

  void insert(const Key& key, std::shared_ptr<const Value> value) const {
    std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_)
      if (entry.key == key) return;  // another thread was first
    if (static_cast<int>(entries_.size()) < capacity_) {
      entries_.push_back({key, std::move(value), ++clock_});
      return;
    }
    *std::ranges::min_element(entries_, {}, &Entry::lastUse) = {key, std::move(value), ++clock_};
  }

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const Value> value;
    uint64_t lastUse;
  };
  int capacity_;
  mutable std::mutex mutex_;
  mutable std::vector<Entry> entries_;
  mutable uint64_t clock_ = 0;
};

}  // namespace tokamak::library
