#include "sparse/mlir/read.h"

/// The one name that the component shows; `sparse/import/mlir.cpp` looks for it.
extern "C" __attribute__((visibility("default"))) void tokamakReadMlir(
    std::string_view text, const std::string& file, const tokamak::sparse::MlirOptions& options,
    tokamak::Result<tokamak::sparse::ImportedProgram>& out) {
  out = tokamak::sparse::translateMlir(text, file, options);
}
