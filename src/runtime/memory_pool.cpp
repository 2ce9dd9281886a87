#include "runtime/memory_pool.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <span>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TK_ASAN 1
#endif
#endif
#if defined(TK_ASAN) || defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace tokamak::runtime {

namespace {

constexpr int64_t kSmallLimit = 1024;  // below: classes of 64 bytes; above: eight classes a doubling
constexpr int kSmallClasses = 16;
constexpr int64_t kLine = 64;
constexpr int64_t kPageAlignedFrom = 64 << 10;
constexpr int64_t kHugePage = 2 << 20;
constexpr int64_t kThriftyFrom = 64 << 10;  // what is smaller is not worth looking for something to give back or to cut
constexpr int64_t kSharedBelow = 8 << 20;   // the C library keeps such blocks, once it has seen one come back
constexpr int64_t kRegion = 32 << 20;       // of address space, for fitted blocks
constexpr int64_t kSmallPages = 16 << 20;   // of the first region
constexpr int64_t kLargest = int64_t{1} << 46;
constexpr int kClasses = kSmallClasses + 8 * 37;

struct SizeClass {
  int index;
  int64_t bytes;
};

SizeClass classOf(int64_t bytes) {
  if (bytes <= kSmallLimit) {
    const int64_t units = std::max<int64_t>(1, (bytes + 63) / 64);
    return {static_cast<int>(units - 1), units * 64};
  }
  const int exponent = std::bit_width(static_cast<uint64_t>(bytes - 1)) - 1;
  const int shift = exponent - 3;
  const int64_t units = ((bytes - 1) >> shift) + 1;  // 9 to 16
  return {kSmallClasses + (exponent - 10) * 8 + static_cast<int>(units - 9), units << shift};
}

/// The largest class that a block of so many bytes serves.
int floorClassOf(int64_t bytes) {
  const SizeClass size = classOf(bytes);
  return size.bytes == bytes ? size.index : size.index - 1;
}

/// Physical memory, or less where a control group allows less.
int64_t machineMemory() {
  int64_t bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (FILE* file = std::fopen("/sys/fs/cgroup/memory.max", "r")) {
    long long limit = 0;
    if (std::fscanf(file, "%lld", &limit) == 1 && limit > 0) bytes = std::min<int64_t>(bytes, limit);
    std::fclose(file);
  }
  return bytes;
}

/// Memory that begins at a multiple of a huge page; from `hugeFrom` on it asks for such.
std::byte* mapAligned(int64_t bytes, int64_t hugeFrom) {
  const int64_t slack = bytes + kHugePage;
  void* raw = mmap(nullptr, slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const auto before = static_cast<int64_t>(-reinterpret_cast<uintptr_t>(raw) & (kHugePage - 1));
  std::byte* data = static_cast<std::byte*>(raw) + before;
  if (before > 0) munmap(raw, before);
  munmap(data + bytes, kHugePage - before);
  if (hugeFrom < bytes) madvise(data + hugeFrom, bytes - hugeFrom, MADV_HUGEPAGE);  // refusal costs speed only
  return data;
}

}  // namespace

/// Free blocks of a class form a list, latest used first; `stamp` orders the lists' ends among each other. What the
/// system gave may be cut into several blocks, which know their neighbours; only the whole of it can go back.
struct MemoryPool::Block {
  enum Place : uint8_t {
    held,
    listed,
    absent,  // free, its pages given back, in no list: serves again with a neighbour that is free
  };

  std::byte* data;
  int64_t size;
  State* state;
  int sizeClass;  // the largest that it serves
  bool mapped;    // else the C library's
  bool kept;      // for reuse when it comes back
  int region;     // the number of what it is a part of, 0 for what was not meant to be cut
  bool lasting = false;
  std::byte* given = nullptr;  // by the C library, where it is not `data`
  Block* newer = nullptr;
  Block* older = nullptr;
  uint64_t stamp = 0;
  std::atomic<Place> place{held};
  Block* before = nullptr;  // neighbours in memory; touched under `State::cutting`
  Block* after = nullptr;

