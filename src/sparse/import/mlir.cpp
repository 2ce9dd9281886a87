#include "sparse/import/mlir.h"

#include <fmt/format.h>

#include <cstdlib>

#include "support/shared_library.h"

namespace tokamak::sparse {

namespace {

using Reader = void(std::string_view text, const std::string& file, const MlirOptions& options,
                    Result<ImportedProgram>& out);

std::vector<std::string> places() {
  const char* named = std::getenv("TOKAMAK_MLIR");
  return named ? std::vector<std::string>{named} : componentPlaces("libtokamak_mlir.so");
}

}  // namespace

Result<ImportedProgram> readMlir(std::string_view text, const std::string& file, const MlirOptions& options) {
  std::string tried;
  const auto library = SharedLibrary::open(places(), tried);
  Reader* read = nullptr;
  if (!library || !library->find("tokamakReadMlir", read))
    return Diagnostic{"T0850",
                      {file, 0, 0},
                      "MLIR cannot be read: the component that does it was not built or is not where it should be",
                      fmt::format("the wheel has none: install libmlir-19-dev (scripts/bootstrap.sh does) and use the "
                                  "tokamak of 'make build', or name the component in TOKAMAK_MLIR; tried:\n{}",
                                  tried.empty() ? library->path() : tried)};
  Result<ImportedProgram> out = Diagnostic{};
  read(text, file, options, out);
  return out;
}

Result<> completeInputs(const ImportedProgram& imported, Program& program, Bindings& inputs) {
  for (const auto& [name, weight] : imported.weights) inputs.try_emplace(name, weight);
  for (const TensorDecl& decl : program.tensors()) {
    const auto known = inputs.find(decl.name);
    if (decl.role != Role::input || known == inputs.end() || known->second.shape.size() != decl.dims.size()) continue;
    for (size_t i = 0; i < decl.dims.size(); ++i)
      if (Dim& dim = program.dims()[decl.dims[i].index]; dim.size < 0) dim.size = known->second.shape[i];
  }
  for (const DerivedInput& derived : imported.derived) {
    const TensorId id = program.findTensor(derived.name);
    const std::vector<int64_t> shape = program.shape(id);
    for (size_t i = 0; i < shape.size(); ++i) {
      const Dim& dim = program.dim(program.tensor(id).dims[i]);
      if (dim.size < 0)
        return Diagnostic{"T0933", program.tensor(id).location,
                          fmt::format("the size of dimension {} is not known", dim.name),
                          fmt::format("give it with --dims {}=64", dim.name)};
    }
    inputs.try_emplace(derived.name, derived.make(shape));
  }
  return Unit{};
}

}  // namespace tokamak::sparse
