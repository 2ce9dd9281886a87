#pragma once

#include <cstdint>
#include <optional>

namespace tokamak::schedule {

/// What schedulers know of a GPU; the numbers are an H200's.
struct Gpu {
  int arch = 90;  // compute capability: 80, 86, 90, ...
  int multiprocessors = 132;
  int64_t sharedBytes = 227 << 10;  // a block may have
  int64_t cacheBytes = 256 << 10;   // of a multiprocessor: shared memory and first cache together
  int registers = 65536;            // of a multiprocessor, 32 bits each
  int maxThreads = 2048;            // of a multiprocessor
  int maxBlocks = 32;               // of a multiprocessor
  int64_t secondCacheBytes = 50 << 20;
  double bytesPerMicrosecond = 4.26e6;
  double launchMicroseconds = 2.5;
  // How plans lean. A plan is a function of these too, so its neighbours are the plans for a device that differs here.
  int spareRegisters = 0;  // of a thread, beyond what is reckoned: for kernels that turned out to spill
  double inFlight = 1;     // loads of a thread at once, as a multiple of the usual
};

/// What schedulers know of the machine: a CPU's cores, or a GPU.
struct Device {
  int vectorBytes = 64;
  int threads = 2;
  double cacheBytes = 1 << 20;    // a core's own
  double streamBytes = 24 << 20;  // results at least this large are stored past the caches
  bool followsStreams = false;    // it fetches ahead along a stream by itself, whatever is computed in between
  int64_t aheadBytes = 4096;      // how far ahead folds of one sweep ask for a stream's lines where it does not
  std::optional<Gpu> gpu;         // if set, kernels are for it
};

}  // namespace tokamak::schedule