  bool isWhole() const { return !before && !after; }
  static bool isListed(const Block* block) { return block && block->place.load(std::memory_order_relaxed) == listed; }
  static bool isFree(const Block* block, Place upTo) {
    return isListed(block) || (block && block->place.load(std::memory_order_relaxed) == upTo);
  }
};

struct MemoryPool::State {
  struct alignas(64) FreeList {
    std::mutex mutex;
    Block* newest = nullptr;
    Block* oldest = nullptr;
    int64_t hits = 0;
  };

  PoolOptions options;
  int64_t machineBytes = machineMemory();
  std::atomic<int64_t> limit{0};
  alignas(64) std::atomic<int64_t> inUse{1};  // bytes, and one for the pool object: zero means nobody is left
  std::atomic<int64_t> peak{0};
  alignas(64) std::atomic<int64_t> cached{0};
  std::atomic<uint64_t> clock{0};
  std::atomic<int64_t> givenBack{0};
  std::atomic<int64_t> misses{0};
  std::atomic<int64_t> lasting{0};     // bytes held of this growth
  int regions = 0, mappedRegions = 0;  // made so far, and there now; changed under `cutting`
  std::mutex cutting;                  // before a list's mutex where both are held
  static constexpr int kWords = kClasses / 64 + 1;
  std::array<std::atomic<uint64_t>, kWords> filled{};  // one bit a list: not empty; changed under its mutex
  std::array<FreeList, kClasses> lists;

  ~State() { trim(0); }

  /// The first list from a class on that is not empty; others may change that meanwhile.
  FreeList* nextFilled(int firstClass) {
    for (int word = firstClass / 64; word < kWords; ++word) {
      uint64_t bits = filled[word].load(std::memory_order_relaxed);
      if (word == firstClass / 64) bits &= ~uint64_t{0} << (firstClass % 64);
      if (bits) return &lists[word * 64 + std::countr_zero(bits)];
    }
    return nullptr;
  }

  int classOfList(const FreeList& list) const { return static_cast<int>(&list - lists.data()); }

  void unlink(FreeList& list, Block* block) {
    (block->newer ? block->newer->older : list.newest) = block->older;
    (block->older ? block->older->newer : list.oldest) = block->newer;
    block->place.store(Block::held, std::memory_order_relaxed);
    const int at = classOfList(list);
    if (!list.newest) filled[at / 64].fetch_and(~(uint64_t{1} << (at % 64)), std::memory_order_relaxed);
  }

  Block* popNewest(FreeList& list) {
    std::lock_guard lock(list.mutex);
    Block* block = list.newest;
    if (!block) return nullptr;
    ++list.hits;
    unlink(list, block);
    return block;
  }

  Block* popOldest(FreeList& list) {
    std::lock_guard lock(list.mutex);
    Block* block = list.oldest;
    if (block) unlink(list, block);
    return block;
  }

  void push(Block* block) {
    FreeList& list = lists[block->sizeClass];
    std::lock_guard lock(list.mutex);
    block->stamp = clock.fetch_add(1, std::memory_order_relaxed);
    block->newer = nullptr;
    block->older = list.newest;
    (list.newest ? list.newest->newer : list.oldest) = block;
    list.newest = block;
    const int at = block->sizeClass;
    if (!block->older) filled[at / 64].fetch_or(uint64_t{1} << (at % 64), std::memory_order_relaxed);
    block->place.store(Block::listed, std::memory_order_relaxed);
  }

