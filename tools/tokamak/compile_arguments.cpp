#include "compile_arguments.h"

#include <fmt/format.h>

namespace tokamak::tool {

void CompileArguments::addTo(CLI::App& app) {
  app.add_option("--threads", threads, "Threads to use; 0: as many as there are cores")
      ->check(CLI::Range(0, 4096))
      ->option_text("N=0");
  app.add_flag("--no-fuse", noFuse, "Make every op a kernel of its own, for comparison");
  app.add_flag("--no-library", noLibrary, "Generate matrix products and convolutions too");
  app.add_flag("--no-cache", noCache, "Neither read nor write the cache of compiled kernels");
}

EngineOptions CompileArguments::engine() const {
  EngineOptions options;
  options.threads = threads;
  options.diskCache = !noCache;
  return options;
}

CompileOptions CompileArguments::compile(const DimBindings& hints) const {
  CompileOptions options;
  options.hints = hints;
  options.fuse = !noFuse;
  options.library = !noLibrary;
  options.useCache = !noCache;
  return options;
}

std::vector<runtime::TensorRef> refsOf(const std::vector<Array>& arrays) {
  std::vector<runtime::TensorRef> refs;
  refs.reserve(arrays.size());
  for (const Array& array : arrays) refs.push_back(runtime::refTo(array));
  return refs;
}

std::string dimsText(const DimBindings& dims) {
  std::string out;
  for (const auto& [name, value] : dims) out += fmt::format(" {}={}", name, value);
  return out;
}

}  // namespace tokamak::tool
