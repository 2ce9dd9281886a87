#pragma once

#include <cstddef>
#include <cstdint>

namespace tokamak {

/// Iterations [begin, end) of a parallel loop, numbered from 0. `scratch` is this thread's own memory, 64-byte aligned,
/// of the size the loop asked for.
using ParallelBody = void (*)(void* environment, int64_t begin, int64_t end, std::byte* scratch);

/// What a compiled kernel asks of the program that calls it.
struct KernelHost {
  /// Runs `body` over [0, count) in contiguous pieces on as many threads as pay (at least `grain` iterations each) and
  /// returns when all are done. Which thread takes which piece never changes a result.
  void (*parallelFor)(const KernelHost* host, int64_t count, int64_t grain, int64_t scratchBytes, ParallelBody body,
                      void* environment);
  /// The most threads that would take part now; null where that is one.
  int (*countThreads)(const KernelHost* host) = nullptr;
};

/// A compiled kernel: addresses of its global buffers and values of its symbols, both in declaration order.
using KernelFunction = void (*)(void* const* buffers, const int64_t* symbols, const KernelHost* host);

}  // namespace tokamak