  /// A kept block cut to size, once neighbours are joined; with those whose pages were given back only where nothing
  /// else is large enough, for they would be touched anew. Null: the system has no more.
  Block* fit(SizeClass size) {
    std::lock_guard lock(cutting);
    joinAll(Block::listed);
    Block* block = takeBest(size.index);
    if (!block) {
      joinAll(Block::absent);
      block = takeBest(size.index);
    }
    if (!block) block = obtainRegion(size.bytes);
    if (!block || block->size - size.bytes < kThriftyFrom) return block;
    auto* rest = new Block{block->data + size.bytes,
                           block->size - size.bytes,
                           this,
                           floorClassOf(block->size - size.bytes),
                           block->mapped,
                           block->kept,
                           block->region};
    rest->before = block;
    rest->after = block->after;
    if (rest->after) rest->after->before = rest;
    block->after = rest;
    block->size = size.bytes;
    block->sizeClass = size.index;
    cached.fetch_add(rest->size, std::memory_order_relaxed);
    push(rest);
    return block;
  }

  /// Of the oldest region that has one the smallest, so that young regions stay untouched or become empty.
  Block* takeBest(int firstClass) {
    while (Block* block = bestFrom(firstClass)) {
      int64_t bytes = 0;
      if (takeFree(block, bytes)) return block;  // else another thread took it
    }
    return nullptr;
  }

  Block* bestFrom(int firstClass) {
    Block* best = nullptr;
    for (FreeList* list = nextFilled(firstClass); list; list = nextFilled(classOfList(*list) + 1)) {
      std::lock_guard lock(list->mutex);
      for (Block* block = list->newest; block; block = block->older)
        if (!best || block->region < best->region) best = block;  // classes come by size
    }
    return best;
  }

  /// Memory to cut blocks from, which costs nothing before it is touched.
  Block* obtainRegion(int64_t bytes) {
    const SizeClass size = classOf(std::max(bytes, kRegion));
    std::byte* data = mapAligned(size.bytes, hugeFrom(mappedRegions == 0 ? kSmallPages : 0));
    if (!data) return nullptr;
    misses.fetch_add(1, std::memory_order_relaxed);
    ++mappedRegions;
    return new Block{data, size.bytes, this, size.index, true, true, ++regions};
  }

  int64_t hugeFrom(int64_t offset) const { return options.hugePages ? offset : INT64_MAX; }

  /// Joins listed blocks with free neighbours up to a place: listed ones alone, or absent ones too.
  void joinAll(Block::Place upTo) {
    const int first = classOf(kThriftyFrom).index;
    for (FreeList* list = nextFilled(first); list; list = nextFilled(classOfList(*list) + 1)) {
      while (Block* block = popJoinable(*list, upTo)) {
        int64_t bytes = block->size;
        cached.fetch_sub(bytes, std::memory_order_relaxed);
        block = joined(block, bytes, upTo);
        block->sizeClass = floorClassOf(block->size);
        cached.fetch_add(block->size, std::memory_order_relaxed);
        push(block);
      }
    }
  }

  Block* popJoinable(FreeList& list, Block::Place upTo) {
    std::lock_guard lock(list.mutex);
    for (Block* block = list.newest; block; block = block->older) {
      if (!Block::isFree(block->before, upTo) && !Block::isFree(block->after, upTo)) continue;
      unlink(list, block);
      return block;
    }
    return nullptr;
  }

  /// A block that is nobody's, with the free ones before and behind it; `bytes` grows by those that were listed.
  Block* joined(Block* block, int64_t& bytes, Block::Place upTo = Block::absent) {
    while (Block::isFree(block->after, upTo) && takeFree(block->after, bytes)) absorbNext(block);
    while (Block::isFree(block->before, upTo) && takeFree(block->before, bytes)) {
      block = block->before;
      absorbNext(block);
    }
    return block;
  }

  static void absorbNext(Block* block) {
    Block* next = block->after;
    block->size += next->size;
    block->after = next->after;
    if (block->after) block->after->before = block;
    delete next;
  }

  bool takeFree(Block* block, int64_t& bytes) {
    if (block->place.load(std::memory_order_relaxed) == Block::absent) return true;
    FreeList& list = lists[block->sizeClass];
    std::lock_guard lock(list.mutex);
    if (!Block::isListed(block)) return false;
    unlink(list, block);
    cached.fetch_sub(block->size, std::memory_order_relaxed);
    bytes += block->size;
    return true;
  }

