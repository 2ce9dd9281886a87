#pragma once

#include <memory>
#include <string>

#include "codegen/host/back_end.h"
#include "driver/cuda_engine.h"
#include "library/library.h"
#include "runtime/kernel_cache.h"
#include "runtime/memory_pool.h"
#include "runtime/parallel.h"

namespace tokamak {

struct EngineOptions {
  int threads = 0;              // 0: as many as OpenMP would use
  int64_t poolLimitBytes = -1;  // of memory kept for reuse; negative: a quarter of the machine's
  bool diskCache = true;
  std::string cacheFolder;  // empty: $TOKAMAK_CACHE_DIR, else $XDG_CACHE_HOME/tokamak, else ~/.cache/tokamak
  std::string oneDnnPath;   // empty: $TOKAMAK_ONEDNN, else the usual places
  std::string llvmPath;     // of the component that generates code; empty: $TOKAMAK_LLVM, else beside this program
  int vectorBytes = 64;     // widest registers to use
  CudaOptions cuda;         // empty paths: $TOKAMAK_LIBCUDA, $TOKAMAK_NVRTC, $TOKAMAK_CUBLASLT, else the usual places
  std::function<void(std::string_view)> warn;  // told of a damaged cache and the like; default: standard error
};

/// What compilations and executables share: memory, threads, the cache, the library. Safe from many threads;
/// executables keep alive what they need of it. The environment is read here, once, and nowhere else.
struct Engine {
  explicit Engine(const EngineOptions& options = {});

  std::shared_ptr<runtime::MemoryPool> pool;
  std::shared_ptr<const runtime::ParallelHost> host;
  std::shared_ptr<runtime::KernelCache> cache;
  std::shared_ptr<const library::Library> library;
  std::shared_ptr<const CudaEngine> cuda;
  Result<const codegen::BackEnd*> backEnd;  // for the host; where it is missing, compiling for the host says so
  codegen::HostTarget target;
};

/// Where the kernel cache lies unless told otherwise.
std::string defaultCacheFolder();

}  // namespace tokamak
