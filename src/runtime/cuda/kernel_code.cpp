#include "runtime/cuda/kernel_code.h"

#include <fmt/format.h>

namespace tokamak::runtime::cuda {

namespace {

constexpr int64_t kUsualShared = 48 << 10;
constexpr int64_t kMaxThreads = 1024;
constexpr std::array<int64_t, 3> kMaxGrid = {INT32_MAX, 65535, 65535};

}  // namespace

std::string LaunchShape::str() const {
  return fmt::format("grid {}x{}x{}, block {}x{}x{}, {} bytes of shared memory", grid[0], grid[1], grid[2], block[0],
                     block[1], block[2], sharedBytes);
}

KernelCode::KernelCode(std::shared_ptr<const Device> device, std::string name, std::string symbol, Compile compile)
    : device_(std::move(device)), name_(std::move(name)), symbol_(std::move(symbol)), compile_(std::move(compile)) {}

KernelCode::~KernelCode() {
  const Device::Current current(*device_);
  for (const Loaded& loaded : loaded_)
    if (loaded.module) device_->api().unloadModule(loaded.module);
}

std::string KernelCode::describe(const LaunchShape& shape) const {
  return fmt::format("launch of {} on cuda:{} ({})", name_, device_->ordinal(), shape.str());
}

Result<FunctionHandle> KernelCode::load(Variant variant, int64_t sharedBytes) const {
  const std::lock_guard lock(mutex_);
  Loaded& loaded = loaded_[variant.number()];
  const Driver& driver = device_->driver();
  if (!loaded.function) {
    TK_TRY(const std::string cubin, compile_(variant));
    TK_RETURN_IF_ERROR(driver.check(driver.api.loadModule(&loaded.module, cubin.data()),
                                    fmt::format("loading {} on cuda:{}", name_, device_->ordinal())));
    FunctionHandle function = nullptr;
    TK_RETURN_IF_ERROR(driver.check(driver.api.moduleFunction(&function, loaded.module, symbol_.c_str()),
                                    fmt::format("{} in the code of {}", symbol_, name_)));
    loaded.function = function;
    ready_[variant.number()].store(function, std::memory_order_release);
  }
  if (sharedBytes > loaded.dynamicShared) {
    TK_RETURN_IF_ERROR(driver.check(
        driver.api.setFunctionAttribute(loaded.function, kFunctionMaxDynamicShared, static_cast<int>(sharedBytes)),
        fmt::format("{} bytes of shared memory for {}", sharedBytes, name_)));
    loaded.dynamicShared = static_cast<int>(sharedBytes);
  }
  return loaded.function;
}

Result<> KernelCode::prepare(Variant variant) const {
  const Device::Current current(*device_);
  TK_RETURN_IF_ERROR(load(variant, 0));
  return Unit{};
}

Result<KernelCode::Resources> KernelCode::resources(Variant variant) const {
  const Device::Current current(*device_);
  TK_TRY(FunctionHandle function, load(variant, 0));
  Resources out;
  const Api& api = device_->api();
  api.functionAttribute(&out.registers, kFunctionRegisters, function);
  api.functionAttribute(&out.localBytes, kFunctionLocalBytes, function);
  api.functionAttribute(&out.staticShared, kFunctionStaticShared, function);
  api.functionAttribute(&out.maxThreads, kFunctionMaxThreads, function);
  return out;
}

Result<> KernelCode::checkShape(const LaunchShape& shape) const {
  const int64_t threads = shape.block[0] * shape.block[1] * shape.block[2];
  bool fits = threads >= 1 && threads <= kMaxThreads && shape.sharedBytes <= device_->info().sharedPerBlock;
  for (int axis = 0; axis < 3; ++axis) fits = fits && shape.grid[axis] >= 1 && shape.grid[axis] <= kMaxGrid[axis];
  if (fits) [[likely]]
    return Unit{};
  return Diagnostic{
      "T0614",
      {},
      fmt::format("{} is beyond the device's limits: at most {} threads, {} bytes of shared memory, a "
                  "grid of {}x{}x{}",
                  describe(shape), kMaxThreads, device_->info().sharedPerBlock, kMaxGrid[0], kMaxGrid[1], kMaxGrid[2]),
      "this is a fault of the scheduler; make the sizes smaller to go on"};
}

Result<FunctionHandle> KernelCode::function(Variant variant, const LaunchShape& shape) const {
  TK_RETURN_IF_ERROR(checkShape(shape));
  FunctionHandle ready = ready_[variant.number()].load(std::memory_order_acquire);
  if (ready && shape.sharedBytes <= kUsualShared) [[likely]]
    return ready;
  return load(variant, shape.sharedBytes);
}

Result<> KernelCode::launch(Variant variant, const LaunchShape& shape, void* arguments, size_t count,
                            Stream stream) const {
  TK_TRY(const FunctionHandle function, this->function(variant, shape));
  size_t bytes = count * 8;
  void* extra[] = {kParameterBuffer, arguments, kParameterBufferSize, &bytes, kParameterEnd};
  const auto word = [](int64_t v) { return static_cast<unsigned>(v); };
  const Status status = device_->api().launch(function, word(shape.grid[0]), word(shape.grid[1]), word(shape.grid[2]),
                                              word(shape.block[0]), word(shape.block[1]), word(shape.block[2]),
                                              word(shape.sharedBytes), stream, nullptr, extra);
  if (status == 0) [[likely]]
    return Unit{};
  return device_->driver().failure(status, describe(shape));
}

}  // namespace tokamak::runtime::cuda
