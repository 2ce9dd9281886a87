#pragma once

#include <cstdint>

#include "support/kernel_abi.h"

namespace tokamak::runtime {

/// Runs the parallel loops of kernels on GNU OpenMP's threads, the pool that torch and oneDNN use in the same process.
///
///   ParallelHost host;                       // as many threads as OpenMP would use
///   kernel(buffers, symbols, &host);
///
/// A loop is cut into contiguous pieces, one a thread; one that is worth a single thread, or that is started inside
/// another parallel region, runs on the caller's thread without touching OpenMP. So do all for a while where other
/// programs hold the cores (`crowding.h`). Per-thread scratch is kept and grown, so steady state allocates nothing. One
/// object may serve any number of threads at once.
///
/// OpenMP's threads do not survive a fork, and libgomp waits for them for ever. In a child that was forked once there
/// was a host, OpenMP is told to use one thread, and loops run on the caller's.
class ParallelHost : public KernelHost {
 public:
  /// `threads` <= 0: what OpenMP says at each call (OMP_NUM_THREADS, the machine, torch.set_num_threads).
  explicit ParallelHost(int threads = 0);
  int threads() const;

 private:
  static void run(const KernelHost* host, int64_t count, int64_t grain, int64_t scratchBytes, ParallelBody body,
                  void* environment);
  int threads_;  // 0: ask OpenMP
};

/// At least `bytes` of the calling thread's own memory, 64-byte aligned, valid until the same thread asks again; for
/// library calls' scratch.
std::byte* threadScratch(int64_t bytes);

}  // namespace tokamak::runtime
