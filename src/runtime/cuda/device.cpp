#include "runtime/cuda/device.h"

#include <fmt/format.h>

#include "support/shared_library.h"

namespace tokamak::runtime::cuda {

namespace {

Diagnostic noDriver(const std::string& why) {
  return {"T0610",
          {},
          fmt::format("no CUDA device can be used:\n{}", why),
          "install NVIDIA's driver, or run with --device cpu"};
}

std::string wordsFor(const Api& api, Status status) {
  const char *name = nullptr, *text = nullptr;
  if (api.errorName(status, &name) != 0 || !name) return fmt::format("error {}", status);
  if (api.errorText(status, &text) != 0 || !text) return name;
  return fmt::format("{} ({})", name, text);
}

}  // namespace

Result<std::shared_ptr<const Driver>> Driver::open(const std::string& path) {
  const std::vector<std::string> candidates =
      path.empty() ? std::vector<std::string>{"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
                                              "/usr/lib/wsl/lib/libcuda.so.1"}
                   : std::vector<std::string>{path};
  std::string tried;
  const auto library = SharedLibrary::open(candidates, tried);
  if (!library) return noDriver(tried);
  auto driver = std::make_shared<Driver>();
  driver->path = library->path();
#define TK_FIND(member, symbol, parameters) \
  if (!library->find(symbol, driver->api.member)) return noDriver(fmt::format("  {} has no {}", driver->path, symbol));
  TK_CUDA_FUNCTIONS(TK_FIND)
#undef TK_FIND
  const Api& api = driver->api;
  if (const Status status = api.init(0); status != 0)
    return noDriver(fmt::format("  {}: cuInit: {}", driver->path, wordsFor(api, status)));
  TK_RETURN_IF_ERROR(driver->check(api.driverVersion(&driver->version), "cuDriverGetVersion"));
  TK_RETURN_IF_ERROR(driver->check(api.deviceCount(&driver->devices), "cuDeviceGetCount"));
  if (driver->devices == 0) return noDriver(fmt::format("  {}: there is no device", driver->path));
  return std::shared_ptr<const Driver>(std::move(driver));
}

Diagnostic Driver::failure(Status status, std::string_view doing) const {
  const std::string words = wordsFor(api, status);
  if (status != kOutOfMemory)
    return {"T0611",
            {},
            fmt::format("CUDA: {}: {}", doing, words),
            "a context does not recover from a fault in a kernel: restart the process"};
  size_t available = 0, total = 0;
  std::string room;
  if (api.memoryInfo(&available, &total) == 0)
    room = fmt::format("; {:.2f} GB of {:.2f} GB are free", static_cast<double>(available) / 1e9,
                       static_cast<double>(total) / 1e9);
  return {"T0612",
          {},
          fmt::format("not enough memory on the device: {}: {}{}", doing, words, room),
          "make the inputs smaller or free what else is on the device"};
}

Result<std::shared_ptr<const Device>> Device::open(std::shared_ptr<const Driver> driver, int ordinal) {
  if (ordinal < 0 || ordinal >= driver->devices)
    return Diagnostic{"T0613",
                      {},
                      fmt::format("there is no cuda:{}: this machine has {} CUDA device{}", ordinal, driver->devices,
                                  driver->devices == 1 ? "" : "s"),
                      "number devices from 0"};
  std::shared_ptr<Device> device(new Device(std::move(driver), ordinal));
  TK_RETURN_IF_ERROR(device->start());
  return std::shared_ptr<const Device>(std::move(device));
}

Result<> Device::start() {
  const Driver& d = *driver_;
  TK_RETURN_IF_ERROR(d.check(api().deviceGet(&device_, ordinal_), "cuDeviceGet"));
  char name[256] = {};
  TK_RETURN_IF_ERROR(d.check(api().deviceName(name, sizeof name - 1, device_), "cuDeviceGetName"));
  info_.name = name;
  size_t total = 0;
  TK_RETURN_IF_ERROR(d.check(api().deviceMemory(&total, device_), "cuDeviceTotalMem"));
  info_.totalBytes = static_cast<int64_t>(total);
  const auto attribute = [&](int which) {
    int value = 0;
    api().deviceAttribute(&value, which, device_);  // what a driver does not know stays 0
    return value;
  };
  info_.major = attribute(kComputeMajor), info_.minor = attribute(kComputeMinor);
  info_.multiprocessors = attribute(kMultiprocessors);
  info_.threadsPerMultiprocessor = attribute(kThreadsPerMultiprocessor);
  info_.registersPerMultiprocessor = attribute(kRegistersPerMultiprocessor);
  info_.sharedPerBlock = attribute(kMaxSharedPerBlockOptin);
  info_.sharedPerMultiprocessor = attribute(kSharedPerMultiprocessor);
  info_.l2Bytes = attribute(kL2Bytes);
  // Kilohertz, two transfers a clock, bits.
  info_.bytesPerSecond = 2e3 * attribute(kMemoryClock) * attribute(kMemoryBusWidth) / 8;
  return d.check(api().retainContext(&context_, device_), fmt::format("the primary context of cuda:{}", ordinal_));
}

Device::~Device() {
  if (context_) api().releaseContext(device_);  // at a process's end CUDA may be gone already: nothing to be done
}

std::string Device::arch() const {
  // Hopper's own features are asked for by name; they exist on that one architecture.
  return fmt::format("sm_{}{}{}", info_.major, info_.minor, info_.major == 9 && info_.minor == 0 ? "a" : "");
}

Device::Current::Current(const Device& device) : api_(device.api()) {
  Context current = nullptr;
  if (api_.currentContext(&current) == 0 && current == device.context_) return;
  pushed_ = api_.pushContext(device.context_) == 0;
}

Device::Current::~Current() {
  Context popped = nullptr;
  if (pushed_) api_.popContext(&popped);
}

}  // namespace tokamak::runtime::cuda
