#include "driver/engine.h"

#include <cstdio>
#include <cstdlib>

namespace tokamak {

static std::string fromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string defaultCacheFolder() {
  if (auto folder = fromEnvironment("TOKAMAK_CACHE_DIR"); !folder.empty()) return folder;
  if (auto folder = fromEnvironment("XDG_CACHE_HOME"); !folder.empty()) return folder + "/tokamak";
  if (auto home = fromEnvironment("HOME"); !home.empty()) return home + "/.cache/tokamak";
  return {};
}

static std::vector<std::string> toolkitHomes() {
  std::vector<std::string> homes;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (auto home = fromEnvironment(name); !home.empty()) homes.push_back(home);
  return homes;
}

/// Beside the cache; where there is none, among temporary files.
static std::string failuresFolder(const EngineOptions& options) {
  const std::string cache = options.cacheFolder.empty() ? defaultCacheFolder() : options.cacheFolder;
  if (options.diskCache && !cache.empty()) return cache + "/failed";
  const std::string temporary = fromEnvironment("TMPDIR");
  return (temporary.empty() ? "/tmp" : temporary) + "/tokamak-failed";
}

Engine::Engine(const EngineOptions& options)
    : backEnd(codegen::openBackEnd(options.llvmPath.empty() ? fromEnvironment("TOKAMAK_LLVM") : options.llvmPath)) {
  int64_t limit = options.poolLimitBytes;
  if (auto text = fromEnvironment("TOKAMAK_POOL_LIMIT"); limit < 0 && !text.empty())
    limit = std::strtoll(text.c_str(), nullptr, 10);
  pool = std::make_shared<runtime::MemoryPool>(runtime::PoolOptions{.limitBytes = limit});
  host = std::make_shared<runtime::ParallelHost>(options.threads);
  runtime::KernelCacheOptions cacheOptions;
  if (options.diskCache) cacheOptions.folder = options.cacheFolder.empty() ? defaultCacheFolder() : options.cacheFolder;
  cacheOptions.warn = options.warn ? options.warn : [](std::string_view text) {
    std::fprintf(stderr, "tokamak: warning: %.*s\n", int(text.size()), text.data());
  };
  cache = std::make_shared<runtime::KernelCache>(std::move(cacheOptions));
  library::LibraryOptions libraryOptions;
  libraryOptions.path = options.oneDnnPath.empty() ? fromEnvironment("TOKAMAK_ONEDNN") : options.oneDnnPath;
  libraryOptions.host = host;
  library = library::Library::open(libraryOptions);
  CudaOptions cudaOptions = options.cuda;
  if (cudaOptions.driverPath.empty()) cudaOptions.driverPath = fromEnvironment("TOKAMAK_LIBCUDA");
  if (cudaOptions.nvrtcPath.empty()) cudaOptions.nvrtcPath = fromEnvironment("TOKAMAK_NVRTC");
  if (cudaOptions.cublasPath.empty()) cudaOptions.cublasPath = fromEnvironment("TOKAMAK_CUBLASLT");
  if (cudaOptions.folders.empty()) cudaOptions.folders = cudaFolders(fromEnvironment("VIRTUAL_ENV"), toolkitHomes());
  if (cudaOptions.failuresFolder.empty()) cudaOptions.failuresFolder = failuresFolder(options);
  cuda = std::make_shared<const CudaEngine>(std::move(cudaOptions), cache);
  if (backEnd) target = (*backEnd)->detectUpTo(options.vectorBytes);
}

}  // namespace tokamak
