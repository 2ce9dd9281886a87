#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

/// A libcuda for machines without a GPU: device memory is the host's, work is done at once, and launches go to whoever
/// asked for them. Everything that was called is in `log`.
namespace tokamak::fake {

struct Launch {
  std::string image;   // what the module was loaded from
  std::string symbol;  // of the function
  unsigned grid[3], block[3], sharedBytes;
  std::vector<int64_t> words;  // the arguments
};

struct Cuda {
  std::mutex mutex;
  std::vector<std::string> log;        // `cuMemAllocAsync 4096`, `cuLaunchKernel tk_scale`, ...
  std::map<std::string, int> failing;  // by name: the status to answer with
  std::function<void(const Launch&)> onLaunch;
  std::function<int(const std::string& image)> localBytes;  // of a thread; unset: none
  int devices = 1;
  int64_t memoryLimit = int64_t{1} << 34;
  int64_t inUse = 0, blocks = 0;  // device memory

  int count(const std::string& prefix) const {
    int n = 0;
    for (const std::string& line : log) n += line.starts_with(prefix);
    return n;
  }
};

/// Of the library that was opened from this path.
using Find = Cuda* (*)();

}  // namespace tokamak::fake
