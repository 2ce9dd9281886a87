#include "codegen/cuda/emit.h"

#include "codegen/cuda/function_text.h"
#include "codegen/cuda/launch.h"

namespace tokamak::codegen::cuda {

Result<Source> emitCuda(const kernel::Kernel& kernel, const Assumptions& assumptions) {
  Source source;
  source.symbol = "tk_" + kernel.name;
  TK_TRY(source.launch, launchOf(kernel));
  FunctionText text(kernel, assumptions, source.launch);
  const std::string function = text.function(source.symbol);
  source.text = text.snippets() + function;
  return source;
}

}  // namespace tokamak::codegen::cuda
