#include "cuda_timing.h"

#include <algorithm>
#include <chrono>

#include "runtime/cuda/event_timer.h"
#include "runtime/cuda/recording.h"

namespace tokamak::tool {

namespace {

using runtime::cuda::Block;

double medianOf(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// Two contenders on the default stream, timed one after the other over cold caches.
class Race {
 public:
  Race(const CudaDevice& device, Block flush, size_t flushBytes)
      : device_(device), flush_(std::move(flush)), flushBytes_(flushBytes) {}

  template <class Work>
  Result<double> time(Work&& work) {
    const auto& driver = device_.device->driver();
    TK_RETURN_IF_ERROR(driver.check(driver.api.fill(reinterpret_cast<uint64_t>(flush_.data()), 0, flushBytes_, nullptr),
                                    "emptying the cache"));
    runtime::cuda::EventTimer timer(*device_.device, nullptr, 1);
    TK_RETURN_IF_ERROR(work());
    TK_RETURN_IF_ERROR(timer.mark());
    TK_TRY(const auto nanoseconds, timer.nanoseconds());
    return static_cast<double>(nanoseconds[0]) * 1e-9;
  }

 private:
  const CudaDevice& device_;
  Block flush_;
  size_t flushBytes_;
};

/// Few calls at a time, so that none waits for the device to take it.
Result<double> hostTime(const CompiledCuda& compiled, const std::vector<runtime::TensorRef>& inputs,
                        const std::vector<runtime::TensorRef>& outputs, const DimBindings& dims) {
  constexpr int kRounds = 31, kCalls = 32;
  std::vector<double> seconds;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) TK_RETURN_IF_ERROR(compiled.executable->run(inputs, outputs, {.dims = &dims}));
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / kCalls);
    const auto& driver = compiled.device.device->driver();
    TK_RETURN_IF_ERROR(driver.check(driver.api.synchronizeStream(nullptr), "waiting for the calls"));
  }
  return medianOf(seconds);
}

}  // namespace

Result<CudaTiming> timeOnDevice(const CompiledCuda& compiled, const std::vector<Array>& inputs, const DimBindings& dims,
                                double seconds) {
  CudaTiming out;
  const CudaDevice& device = compiled.device;
  const runtime::cuda::Device::Current current(*device.device);
  const auto block = [&](int64_t bytes) { return Block::make(device.device, device.allocator, bytes, nullptr); };
  TK_TRY(const auto tensors, copyToDevice(device, inputs));
  std::vector<runtime::TensorRef> refs, results;
  for (const auto& tensor : tensors) refs.push_back(tensor.ref()), out.bytes += static_cast<double>(tensor.bytes());
  TK_TRY(const auto outputs, compiled.executable->run(refs, {.dims = &dims}));
  for (const auto& tensor : outputs) results.push_back(tensor.ref()), out.bytes += static_cast<double>(tensor.bytes());
  TK_TRY(const auto memory, compiled.executable->memory(refs, &dims));
  out.peakBytes = memory.peakBytes;
  TK_TRY(const auto recording, compiled.executable->record(refs, results, {.dims = &dims}));

  const int64_t half = std::max<int64_t>(256, static_cast<int64_t>(out.bytes) / 2);
  const int64_t flushBytes = std::max<int64_t>(4 * device.device->info().l2Bytes, 64 << 20);
  TK_TRY(const Block from, block(half));
  TK_TRY(const Block to, block(half));
  TK_TRY(Block flush, block(flushBytes));
  Race race(device, std::move(flush), static_cast<size_t>(flushBytes));
  const auto& driver = device.device->driver();
  std::vector<double> own, copies;
  const auto start = std::chrono::steady_clock::now();
  const auto since = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  while (own.size() < 5 || (since() < seconds && own.size() < 2000)) {
    TK_TRY(const double program, race.time([&] { return recording->replay(nullptr); }));
    TK_TRY(const double copy, race.time([&] {
      return driver.check(
          driver.api.copyOnDevice(reinterpret_cast<uint64_t>(to.data()), reinterpret_cast<uint64_t>(from.data()),
                                  static_cast<size_t>(half), nullptr),
          "a copy on the device");
    }));
    own.push_back(program), copies.push_back(copy);
  }
  out.seconds = medianOf(own), out.copySeconds = medianOf(copies);
  TK_TRY(out.hostSeconds, hostTime(compiled, refs, results, dims));
  return out;
}

}  // namespace tokamak::tool