  FreeList* listWithOldest(int firstClass) {
    FreeList* found = nullptr;
    uint64_t stamp = ~uint64_t{0};
    for (FreeList& list : std::span(lists).subspan(firstClass)) {
      std::lock_guard lock(list.mutex);
      if (!list.oldest || list.oldest->stamp >= stamp) continue;
      stamp = list.oldest->stamp;
      found = &list;
    }
    return found;
  }

  void trim(int64_t keep) {
    while (cached.load(std::memory_order_relaxed) > keep && giveOldestBack(0) > 0) {}
  }

  /// Gives at least `bytes` back where so much is kept in large blocks.
  void makeRoom(int64_t bytes) {
    const int firstClass = classOf(kThriftyFrom).index;
    while (bytes > 0) {
      const int64_t given = giveOldestBack(firstClass);
      if (given == 0) return;
      bytes -= given;
    }
  }

  /// The size of the block longest unused, of the classes from `firstClass` on, and of what is joined to it; 0: none is
  /// kept.
  int64_t giveOldestBack(int firstClass) {
    while (FreeList* list = listWithOldest(firstClass)) {
      Block* block = popOldest(*list);
      if (!block) continue;  // another thread took it
      cached.fetch_sub(block->size, std::memory_order_relaxed);
      return giveBack(block);
    }
    return 0;
  }

  /// As much as is asked for and no more: what is freed is found again by those who ask for as much. Aligned by hand,
  /// since the C library would leave gaps before blocks, in which others settle.
  Block* obtainShared(int64_t bytes) {
    const int64_t size = (bytes + kLine - 1) & ~(kLine - 1);
    auto* given = static_cast<std::byte*>(std::malloc(size + kLine));
    if (!given) return nullptr;
    std::byte* data = given + (-reinterpret_cast<uintptr_t>(given) & (kLine - 1));
    auto* block = new Block{data, size, this, classOf(size).index, false, false, 0};
    block->given = given;
    return block;
  }

  Block* obtain(SizeClass size) {
    const bool mapped = size.bytes >= kHugePage;
    std::byte* data = nullptr;
    if (mapped) {
      data = mapAligned(size.bytes, hugeFrom(0));
    } else {
      const int64_t alignment = size.bytes >= kPageAlignedFrom ? 4096 : 64;
      data = static_cast<std::byte*>(std::aligned_alloc(alignment, size.bytes));
    }
    return data ? new Block{data, size.bytes, this, size.index, mapped, true, 0} : nullptr;
  }

  /// With free neighbours; of what is a part of something in use, the pages alone. How many bytes.
  int64_t giveBack(Block* block) {
    std::lock_guard lock(cutting);
    int64_t bytes = block->size;
    block = joined(block, bytes);
    givenBack.fetch_add(bytes, std::memory_order_relaxed);
    ASAN_UNPOISON_MEMORY_REGION(block->data, block->size);
    if (!block->isWhole()) {
      madvise(block->data, block->size, MADV_DONTNEED);
      block->place.store(Block::absent, std::memory_order_relaxed);
      return bytes;
    }
    if (block->mapped)
      munmap(block->data, block->size);
    else
      std::free(block->given ? block->given : block->data);
    if (block->region > 0) --mappedRegions;
    delete block;
    return bytes;
  }

  void take(int64_t bytes) {
    const int64_t now = inUse.fetch_add(bytes, std::memory_order_relaxed) + bytes - 1;
    int64_t before = peak.load(std::memory_order_relaxed);
    while (now > before && !peak.compare_exchange_weak(before, now, std::memory_order_relaxed)) {}
  }

