#pragma once

#include <cstddef>
#include <utility>

namespace tokamak::stream {

/// Memory that grows at its end. What is large lives in an unlinked temporary file that is mapped: `cool` gives its
/// pages back to the system, which has them again when they are touched, so that a long backlog does not count as
/// memory of the process. Where there is no room for such a file it is ordinary memory.
class SpillMemory {
 public:
  static constexpr size_t kLarge = size_t{1} << 18;  // bytes

  SpillMemory() = default;
  SpillMemory(const SpillMemory&) = delete;
  SpillMemory& operator=(const SpillMemory&) = delete;
  ~SpillMemory();

  std::byte* data() const { return data_; }
  bool isFile() const { return file_ >= 0; }
  size_t residentBytes() const { return isFile() ? kLarge : bytes_; }  // at most, while it is cooled

  /// Room for `bytes`; the first `used` bytes stay.
  void resize(size_t used, size_t bytes);
  /// Moves `count` bytes from `from` to the front.
  void moveDown(size_t from, size_t count);
  void cool();

 private:
  bool mapFile(size_t used, size_t bytes);
  bool growFile(size_t bytes);

  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  int file_ = -1;
};

}  // namespace tokamak::stream
