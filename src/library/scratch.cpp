#include "library/scratch.h"

#include <sys/mman.h>

#include <cstdlib>
#include <utility>

namespace tokamak::library {

namespace {

constexpr int64_t kHugePage = 2 << 20;

int64_t roundUp(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

class ThreadScratch final : public ScratchSource {
 public:
  std::byte* take(int64_t bytes, void*& ticket) override {
    struct Kept {
      std::byte* data = nullptr;
      int64_t size = 0;
      ~Kept() { std::free(data); }
    };
    thread_local Kept kept;
    ticket = nullptr;
    if (bytes > kept.size) {
      std::free(kept.data);
      kept.size = roundUp(bytes, 4096);
      kept.data = static_cast<std::byte*>(std::aligned_alloc(4096, kept.size));
      if (!kept.data) kept.size = 0;
    }
    return kept.data;
  }
  void give(void*) override {}
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
