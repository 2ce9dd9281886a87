#pragma once

#include "sparse/import/mlir.h"

namespace tokamak::sparse {

/// What `readMlir` does, in the component.
Result<ImportedProgram> translateMlir(std::string_view text, const std::string& file, const MlirOptions& options);

}  // namespace tokamak::sparse
