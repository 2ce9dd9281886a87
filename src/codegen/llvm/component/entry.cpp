#include <string_view>

#include "codegen/host/back_end.h"

/// The one name that the component shows; `codegen/host/back_end.cpp` looks for it. Null where the caller was built
/// from other headers: kernels cross as they lie in memory.
extern "C" __attribute__((visibility("default"))) const tokamak::codegen::BackEnd* tokamakBackEnd(const char* build) {
  using namespace tokamak::codegen;
  static constexpr BackEnd backEnd{&compileObject, &symbolName, &compilerVersion, &loadObject, &HostTarget::detectUpTo};
  return std::string_view(build) == TOKAMAK_BACK_END ? &backEnd : nullptr;
}
