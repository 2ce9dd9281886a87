#pragma once

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "codegen/llvm/compile.h"
#include "codegen/llvm/load.h"
#include "kernel/writer.h"
#include "support/array.h"

/// For tests of this folder: hosts that run parallel loops, and one call that compiles, loads and runs a kernel.
namespace tokamak::codegen::testing {

inline std::vector<std::byte> makeScratch(int64_t bytes) { return std::vector<std::byte>(bytes + 64, std::byte{0xa5}); }
inline std::byte* alignScratch(std::vector<std::byte>& memory) {
  auto address = reinterpret_cast<uintptr_t>(memory.data());
  return memory.data() + ((address + 63) / 64 * 64 - address);
}

/// Runs every piece on the calling thread: one piece, or pieces of `piece` iterations.
struct SerialHost : KernelHost {
  int64_t piece = INT64_MAX;
  mutable int64_t calls = 0, lastCount = -1, lastGrain = -1, lastScratch = -1;

  SerialHost() : KernelHost{&SerialHost::run} {}
  static void run(const KernelHost* host, int64_t count, int64_t grain, int64_t scratchBytes, ParallelBody body,
                  void* environment) {
    const auto& self = *static_cast<const SerialHost*>(host);
    ++self.calls;
    self.lastCount = count;
    self.lastGrain = grain;
    self.lastScratch = scratchBytes;
    auto scratch = makeScratch(scratchBytes);
    for (int64_t begin = 0; begin < count; begin += std::min(self.piece, count - begin))
      body(environment, begin, begin + std::min(self.piece, count - begin), alignScratch(scratch));
  }
};

/// Two threads, a half each.
struct TwoThreadHost : KernelHost {
  TwoThreadHost() : KernelHost{&TwoThreadHost::run} {}
  static void run(const KernelHost*, int64_t count, int64_t, int64_t scratchBytes, ParallelBody body,
                  void* environment) {
    auto half = [=](int64_t begin, int64_t end) {
      auto scratch = makeScratch(scratchBytes);
      body(environment, begin, end, alignScratch(scratch));
    };
    std::thread other(half, count / 2, count);
    half(0, count / 2);
    other.join();
  }
};

inline std::shared_ptr<const LoadedKernel> compileAndLoad(const kernel::Kernel& kernel,
                                                          const HostTarget& target = HostTarget::detect()) {
  auto object = compileObject(kernel, target);
  if (!object) {
    ADD_FAILURE() << object.error().str();
    return nullptr;
  }
  auto loaded = loadObject(*object, symbolName(kernel));
  if (!loaded) {
    ADD_FAILURE() << loaded.error().str();
    return nullptr;
  }
  return *loaded;
}

inline void call(const LoadedKernel& loaded, std::vector<Array>& buffers, const std::vector<int64_t>& symbols,
                 const KernelHost& host) {
  std::vector<void*> pointers;
  pointers.reserve(buffers.size());
  for (Array& buffer : buffers) pointers.push_back(buffer.data());
  loaded.function()(pointers.data(), symbols.data(), &host);
}

inline void run(const kernel::Kernel& kernel, std::vector<Array>& buffers, const std::vector<int64_t>& symbols = {},
                const HostTarget& target = HostTarget::detect()) {
  if (auto loaded = compileAndLoad(kernel, target)) call(*loaded, buffers, symbols, SerialHost());
}

}  // namespace tokamak::codegen::testing
