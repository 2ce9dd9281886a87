#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "driver/compile.h"
#include "support/array.h"

namespace tokamak::tool {

/// How a graph is compiled, as asked for on the command line.
struct CompileArguments {
  int threads = 0;
  bool noFuse = false, noLibrary = false, noCache = false;

  /// Adds --threads, --no-fuse, --no-library and --no-cache.
  void addTo(CLI::App& app);
  EngineOptions engine() const;
  CompileOptions compile(const DimBindings& hints) const;
};

/// Arrays as an executable takes them; they borrow from `arrays`.
std::vector<runtime::TensorRef> refsOf(const std::vector<Array>& arrays);

/// ` M=128 N=64`, for headings.
std::string dimsText(const DimBindings& dims);

}  // namespace tokamak::tool
