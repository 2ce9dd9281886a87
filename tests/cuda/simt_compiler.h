#pragma once

#include "codegen/cuda/compile.h"
#include "cuda/simt_device.h"
#include "driver/engine.h"

namespace tokamak::fake {

/// Code that the fake device runs: the kernel's text. CUDA text is written as well, so that what it refuses is refused.
class SimtCompiler final : public codegen::cuda::Compiler {
 public:
  Result<std::string> compile(const kernel::Kernel& kernel, const codegen::cuda::Assumptions& assumptions,
                              const std::string&) const override {
    TK_RETURN_IF_ERROR(codegen::cuda::emitCuda(kernel, assumptions));
    return kernel::print(kernel);
  }
};

/// An engine whose cuda:0 is the fake device.
inline Engine makeEngine() {
  openDriver();
  return Engine({.diskCache = false,
                 .cuda = {.driverPath = TOKAMAK_FAKE_CUDA,
                          .cublasPath = TOKAMAK_FAKE_CUBLASLT,
                          .compiler = std::make_shared<SimtCompiler>()}});
}

}  // namespace tokamak::fake
