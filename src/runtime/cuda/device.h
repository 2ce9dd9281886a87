#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/api.h"
#include "support/result.h"

namespace tokamak::runtime::cuda {

/// libcuda, opened at run time.
class Driver {
 public:
  /// T0610 where there is none, or no device: what was looked for, and where. `path` names another library than
  /// libcuda.so.1 (tests bring one of their own).
  static Result<std::shared_ptr<const Driver>> open(const std::string& path = {});

  Api api;
  std::string path;
  int version = 0;  // 13000
  int devices = 0;

  /// Nothing, or T0611 (T0612 for a lack of memory): what was being done, CUDA's name for the failure and its words.
  Result<> check(Status status, std::string_view doing) const {
    if (status == 0) [[likely]]
      return Unit{};
    return failure(status, doing);
  }
  Diagnostic failure(Status status, std::string_view doing) const;
};

/// What planners and reports want to know of a device.
struct DeviceInfo {
  std::string name;
  int major = 0, minor = 0;
  int multiprocessors = 0;
  int threadsPerMultiprocessor = 0;
  int registersPerMultiprocessor = 0;
  int64_t sharedPerBlock = 0;  // at most, when asked for
  int64_t sharedPerMultiprocessor = 0;
  int64_t l2Bytes = 0;
  int64_t totalBytes = 0;
  double bytesPerSecond = 0;  // of its memory, by clock and width
};

/// One GPU and its primary context, which it shares with every other user of the process (torch among them). Safe from
/// many threads.
class Device {
 public:
  /// T0613 for an ordinal that there is not.
  static Result<std::shared_ptr<const Device>> open(std::shared_ptr<const Driver> driver, int ordinal);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Driver& driver() const { return *driver_; }
  const Api& api() const { return driver_->api; }
  int ordinal() const { return ordinal_; }
  const DeviceInfo& info() const { return info_; }
  /// What to compile for: `sm_80`, `sm_90a`.
  std::string arch() const;

  /// Makes the device's context current on this thread while it lives.
  class Current {
   public:
    explicit Current(const Device& device);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const Api& api_;
    bool pushed_ = false;
  };

 private:
  Device(std::shared_ptr<const Driver> driver, int ordinal) : driver_(std::move(driver)), ordinal_(ordinal) {}
  Result<> start();
  std::shared_ptr<const Driver> driver_;
  int ordinal_ = 0;
  DeviceOrdinal device_ = 0;
  Context context_ = nullptr;
  DeviceInfo info_;
};

}  // namespace tokamak::runtime::cuda
