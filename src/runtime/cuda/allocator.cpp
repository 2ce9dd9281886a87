#include "runtime/cuda/allocator.h"

#include <fmt/format.h>

#include <bit>

namespace tokamak::runtime::cuda {

namespace {

constexpr size_t kPiece = 16;

class StreamAllocator final : public Allocator {
 public:
  explicit StreamAllocator(std::shared_ptr<const Device> device) : device_(std::move(device)) {
    // By default what is released goes back to the system whenever anybody waits for the device.
    const Device::Current current(*device_);
    MemoryPoolHandle pool = nullptr;
    uint64_t keep = UINT64_MAX;
    if (device_->api().defaultPool(&pool, device_->ordinal()) == 0)
      device_->api().setPoolAttribute(pool, kPoolReleaseThreshold, &keep);
  }

  Result<void*> allocate(int64_t bytes, Stream stream) override {
    Address address = 0;
    // Kernels may read the whole pieces of memory that a tensor begins and ends in.
    const size_t whole = (static_cast<size_t>(bytes) + kPiece - 1) / kPiece * kPiece;
    TK_RETURN_IF_ERROR(device_->driver().check(device_->api().allocateAsync(&address, whole, stream),
                                               fmt::format("{} bytes on cuda:{}", bytes, device_->ordinal())));
    return std::bit_cast<void*>(address);
  }

  void release(void* data, Stream stream) noexcept override {
    device_->api().releaseAsync(reinterpret_cast<Address>(data), stream);
  }

 private:
  std::shared_ptr<const Device> device_;
};

}  // namespace

std::shared_ptr<Allocator> makeStreamAllocator(std::shared_ptr<const Device> device) {
  return std::make_shared<StreamAllocator>(std::move(device));
}

Result<Block> Block::make(std::shared_ptr<const Device> device, std::shared_ptr<Allocator> allocator, int64_t bytes,
                          Stream stream) {
  Block block;
  if (bytes <= 0) return block;
  const Device::Current current(*device);
  TK_TRY(block.data_, allocator->allocate(bytes, stream));
  block.device_ = std::move(device), block.allocator_ = std::move(allocator), block.stream_ = stream;
  return block;
}

void Block::reset() {
  if (!data_) return;
  const Device::Current current(*device_);
  allocator_->release(std::exchange(data_, nullptr), stream_);
  allocator_.reset(), device_.reset();
}

}  // namespace tokamak::runtime::cuda