  void drop(int64_t bytes) {
    if (inUse.fetch_sub(bytes, std::memory_order_acq_rel) == bytes) delete this;
  }
};

MemoryPool::MemoryPool(PoolOptions options) : state_(new State) {
  state_->options = options;
  setLimit(options.limitBytes);
}

MemoryPool::~MemoryPool() {
  state_->limit = -1;  // blocks still out go straight back to the system
  state_->trim(0);
  state_->drop(1);
}

void MemoryPool::setLimit(int64_t bytes) {
  state_->limit = bytes >= 0 ? bytes : state_->machineBytes / 4;
  state_->trim(state_->limit);
}

void MemoryPool::trim(int64_t keepBytes) { state_->trim(keepBytes); }

int64_t MemoryPool::blockSize(int64_t bytes) { return classOf(std::min(bytes, kLargest)).bytes; }

Result<PoolBlock> MemoryPool::allocate(int64_t bytes, Growth growth) {
  auto failure = [&] {
    return Diagnostic{"T0601",
                      {},
                      fmt::format("no memory for {} bytes ({} in use by this pool, {} bytes in the machine)", bytes,
                                  state_->inUse.load() - 1, state_->machineBytes),
                      "make a dimension smaller, or free tensors that are still held"};
  };
  if (bytes < 0 || bytes > kLargest) return failure();
  const SizeClass size = classOf(bytes);
  if (size.bytes < kThriftyFrom) growth = Growth::free;
  if (growth == Growth::fitted && state_->lasting.load(std::memory_order_relaxed) > 0) growth = Growth::thrifty;
  const bool fitted = growth == Growth::fitted, lasting = growth == Growth::lasting;
  const auto taken = [&](Block* block) {
    block->lasting = lasting;
    if (lasting) state_->lasting.fetch_add(block->size, std::memory_order_relaxed);
    state_->take(block->size);
    ASAN_UNPOISON_MEMORY_REGION(block->data, block->size);
    return PoolBlock(block, block->data);
  };
  if (Block* block = fitted ? nullptr : state_->popNewest(state_->lists[size.index])) {
    state_->cached.fetch_sub(block->size, std::memory_order_relaxed);
    return taken(block);
  }
  // The system may promise more than it has; what is touched later would then end the process.
  if (state_->inUse.load(std::memory_order_relaxed) + size.bytes > state_->machineBytes) return failure();
  const bool shared = (growth == Growth::thrifty || lasting) && size.bytes < kSharedBelow;
  if (fitted)
    if (Block* block = state_->fit(size)) return taken(block);
  if (growth != Growth::free) state_->makeRoom(size.bytes);
  const auto obtain = [&] { return shared ? state_->obtainShared(bytes) : state_->obtain(size); };
  Block* block = obtain();
  if (!block) {
    state_->trim(0);
    block = obtain();
  }
  if (!block) return failure();
  state_->misses.fetch_add(1, std::memory_order_relaxed);
  return taken(block);
}

void MemoryPool::release(Block* block) noexcept {
  if (!block) return;
  State* state = block->state;
  const int64_t size = block->size;
  if (block->lasting) state->lasting.fetch_sub(size, std::memory_order_relaxed);
  block->lasting = false;
  const int64_t limit = state->limit.load(std::memory_order_relaxed);
  if (size > limit || !block->kept) {
    state->giveBack(block);
  } else {
    ASAN_POISON_MEMORY_REGION(block->data, size);
    const int64_t cached = state->cached.fetch_add(size, std::memory_order_relaxed) + size;
    state->push(block);
    if (cached > limit) state->trim(limit);
  }
  state->drop(size);
}

PoolCounters MemoryPool::counters() const {
  PoolCounters out;
  out.inUseBytes = state_->inUse.load() - 1;
  out.cachedBytes = state_->cached.load();
  out.peakBytes = state_->peak.load();
  out.givenBackBytes = state_->givenBack.load();
  out.limitBytes = state_->limit.load();
  out.misses = state_->misses.load();
  for (State::FreeList& list : state_->lists) {
    std::lock_guard lock(list.mutex);
    out.hits += list.hits;
  }
  return out;
}

int64_t PoolBlock::size() const { return block_ ? block_->size : 0; }

}  // namespace tokamak::runtime
