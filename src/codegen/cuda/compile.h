#pragma once

#include <functional>
#include <memory>
#include <optional>
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

/// Where compiled code is kept; both calls may be made from many threads.
struct CodeCache {
  std::function<std::optional<std::string>(const std::string& key)> get;
  std::function<void(const std::string& key, const std::string& code, const std::string& description)> put;
};

struct CompilerOptions {
  NvrtcOptions nvrtc;
  CodeCache cache;             // may be empty
  std::string failuresFolder;  // where the source of a kernel that NVRTC refuses is saved; empty: nowhere
};

/// By NVRTC, which is opened when the first kernel is compiled: code that is all in the cache needs none. Code is kept
/// by its source, architecture and the compiler's version.
std::shared_ptr<const Compiler> makeNvrtcCompiler(CompilerOptions options);

}  // namespace tokamak::codegen::cuda
