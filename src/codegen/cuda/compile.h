#pragma once

#include <functional>
#include <memory>
#include <string>

#include "codegen/cuda/emit.h"
#include "codegen/cuda/nvrtc.h"

namespace tokamak::codegen::cuda {

/// Kernels to what a device loads. Safe from many threads.
class Compiler {
 public:
  virtual ~Compiler() = default;
  /// Code for `arch` (`sm_90a`) that takes `assumptions` for granted, with the symbol that emitCuda names.
  virtual Result<std::string> compile(const kernel::Kernel& kernel, const Assumptions& assumptions,
                                      const std::string& arch) const = 0;
};

/// Gives code that is kept under a key, or has it made and keeps it. May be called from many threads.
using ObtainCode = std::function<Result<std::string>(const std::string& key, const std::string& description,
                                                     const std::function<Result<std::string>()>& make)>;

struct CompilerOptions {
  NvrtcOptions nvrtc;
  ObtainCode obtain;           // empty: nothing is kept
  std::string failuresFolder;  // where the source of a kernel that NVRTC refuses is saved; empty: nowhere
};

/// By NVRTC, which is opened when the first kernel is compiled: code that is all in the cache needs none. Code is kept
/// by its source, architecture and the compiler's version.
std::shared_ptr<const Compiler> makeNvrtcCompiler(CompilerOptions options);

}  // namespace tokamak::codegen::cuda
