#pragma once

#include <memory>
#include <utility>

#include "runtime/cuda/device.h"

namespace tokamak::runtime::cuda {

/// Where device memory comes from. A block may be used by work that is put on `stream` after the call, and is released
/// in the stream's order: what was put there before may still use it. The device's context is current. Safe from many
/// threads.
class Allocator {
 public:
  virtual ~Allocator() = default;
  /// At least `bytes` (more than zero), aligned to 256 bytes. T0612 where the device has no more.
  virtual Result<void*> allocate(int64_t bytes, Stream stream) = 0;
  virtual void release(void* data, Stream stream) noexcept = 0;
};

/// CUDA's own pool of the device, which keeps what is released for reuse.
std::shared_ptr<Allocator> makeStreamAllocator(std::shared_ptr<const Device> device);

/// A block that is released when its owner dies.
class Block {
 public:
  Block() = default;
  Block(Block&& other) noexcept { *this = std::move(other); }
  Block& operator=(Block&& other) noexcept {
    reset();
    device_ = std::move(other.device_), allocator_ = std::move(other.allocator_);
    data_ = std::exchange(other.data_, nullptr), stream_ = other.stream_;
    return *this;
  }
  ~Block() { reset(); }

  /// Empty for no bytes.
  static Result<Block> make(std::shared_ptr<const Device> device, std::shared_ptr<Allocator> allocator, int64_t bytes,
                            Stream stream);
  void* data() const { return data_; }
  explicit operator bool() const { return data_ != nullptr; }
  void reset();

 private:
  std::shared_ptr<const Device> device_;
  std::shared_ptr<Allocator> allocator_;
  void* data_ = nullptr;
  Stream stream_ = nullptr;
};

}  // namespace tokamak::runtime::cuda
