#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "kernel/simt/program.h"

namespace tokamak::kernel::simt {

/// Who runs, and when: threads of one epoch are concurrent; between epochs of one block all its threads have met.
/// Epochs count up over the whole run, so those of the running block are the ones from `blockStart` on, and earlier
/// ones belong to blocks that on a GPU run at the same time. A CPU's parallel loop is one epoch, its iterations the
/// threads, and all is one block. Blocks of a cluster take turns; they count as one block but for global memory, where
/// only threads of one block (`blockThreads` of them follow one another) are ever ordered.
struct Clock {
  uint32_t epoch = 1;
  uint32_t blockStart = 0;    // or the cluster's
  uint32_t clusterMet = 0;    // when the cluster's blocks met last
  uint32_t inboxMet = 0;      // when its inboxes were full; 0: not yet
  uint32_t blockThreads = 0;  // 0: there are no clusters
};

/// What an access did wrong.
struct Fault {
  enum class Kind : uint8_t { bounds, unwritten, race, duplicate, misaligned, reach, within } kind;
  int64_t index = 0;
  uint32_t other = 0;       // race: the other thread, or kMany
  bool otherBlock = false;  // race: it is a thread of another block
  bool otherWrote = false;  // race: it wrote
  static constexpr uint32_t kMany = 0xffffffffu;
};

/// The elements of one buffer and, for those that threads share, who read and wrote each last.
class Memory {
 public:
  /// `data` is the caller's. `defined`: its contents are there from the start.
  Memory(DType dtype, int64_t size, std::byte* data, bool defined);
  /// Memory of one block (shared), one cluster of blocks or one thread (local), undefined again after every `forget`.
  static Memory shared(DType dtype, int64_t size, Scope scope = Scope::shared);
  static Memory local(DType dtype, int64_t size);
  Memory(Memory&&) = default;
  Memory& operator=(Memory&&) = default;

  /// dst = elements at index, lanes whose mask is false zero; or elements = value. `index` is one register or, if
  /// `gather`, one a lane. `mask` may be null.
  std::optional<Fault> load(Lane* dst, const Lane* index, const Lane* mask, int lanes, bool gather, Clock now,
                            uint32_t thread);
  std::optional<Fault> store(const Lane* value, const Lane* index, const Lane* mask, int lanes, bool gather, Clock now,
                             uint32_t thread);

  void forget() { ++generation_; }  // of local memory; shared memory forgets with the clock

  int64_t size() const { return size_; }
  /// The first element that this block or cluster has not written.
  std::optional<int64_t> missing(Clock now) const;

 private:
  static bool sameBlock(uint64_t stamp, Clock now, uint32_t thread);
  std::optional<Fault> onRead(int64_t i, Clock now, uint32_t thread);
  std::optional<Fault> onWrite(int64_t i, Clock now, uint32_t thread);
  std::optional<Fault> conflict(int64_t i, uint64_t stamp, bool wrote, bool writes, Clock now, uint32_t thread) const;
  template <class Element>
  std::optional<Fault> loadAs(Lane* dst, const Lane* index, const Lane* mask, int lanes, bool gather, Clock now,
                              uint32_t thread);
  template <class Element>
  std::optional<Fault> storeAs(const Lane* value, const Lane* index, const Lane* mask, int lanes, bool gather,
                               Clock now, uint32_t thread);

  DType dtype_;
  Scope kind_ = Scope::global;
  bool defined_;
  int64_t size_;
  std::byte* data_;
  std::vector<std::byte> own_;
  std::vector<uint64_t> wrote_, read_;  // stamps: epoch << 32 | thread; 0 is nobody
  std::vector<uint32_t> filled_;        // local: the generation that wrote
  uint32_t generation_ = 1;
};

}  // namespace tokamak::kernel::simt
