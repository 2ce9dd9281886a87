#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "support/result.h"

namespace tokamak::runtime {

struct PoolOptions {
  /// Bytes kept for reuse when nobody holds them; above it the blocks longest unused go back to the system.
  /// Negative: a quarter of the machine's memory.
  int64_t limitBytes = -1;
  /// Ask for 2 MiB pages for large blocks.
  bool hugePages = true;
};

/// What the pool did so far. Bytes are those of whole blocks, as rounded up to their size class or a little more.
struct PoolCounters {
  int64_t inUseBytes = 0;      // held by callers now
  int64_t cachedBytes = 0;     // kept for reuse now
  int64_t peakBytes = 0;       // the most ever held by callers at once
  int64_t hits = 0;            // requests served from kept blocks
  int64_t misses = 0;          // requests that went to the system
  int64_t givenBackBytes = 0;  // returned to the system so far
  int64_t limitBytes = 0;
};

class PoolBlock;

/// What happens where no kept block has the size that is asked for.
enum class Growth {
  /// The system is asked: those who call with other sizes keep what they will ask for again.
  free,
  /// Blocks from 64 KiB on are cut from kept ones of other sizes, whose parts are joined again as they come back, so
  /// that what one half of a training step gave back serves the other. Where none is large enough, 32 MiB of address
  /// space are mapped to cut from; they count as kept, though nothing was touched yet. The first 16 MiB are on small
  /// pages: of a small model's memory, what is left of the last huge page would be a large part.
  fitted,
  /// As much as is asked for is given back first. Blocks from 64 KiB to 8 MiB come from the C library and go straight
  /// back to it, where others who allocate find them.
  thrifty,
  /// Thrifty, for what the rest of a training step is made beside: while such a block of 64 KiB or more is held, those
  /// who ask for fitted memory get thrifty. What two allocators keep for the two halves of one step adds up.
  lasting,
};

/// A bounded pool of host memory: blocks come back to it and are handed out again, so that their pages are faulted in
/// once and not on every call. Blocks of 2 MiB and more are mapped on huge pages.
///
///   MemoryPool pool({.limitBytes = 1 << 30});
///   Result<PoolBlock> block = pool.allocate(bytes);  // returns to the pool when the handle dies
///
/// Contents are undefined. Data is aligned to 64 bytes, to 4096 from 64 KiB on but for what the C library gives. Safe
/// from many threads; blocks may outlive the pool object and may be released on any thread.
class MemoryPool {
 public:
  explicit MemoryPool(PoolOptions options = {});
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// At least `bytes` (zero gives a valid block of the smallest size). Fails with T0601 when the system has no more
  /// even after everything kept was given back.
  Result<PoolBlock> allocate(int64_t bytes, Growth growth = Growth::free);

  /// Gives kept blocks back to the system, longest unused first, until at most `keepBytes` are kept.
  void trim(int64_t keepBytes = 0);
  void setLimit(int64_t bytes);
  PoolCounters counters() const;

  /// The size of the block a request for `bytes` gets.
  static int64_t blockSize(int64_t bytes);

  struct State;
  struct Block;
  /// For C deleters: ends what `PoolBlock::detach` began. Null is allowed.
  static void release(Block* block) noexcept;

 private:
  friend class PoolBlock;
  State* state_;
};

/// Owns one block until destroyed; movable.
class PoolBlock {
 public:
  PoolBlock() = default;
  PoolBlock(PoolBlock&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)), data_(std::exchange(other.data_, nullptr)) {}
  PoolBlock& operator=(PoolBlock&& other) noexcept {
    if (this != &other) {
      reset();
      block_ = std::exchange(other.block_, nullptr);
      data_ = std::exchange(other.data_, nullptr);
    }
    return *this;
  }
  ~PoolBlock() { reset(); }

  std::byte* data() const { return data_; }
  int64_t size() const;  // of the whole block: at least what was asked for
  explicit operator bool() const { return block_ != nullptr; }
  void reset() {
    if (block_) MemoryPool::release(std::exchange(block_, nullptr));
    data_ = nullptr;
  }
  /// Gives up ownership: the caller hands the result to MemoryPool::release, from any thread. `data` stays valid.
  MemoryPool::Block* detach() {
    data_ = nullptr;
    return std::exchange(block_, nullptr);
  }

 private:
  friend class MemoryPool;
  PoolBlock(MemoryPool::Block* block, std::byte* data) : block_(block), data_(data) {}
  MemoryPool::Block* block_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace tokamak::runtime
