#include "codegen/host/back_end.h"

#include <fmt/format.h>

#include "support/shared_library.h"

namespace tokamak::codegen {

namespace {

Diagnostic cannotOpen(const std::string& why) {
  return {"T0505",
          {},
          "no code can be generated: " + why,
          "build and install libtokamak_llvm.so with the program, or name it in TOKAMAK_LLVM"};
}

}  // namespace

Result<const BackEnd*> openBackEnd(const std::string& path) {
  const std::vector<std::string> places =
      path.empty() ? componentPlaces("libtokamak_llvm.so") : std::vector<std::string>{path};
  std::string tried;
  const auto library = SharedLibrary::open(places, tried);
  if (!library) return cannotOpen(fmt::format("the LLVM back end cannot be opened; tried:\n{}", tried));
  const BackEnd* (*entry)(const char*) = nullptr;
  if (!library->find("tokamakBackEnd", entry))
    return cannotOpen(fmt::format("{} is no back end of Tokamak", library->path()));
  const BackEnd* backEnd = entry(TOKAMAK_BACK_END);
  if (!backEnd) return cannotOpen(fmt::format("{} belongs to another build of Tokamak", library->path()));
  return backEnd;
}

}  // namespace tokamak::codegen
