#include <fmt/format.h>

#include <algorithm>

#include "sparse/mlir/translate.h"
#include "sparse/mlir/types.h"

namespace tokamak::sparse {

namespace {

/// Words that mean something in the notation, which programs are printed in.
constexpr std::string_view kWords[] = {"dim", "input", "output", "temp",  "schedule", "where", "in",
                                       "sum", "mean",  "stored", "dense", "inf",      "fuse",  "order"};

bool isWord(const std::string& name) {
  const auto& functions = EnumNames<Fn>::names;
  return std::find(std::begin(kWords), std::end(kWords), name) != std::end(kWords) ||
         std::find(functions.begin(), functions.end(), name) != functions.end();
}

}  // namespace

std::string Translator::freeName(std::string wish) {
  if (wish.empty()) wish = "t";
  if (isWord(wish)) wish += "_";
  std::string name = wish;
  for (int i = 1; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", wish, i);
  return name;
}

DimId Translator::dimOf(int size, const std::string& wish) {
  const int root = sizes_.find(size);
  if (const int64_t known = sizes_.sizeOf(root); known >= 0) {
    const std::string name = std::to_string(known);
    const DimId found = program_.findDim(name);
    return found ? found : program_.addDim(name, known);
  }
  const auto found = dims_.find(root);
  if (found != dims_.end()) return found->second;
  return dims_[root] = program_.addDim(freeName(wish));
}

DimId Translator::dimOfAxis(mlir::Value tensor, int64_t axis) {
  return dimOf(sizes_.ofAxis(tensor, axis), fmt::format("{}_{}", module_.nameOf(tensor), axis));
}

Result<TensorId> Translator::declare(mlir::Operation* op, mlir::Value value, Role role, const std::string& name) {
  TensorDecl decl{.name = freeName(name), .role = role, .location = module_.place(value)};
  const auto type = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  const std::optional<DType> dtype = dtypeOf(type ? type.getElementType() : value.getType());
  if (!dtype)
    return Diagnostic{"T0855", decl.location, fmt::format("{} is not a tensor of numbers", decl.name),
                      "use ranked tensors of floats, integers or booleans"};
  decl.dtype = *dtype;
  if (type) {
    for (int64_t i = 0; i < type.getRank(); ++i) decl.dims.push_back(dimOfAxis(value, i));
    Result<std::optional<Format>> format = formatOf(type);
    if (!format) {
      Diagnostic error = format.error();
      error.location = decl.location;
      error.message = fmt::format("{}: {}", decl.name, error.message);
      return error;
    }
    decl.format = std::move(*format);
  }
  decl.declared = role != Role::temp || decl.format || !isFloat(decl.dtype);
  return program_.addTensor(std::move(decl));
}

Result<> Translator::define(mlir::Operation* op, mlir::Value result, std::vector<VarId> vars, ExprId value) {
  TK_TRY(const TensorId tensor, declare(op, result, Role::temp, module_.nameOf(result)));
  View view{.tensor = tensor};
  for (size_t i = 0; i < vars.size(); ++i) {
    view.axes.push_back(static_cast<int>(i));
    const std::vector<VarId>& read = program_.freeVars(value);
    if (!std::binary_search(read.begin(), read.end(), vars[i]))  // only the declaration says over what it runs
      program_.tensors()[tensor.index].declared = true;
  }
  views_[result] = view;
  program_.addStatement({tensor, std::move(vars), value, module_.place(op)});
  return Unit{};
}

}  // namespace tokamak::sparse
