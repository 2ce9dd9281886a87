#include "driver/cuda_engine.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "support/nvidia_folders.h"

namespace tokamak {

namespace fs = std::filesystem;

namespace {

codegen::cuda::ObtainCode from(std::shared_ptr<runtime::KernelCache> cache) {
  if (!cache) return {};
  return [cache = std::move(cache)](const std::string& key, const std::string& description,
                                    const std::function<Result<std::string>()>& make) {
    return cache->obtain(key, description, make);
  };
}

}  // namespace

CudaEngine::CudaEngine(CudaOptions options, std::shared_ptr<runtime::KernelCache> cache)
    : options_(std::move(options)) {
  if (options_.compiler) {
    cached_ = uncached_ = options_.compiler;
    return;
  }
  codegen::cuda::CompilerOptions compiler;
  compiler.nvrtc = {options_.nvrtcPath, options_.folders};
  compiler.failuresFolder = options_.failuresFolder;
  uncached_ = codegen::cuda::makeNvrtcCompiler(compiler);
  compiler.obtain = from(std::move(cache));
  cached_ = codegen::cuda::makeNvrtcCompiler(std::move(compiler));
}

Result<CudaDevice> CudaEngine::device(int ordinal) const {
  const std::lock_guard lock(mutex_);
  if (const auto known = devices_.find(ordinal); known != devices_.end()) return known->second;
  if (!driver_) { TK_TRY(driver_, runtime::cuda::Driver::open(options_.driverPath)); }
  CudaDevice made;
  TK_TRY(made.device, runtime::cuda::Device::open(driver_, ordinal));
  made.allocator = runtime::cuda::makeStreamAllocator(made.device);
  return devices_[ordinal] = made;
}

const Result<std::shared_ptr<const library::CublasLt>>& CudaEngine::cublas() const {
  const std::lock_guard lock(mutex_);
  if (!cublas_) cublas_ = library::CublasLt::open({options_.cublasPath, options_.folders});
  return *cublas_;
}

schedule::Gpu gpuOf(const runtime::cuda::DeviceInfo& info) {
  schedule::Gpu gpu;
  gpu.arch = info.major * 10 + info.minor;
  gpu.multiprocessors = info.multiprocessors;
  gpu.sharedBytes = info.sharedPerBlock;
  // Shared memory and the first cache are one; what a multiprocessor may share out leaves the cache a rest.
  gpu.cacheBytes = info.sharedPerMultiprocessor + (28 << 10);
  gpu.registers = info.registersPerMultiprocessor;
  gpu.maxThreads = info.threadsPerMultiprocessor;
  gpu.secondCacheBytes = info.l2Bytes;
  // A copy reaches about nine tenths of what clock and width say.
  if (info.bytesPerSecond > 0) gpu.bytesPerMicrosecond = info.bytesPerSecond * 0.9 / 1e6;
  return gpu;
}

Result<schedule::Gpu> gpuOfArch(const std::string& arch) {
  schedule::Gpu gpu;  // an H200's
  if (arch == "sm_90" || arch == "sm_90a") return gpu;
  if (arch == "sm_80") {  // A100
    gpu.arch = 80, gpu.multiprocessors = 108;
    gpu.sharedBytes = 163 << 10, gpu.cacheBytes = 192 << 10, gpu.secondCacheBytes = 40 << 20;
    gpu.bytesPerMicrosecond = 1.75e6;
    return gpu;
  }
  if (arch == "sm_86" || arch == "sm_89") {  // RTX 3090, RTX 4090
    const bool ada = arch == "sm_89";
    gpu.arch = ada ? 89 : 86, gpu.multiprocessors = ada ? 128 : 82;
    gpu.sharedBytes = 99 << 10, gpu.cacheBytes = 128 << 10, gpu.secondCacheBytes = (ada ? 72 : 6) << 20;
    gpu.maxThreads = 1536, gpu.maxBlocks = ada ? 24 : 16;
    gpu.bytesPerMicrosecond = ada ? 0.9e6 : 0.85e6;
    return gpu;
  }
  return Diagnostic{"T0523",
                    {},
                    fmt::format("no plans can be made for '{}' without a device of it", arch),
                    "name sm_80, sm_86, sm_89 or sm_90a"};
}

std::vector<std::string> cudaFolders(const std::string& virtualEnvironment, const std::vector<std::string>& toolkits) {
  std::vector<std::string> prefixes;
  Dl_info own{};
  if (dladdr(reinterpret_cast<void*>(&cudaFolders), &own) && own.dli_fname) {
    std::error_code none;
    const fs::path folder = fs::absolute(own.dli_fname, none).parent_path();
    prefixes.push_back(folder.parent_path());  // site-packages, where this is tokamak/_ext
    prefixes.push_back(folder);
  }
  if (!virtualEnvironment.empty()) prefixes.push_back(virtualEnvironment);
#ifdef TOKAMAK_ENVIRONMENT
  prefixes.push_back(TOKAMAK_ENVIRONMENT);
#endif
  return nvidiaFolders(prefixes, toolkits);
}

}  // namespace tokamak
