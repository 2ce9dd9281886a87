#include "sparse/mlir/translate.h"

#include <fmt/format.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>

#include <algorithm>

#include "sparse/mlir/types.h"
#include "sparse/mlir/weights.h"

namespace tokamak::sparse {

Translator::Translator(MlirModule& module, const MlirOptions& options)
    : module_(module),
      options_(options),
      program_(out_.program),
      sizes_(module),
      scalars_(module, program_, [this](mlir::Value value) { return outerLeaf(value); }) {}

Result<ImportedProgram> Translator::run(mlir::func::FuncOp function) {
  mlir::Block& body = function.getBody().front();
  if (!llvm::hasSingleElement(function.getBody()))
    return fail("T0855", function, "the function has several blocks", "a sparse program has no branches");
  TK_RETURN_IF_ERROR(sizes_.collect(body));
  TK_RETURN_IF_ERROR(arguments(body));
  for (mlir::Operation& op : llvm::reverse(body)) {
    const bool needed = op.hasTrait<mlir::OpTrait::IsTerminator>() ||
                        std::any_of(op.user_begin(), op.user_end(), [&](mlir::Operation* user) {
                          while (user->getBlock() != &body) user = user->getParentOp();
                          return live_.contains(user);
                        });
    if (needed) live_.insert(&op);
  }
  for (mlir::Operation& op : body)
    if (live_.contains(&op)) TK_RETURN_IF_ERROR(translate(&op));
  return std::move(out_);
}

Result<> Translator::arguments(mlir::Block& body) {
  for (const mlir::BlockArgument argument : body.getArguments()) {
    TK_TRY(const TensorId tensor, declare(body.getParentOp(), argument, Role::input, module_.nameOf(argument)));
    View view{.tensor = tensor};
    for (size_t i = 0; i < program_.tensor(tensor).dims.size(); ++i) view.axes.push_back(static_cast<int>(i));
    views_[argument] = view;
  }
  return Unit{};
}

Result<> Translator::translate(mlir::Operation* op) {
  const llvm::StringRef name = op->getName().getStringRef();
  if (op->hasTrait<mlir::OpTrait::IsTerminator>()) return finish(op);
  if (mlir::isa<mlir::linalg::LinalgOp>(op)) {
    const bool tensors = std::all_of(op->result_type_begin(), op->result_type_end(),
                                     [](mlir::Type type) { return mlir::isa<mlir::RankedTensorType>(type); });
    if (!tensors) return fail("T0855", op, "this operation works on buffers", "import before bufferization");
    return linalg(op);
  }
  const bool tensor = llvm::any_of(op->getResultTypes(), [](mlir::Type t) { return mlir::isa<mlir::ShapedType>(t); });
  if (!tensor) return Unit{};  // numbers are made where they are used
  if (!llvm::all_of(op->getResultTypes(), [](mlir::Type t) { return mlir::isa<mlir::RankedTensorType>(t); }))
    return fail("T0855", op, fmt::format("{} makes something other than ranked tensors", name.str()),
                "give tensors a rank");
  if (name == "linalg.softmax") return softmax(op);
  if (name == "arith.constant") return constant(op);
  if (name == "tensor.empty" || name == "bufferization.alloc_tensor") {
    views_[op->getResult(0)] = {.everywhere = program_.constant(0)};  // an empty sparse tensor is zero everywhere
    return Unit{};
  }
  if (name == "tensor.splat" || name == "tensor.from_elements") return splat(op);
  if (name == "tensor.cast" || name == "sparse_tensor.convert" || name == "sparse_tensor.reorder_coo")
    return convert(op);
  if (name == "tensor.expand_shape" || name == "tensor.collapse_shape") return reshape(op);
  if (name == "tensor.extract_slice") return extractSlice(op);
  if (name == "tensor.insert_slice") return insertSlice(op);
  if (name == "tensor.pad") return pad(op);
  if (name == "tensor.concat") return concat(op);
  return fail("T0852", op, fmt::format("{} is not supported", name.str()),
              "lower it to linalg, or compute it before and pass the result as an argument");
}

Result<> Translator::constant(mlir::Operation* op) {
  TK_TRY(Weight weight, readWeight(module_, op, options_.seed));
  if (weight.everywhere) {
    views_[op->getResult(0)] = {.everywhere = program_.constant(*weight.everywhere)};
    return Unit{};
  }
  TK_TRY(const TensorId tensor, declare(op, op->getResult(0), Role::input, module_.nameOf(op->getResult(0))));
  const TensorDecl& decl = program_.tensor(tensor);
  View view{.tensor = tensor};
  for (size_t i = 0; i < decl.dims.size(); ++i) view.axes.push_back(static_cast<int>(i));
  views_[op->getResult(0)] = view;
  const Format format = decl.format.value_or(Format::dense(static_cast<int>(decl.dims.size())));
  out_.weights[decl.name] = fromDense(weight.values, program_.shape(tensor), format, decl.dtype);
  if (weight.generated)
    out_.notes.push_back(
        fmt::format("{}: the text leaves its values out; they come from seed {}", decl.name, options_.seed));
  return Unit{};
}

/// Another type for the same values. A weight is declared in the format that is wanted; anything else that is stored
/// anew is a statement.
Result<> Translator::convert(mlir::Operation* op) {
  const mlir::Value from = op->getOperand(0), to = op->getResult(0);
  const auto type = mlir::cast<mlir::RankedTensorType>(to.getType());
  const View view = viewOf(from);
  const auto source = mlir::cast<mlir::RankedTensorType>(from.getType());
  if (view.everywhere || !type.getEncoding() || type.getEncoding() == source.getEncoding()) {
    views_[to] = view;
    return Unit{};
  }
  const bool own = !view.everywhere && out_.weights.contains(program_.tensor(view.tensor).name) && from.hasOneUse();
  if (own) {
    Result<std::optional<Format>> format = formatOf(type);
    if (!format) {
      Diagnostic error = format.error();
      error.location = module_.place(op);
      return error;
    }
    TensorDecl& decl = program_.tensors()[view.tensor.index];
    decl.format = std::move(*format);
    Tensor& values = out_.weights[decl.name];
    values = sparse::convert(values, *decl.format);
    views_[to] = view;
    return Unit{};
  }
  Loops loops{.op = op};
  const std::vector<VarId> vars = axisVars(to, loops);
  const std::vector<std::optional<VarId>> at(vars.begin(), vars.end());
  return define(op, to, vars, read(view, at, loops));
}

Result<> Translator::splat(mlir::Operation* op) {
  const auto type = mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  if (op->getName().getStringRef() == "tensor.from_elements" && (!type.hasStaticShape() || type.getNumElements() != 1))
    return fail("T0852", op, "a tensor is made of single elements",
                "pass it as an argument, or write it as a constant");
  TK_TRY(const ExprId value, scalars_.of(op->getOperand(0)));
  views_[op->getResult(0)] = {.everywhere = value};
  return Unit{};
}

/// Numbers outside of bodies that arith and math do not make.
Result<ExprId> Translator::outerLeaf(mlir::Value value) {
  if (mlir::isa<mlir::BlockArgument>(value)) {
    const View view = viewOf(value);
    return program_.access(view.tensor, {});
  }
  mlir::Operation* op = value.getDefiningOp();
  if (const auto asked = Sizes::axisAsked(value)) return program_.extent(dimOfAxis(asked->first, asked->second));
  if (op->getName().getStringRef() == "tensor.extract" && op->getNumOperands() == 1) {
    Loops loops{.op = op};
    return read(viewOf(op->getOperand(0)), {}, loops);
  }
  return fail("T0852", op, fmt::format("{} is not supported", op->getName().getStringRef().str()),
              "compute the number before and pass it as an argument");
}

Result<> Translator::finish(mlir::Operation* op) {
  if (op->getName().getStringRef() != "func.return")
    return fail("T0852", op, fmt::format("{} is not supported", op->getName().getStringRef().str()),
                "a sparse program has no branches");
  if (op->getNumOperands() == 0)
    return fail("T0855", op, "the function returns nothing", "return the tensors that are wanted");
  for (unsigned i = 0; i < op->getNumOperands(); ++i) TK_RETURN_IF_ERROR(output(op, i, op->getOperand(i)));
  return Unit{};
}

/// A temp that is returned as it is becomes an output; everything else is copied to one.
Result<> Translator::output(mlir::Operation* op, unsigned index, mlir::Value value) {
  const std::string number = op->getNumOperands() == 1 ? "" : std::to_string(index);
  const std::string given = module_.nameOf(value);
  const bool numbered = given.size() > 1 && given[0] == 'v' && std::isdigit(static_cast<unsigned char>(given[1]));
  const std::string wish = numbered || given.empty() ? "result" + number : given;
  const bool tensor = mlir::isa<mlir::RankedTensorType>(value.getType());
  const View view = viewOf(value);
  if (tensor && !view.everywhere && program_.tensor(view.tensor).role == Role::temp) {
    TensorDecl& decl = program_.tensors()[view.tensor.index];
    bool whole = view.axes.size() == static_cast<size_t>(mlir::cast<mlir::RankedTensorType>(value.getType()).getRank());
    for (size_t i = 0; i < view.axes.size(); ++i) whole = whole && view.axes[i] == static_cast<int>(i);
    if (whole) {
      decl.role = Role::output;
      decl.declared = true;
      if (numbered) program_.rename(view.tensor, freeName(wish));
      return Unit{};
    }
  }
  Loops loops{.op = op};
  TK_TRY(const TensorId out, declare(op, value, Role::output, wish));
  if (!tensor) {
    TK_TRY(const ExprId number, scalars_.of(value));
    program_.addStatement({out, {}, number, module_.place(op)});
    return Unit{};
  }
  const std::vector<VarId> vars = axisVars(value, loops);
  const std::vector<std::optional<VarId>> at(vars.begin(), vars.end());
  program_.addStatement({out, vars, read(view, at, loops), module_.place(op)});
  return Unit{};
}

}  // namespace tokamak::sparse
