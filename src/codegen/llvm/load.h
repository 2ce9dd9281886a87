#pragma once

#include <memory>
#include <span>
#include <string>

#include "support/kernel_abi.h"
#include "support/result.h"

namespace tokamak::codegen {

/// Object code in executable memory. The function may be called from many threads, as long as the LoadedKernel lives.
class LoadedKernel {
 public:
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  KernelFunction function() const { return function_; }

 private:
  friend Result<std::shared_ptr<const LoadedKernel>> loadObject(std::span<const char>, const std::string&);
  struct Memory;
  LoadedKernel(std::unique_ptr<Memory> memory, KernelFunction function);
  std::unique_ptr<Memory> memory_;
  KernelFunction function_;
};

/// Links what `compileObject` made (copied; the bytes may go) and finds `symbol` in it. Thread safe.
/// T0504: the bytes are no object code for this machine, or lack the symbol.
Result<std::shared_ptr<const LoadedKernel>> loadObject(std::span<const char> object, const std::string& symbol);

}  // namespace tokamak::codegen
