#pragma once

#include <cstddef>
#include <cstdint>

namespace tokamak::library {

/// Memory a library call needs while it runs. `take` gives at least `bytes`, 64-byte aligned, and a ticket for `give`;
/// null when there is none. Safe from many threads.
class ScratchSource {
 public:
  virtual ~ScratchSource() = default;
  virtual std::byte* take(int64_t bytes, void*& ticket) = 0;
  virtual void give(void* ticket) = 0;
};

/// Long-lived memory for packed weights: on huge pages where it is large.
class PackedMemory {
 public:
  PackedMemory() = default;
  explicit PackedMemory(int64_t bytes);
  PackedMemory(PackedMemory&& other) noexcept;
  PackedMemory& operator=(PackedMemory&& other) noexcept;
  ~PackedMemory();
  std::byte* data() const { return data_; }  // null when there was no memory

 private:
  std::byte* data_ = nullptr;
};

/// What is used where the caller gives no source: memory of the calling thread that grows and is kept.
ScratchSource& threadScratchSource();

}  // namespace tokamak::library
