#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/cuda/device.h"

namespace tokamak::runtime::cuda {

/// What a compiled kernel takes for granted of its arguments. A call chooses: of sizes below kNarrowIndexLimit and of
/// addresses that are multiples of 16 the faster code may be used.
struct Variant {
  bool narrow = true, aligned = true;
  size_t number() const { return static_cast<size_t>(narrow) * 2 + static_cast<size_t>(aligned); }
};

/// Where and with what a kernel runs.
struct LaunchShape {
  std::array<int64_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  int64_t sharedBytes = 0;
  std::string str() const;  // `grid 16384x1x1, block 256x1x1, 0 bytes of shared memory`
  bool operator==(const LaunchShape&) const = default;
};

/// One kernel's code on one device, a module for every variant that calls have wanted. Safe from many threads.
class KernelCode {
 public:
  using Compile = std::function<Result<std::string>(Variant)>;  // gives a cubin

  KernelCode(std::shared_ptr<const Device> device, std::string name, std::string symbol, Compile compile);
  ~KernelCode();
  KernelCode(const KernelCode&) = delete;
  KernelCode& operator=(const KernelCode&) = delete;

  const std::string& name() const { return name_; }
  /// Compiles and loads unless that was done before.
  Result<> prepare(Variant variant) const;
  /// Puts one launch on the stream. `arguments` are 8 bytes each: buffers in order, then symbols. The device's context
  /// is current. T0614 where the shape is beyond the device's limits.
  Result<> launch(Variant variant, const LaunchShape& shape, void* arguments, size_t count, Stream stream) const;
  /// What such a launch runs, compiled and loaded unless that was done before. T0614 as above.
  Result<FunctionHandle> function(Variant variant, const LaunchShape& shape) const;
  /// Registers and bytes of local memory (spills) a thread takes, once loaded.
  struct Resources {
    int registers = 0, localBytes = 0, staticShared = 0, maxThreads = 0;
  };
  Result<Resources> resources(Variant variant) const;

 private:
  struct Loaded {
    Module module = nullptr;
    FunctionHandle function = nullptr;
    int dynamicShared = 48 << 10;  // what the function may be launched with
  };
  Result<FunctionHandle> load(Variant variant, int64_t sharedBytes) const;
  Result<> checkShape(const LaunchShape& shape) const;
  std::string describe(const LaunchShape& shape) const;

  std::shared_ptr<const Device> device_;
  std::string name_, symbol_;
  Compile compile_;
  mutable std::mutex mutex_;
  mutable std::array<Loaded, 4> loaded_;
  mutable std::array<std::atomic<FunctionHandle>, 4> ready_{};  // those that need no more than the usual shared memory
};

}  // namespace tokamak::runtime::cuda
