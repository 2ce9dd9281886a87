#include "library/scratch.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <utility>

namespace tokamak::library {

namespace {

constexpr int64_t kHugePage = 2 << 20;

int64_t roundUp(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

/// What is taken while something else is has memory of its own.
class ThreadScratch final : public ScratchSource {
 public:
  std::byte* take(int64_t bytes, void*& ticket) override {
    thread_local std::deque<Kept> all;
    auto kept = std::ranges::find(all, false, &Kept::taken);
    if (kept == all.end()) all.emplace_back(), kept = std::prev(all.end());
    if (bytes > kept->size) {
      std::free(kept->data);
      kept->size = roundUp(bytes, 4096);
      kept->data = static_cast<std::byte*>(std::aligned_alloc(4096, kept->size));
      if (!kept->data) kept->size = 0;
    }
    kept->taken = kept->data != nullptr;
    ticket = &*kept;
    return kept->data;
  }
  void give(void* ticket) override { static_cast<Kept*>(ticket)->taken = false; }

 private:
  struct Kept {
    std::byte* data = nullptr;
    int64_t size = 0;
    bool taken = false;
    Kept() = default;
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;
    ~Kept() { std::free(data); }
  };
};

}  // namespace

ScratchSource& threadScratchSource() {
  static ThreadScratch source;
  return source;
}

PackedMemory::PackedMemory(int64_t bytes) {
  const bool large = bytes >= kHugePage;
  const int64_t alignment = large ? kHugePage : 64, size = roundUp(bytes > 0 ? bytes : 1, alignment);
  data_ = static_cast<std::byte*>(std::aligned_alloc(alignment, size));
  if (data_ && large) madvise(data_, size, MADV_HUGEPAGE);
}

PackedMemory::PackedMemory(PackedMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
PackedMemory& PackedMemory::operator=(PackedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  return *this;
}
PackedMemory::~PackedMemory() { std::free(data_); }

}  // namespace tokamak::library
