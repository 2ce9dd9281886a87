#include "sparse/mlir/read.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sparse/mlir/translate.h"

namespace tokamak::sparse {

namespace {

/// The function that is meant: by name, `main` or `forward`, or the only one with a body.
Result<mlir::func::FuncOp> chooseFunction(MlirModule& module, const std::string& wanted, const std::string& file) {
  std::vector<mlir::func::FuncOp> found;
  std::vector<std::string> names;
  module.module().walk([&](mlir::func::FuncOp function) {
    if (function.isExternal()) return;
    found.push_back(function);
    names.push_back(function.getName().str());
  });
  const auto named = [&](std::string_view name) -> mlir::func::FuncOp {
    for (size_t i = 0; i < found.size(); ++i)
      if (names[i] == name) return found[i];
    return {};
  };
  if (!wanted.empty()) {
    if (mlir::func::FuncOp function = named(wanted)) return function;
    return Diagnostic{"T0855",
                      {file, 1, 1},
                      fmt::format("there is no function {}", wanted),
                      fmt::format("the file has {}", fmt::join(names, ", "))};
  }
  for (const char* usual : {"main", "forward"})
    if (mlir::func::FuncOp function = named(usual)) return function;
  if (found.size() == 1) return found[0];
  if (found.empty())
    return Diagnostic{"T0855", {file, 1, 1}, "the file has no function with a body", "a program is a func.func"};
  return module.fail("T0855", found[1], fmt::format("the file has several functions: {}", fmt::join(names, ", ")),
                     "name one with --function, or call it main");
}

}  // namespace

Result<ImportedProgram> translateMlir(std::string_view text, const std::string& file, const MlirOptions& options) {
  TK_TRY(const std::unique_ptr<MlirModule> module, MlirModule::parse(text, file));
  TK_TRY(const mlir::func::FuncOp function, chooseFunction(*module, options.function, file));
  return Translator(*module, options).run(function);
}

}  // namespace tokamak::sparse
