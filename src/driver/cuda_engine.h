#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "codegen/cuda/compile.h"
#include "library/cublaslt.h"
#include "runtime/cuda/allocator.h"
#include "runtime/kernel_cache.h"
#include "schedule/device.h"

namespace tokamak {

struct CudaOptions {
  std::string driverPath;            // of libcuda; empty: the system's
  std::string nvrtcPath;             // of libnvrtc; empty: looked for in `folders` and where the system does
  std::string cublasPath;            // of libcublasLt; the same
  std::vector<std::string> folders;  // of NVIDIA's libraries, best first
  std::string failuresFolder;        // for sources that NVRTC refuses
  std::shared_ptr<const codegen::cuda::Compiler> compiler;  // null: NVRTC
};

/// A device ready for programs: the context it shares with the process, and memory.
struct CudaDevice {
  std::shared_ptr<const runtime::cuda::Device> device;
  std::shared_ptr<runtime::cuda::Allocator> allocator;
};

/// What programs for GPUs share. Nothing is opened before it is asked for, so that a machine without a GPU pays
/// nothing. Safe from many threads.
class CudaEngine {
 public:
  CudaEngine(CudaOptions options, std::shared_ptr<runtime::KernelCache> cache);

  /// T0610 without a driver, T0613 without such a device.
  Result<CudaDevice> device(int ordinal) const;
  /// By NVRTC, with the engine's cache unless told otherwise.
  const codegen::cuda::Compiler& compiler(bool useCache = true) const { return useCache ? *cached_ : *uncached_; }
  /// T0703 where there is none; it is looked for once.
  const Result<std::shared_ptr<const library::CublasLt>>& cublas() const;
  const CudaOptions& options() const { return options_; }

 private:
  CudaOptions options_;
  std::shared_ptr<const codegen::cuda::Compiler> cached_, uncached_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const runtime::cuda::Driver> driver_;
  mutable std::map<int, CudaDevice> devices_;
  mutable std::optional<Result<std::shared_ptr<const library::CublasLt>>> cublas_;
};

/// What schedulers want to know of a device.
schedule::Gpu gpuOf(const runtime::cuda::DeviceInfo& info);
/// The same of the largest common GPU of an architecture, for planning without one. T0523 where it is not known.
Result<schedule::Gpu> gpuOfArch(const std::string& arch);

/// Where NVIDIA's libraries may lie: beside this program or Python package, in the virtual environment that is active
/// (`environment`), in a toolkit.
std::vector<std::string> cudaFolders(const std::string& virtualEnvironment, const std::vector<std::string>& toolkits);

}  // namespace tokamak
