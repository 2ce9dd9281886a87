#include "sparse/stream/run/spill_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace tokamak::stream {

namespace {

/// A file without a name, or -1.
int temporaryFile() {
  const char* wanted = std::getenv("TMPDIR");
  for (const char* folder : {wanted != nullptr ? wanted : "/var/tmp", "/tmp"}) {
    const int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0) return file;
    std::string path = std::string(folder) + "/tokamak-XXXXXX";
    const int named = mkostemp(path.data(), O_CLOEXEC);
    if (named < 0) continue;
    unlink(path.c_str());
    return named;
  }
  return -1;
}

}  // namespace

SpillMemory::~SpillMemory() {
  if (isFile()) {
    munmap(data_, bytes_);
    close(file_);
  } else {
    std::free(data_);
  }
}

void SpillMemory::resize(size_t used, size_t bytes) {
  if (isFile() && growFile(bytes)) return;
  if (!isFile() && bytes > kLarge && mapFile(used, bytes)) return;
  auto* larger = static_cast<std::byte*>(std::malloc(std::max<size_t>(bytes, 1)));
  if (larger == nullptr) throw std::bad_alloc();
  if (used > 0) std::memcpy(larger, data_, used);
  if (isFile()) {
    munmap(data_, bytes_);
    close(std::exchange(file_, -1));
  } else {
    std::free(data_);
  }
  data_ = larger;
  bytes_ = bytes;
}

/// The space is asked for at once: a full disk must not show when a page is written.
bool SpillMemory::mapFile(size_t used, size_t bytes) {
  const int file = temporaryFile();
  if (file < 0) return false;
  void* at = posix_fallocate(file, 0, static_cast<off_t>(bytes)) == 0
                 ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                 : MAP_FAILED;
  if (at == MAP_FAILED) {
    close(file);
    return false;
  }
  if (used > 0) std::memcpy(at, data_, used);
  std::free(data_);
  data_ = static_cast<std::byte*>(at);
  bytes_ = bytes;
  file_ = file;
  return true;
}

bool SpillMemory::growFile(size_t bytes) {
  if (posix_fallocate(file_, 0, static_cast<off_t>(bytes)) != 0) return false;
  void* at = mremap(data_, bytes_, bytes, MREMAP_MAYMOVE);
  if (at == MAP_FAILED) return false;
  data_ = static_cast<std::byte*>(at);
  bytes_ = bytes;
  return true;
}

void SpillMemory::moveDown(size_t from, size_t count) {
  const size_t piece = isFile() ? kLarge : count;
  for (size_t at = 0; at < count; at += piece) {
    std::memmove(data_ + at, data_ + from + at, std::min(piece, count - at));
    cool();
  }
}

void SpillMemory::cool() {
  if (isFile()) madvise(data_, bytes_, MADV_DONTNEED);
}

}  // namespace tokamak::stream
