#include "sparse/mlir/module.h"

#include <fmt/format.h>
#include <llvm/Support/MemoryBuffer.h>
#include <mlir/AsmParser/AsmParser.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Bufferization/IR/Bufferization.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlow.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>
#include <mlir/Dialect/MLProgram/IR/MLProgram.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SparseTensor/IR/SparseTensor.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/Verifier.h>

#include <optional>

namespace tokamak::sparse {

namespace {

/// Line and column of the first byte that is not UTF-8, or nothing.
std::optional<std::pair<int, int>> badUtf8(std::string_view text) {
  int line = 1, column = 1;
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = byte < 0x80 ? 1 : byte >= 0xC2 && byte < 0xE0 ? 2 : byte >= 0xE0 && byte < 0xF0 ? 3 : 4;
    bool good = byte < 0x80 || (byte >= 0xC2 && byte < 0xF5);
    good = good && i + length <= text.size() && byte != 0;
    for (size_t k = 1; good && k < length; ++k) good = (static_cast<unsigned char>(text[i + k]) & 0xC0) == 0x80;
    if (!good) return std::pair(line, column);
    column = byte == '\n' ? 1 : column + 1;
    line += byte == '\n';
    i += length;
  }
  return std::nullopt;
}

/// The place in a text that a location holds, however it is wrapped.
mlir::FileLineColLoc textPlace(mlir::Location at) {
  mlir::FileLineColLoc found;
  at->walk([&](mlir::Location inner) {
    found = mlir::dyn_cast<mlir::FileLineColLoc>(inner);
    return found ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  return found;
}

}  // namespace

Result<std::unique_ptr<MlirModule>> MlirModule::parse(std::string_view text, const std::string& file) {
  if (const auto bad = badUtf8(text))
    return Diagnostic{"T0851",
                      {file, bad->first, bad->second},
                      "the file is not text: a byte here is not UTF-8",
                      "give MLIR as text, not as bytecode"};
  std::unique_ptr<MlirModule> out(new MlirModule(file));
  TK_RETURN_IF_ERROR(out->parse(text));
  return out;
}

Result<> MlirModule::parse(std::string_view text) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::arith::ArithDialect, mlir::bufferization::BufferizationDialect, mlir::cf::ControlFlowDialect,
                  mlir::func::FuncDialect, mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                  mlir::ml_program::MLProgramDialect, mlir::sparse_tensor::SparseTensorDialect,
                  mlir::tensor::TensorDialect>();
  context_.disableMultithreading();
  context_.appendDialectRegistry(registry);
  context_.allowUnregisteredDialects();  // attributes such as torch.debug_module_name
  sources_.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy({text.data(), text.size()}, file_), llvm::SMLoc());
  std::optional<Diagnostic> first;
  const mlir::ScopedDiagnosticHandler handler(&context_, [&](mlir::Diagnostic& said) {
    if (said.getSeverity() == mlir::DiagnosticSeverity::Error && !first)
      first = complaint(said.str(), said.getLocation());
    return mlir::success();
  });
  const mlir::ParserConfig config(&context_);
  const bool parsed = mlir::succeeded(mlir::parseAsmSourceFile(sources_, &block_, config, &state_));
  if (!parsed) return first.value_or(Diagnostic{"T0851", {file_, 1, 1}, "MLIR refuses the text", "check it"});
  if (!block_.empty() && mlir::isa<mlir::ModuleOp>(block_.front()) && std::next(block_.begin()) == block_.end())
    return Unit{};
  // Functions without a module around them.
  auto module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context_));
  module.getBody()->getOperations().splice(module.getBody()->end(), block_.getOperations());
  block_.push_back(module);
  return Unit{};
}

Diagnostic MlirModule::complaint(std::string message, mlir::Location at) const {
  Location place{file_, 1, 1};
  if (const auto text = textPlace(at); text && text.getFilename() == file_)
    place = {file_, static_cast<int>(text.getLine()), static_cast<int>(text.getColumn())};
  const auto says = [&](const char* words) { return message.find(words) != std::string::npos; };
  if (says("not found for custom op '") || (says("custom op '") && says("' is unknown")))
    return {"T0852", place, message, "lower it to linalg, sparse_tensor, arith, math and tensor before"};
  return {"T0851", place, message, "mlir-opt says the same; is the file whole, and of LLVM 19 or near it?"};
}

Location MlirModule::place(llvm::SMLoc at) const {
  if (!at.isValid()) return {file_, 1, 1};
  const auto [line, column] = sources_.getLineAndColumn(at);
  return {file_, static_cast<int>(line), static_cast<int>(column)};
}

Location MlirModule::place(mlir::Operation* op) const {
  for (; op; op = op->getParentOp())
    if (const auto* known = state_.getOpDef(op)) return place(known->loc.Start);
  return {file_, 1, 1};
}

Location MlirModule::place(mlir::Value value) const {
  if (mlir::Operation* op = value.getDefiningOp()) return place(op);
  const auto argument = mlir::cast<mlir::BlockArgument>(value);
  const auto* block = state_.getBlockDef(argument.getOwner());
  if (block && argument.getArgNumber() < block->arguments.size())
    return place(block->arguments[argument.getArgNumber()].loc.Start);
  return place(argument.getOwner()->getParentOp());
}

std::string MlirModule::nameOf(mlir::Value value) const {
  llvm::SMRange range;
  std::string suffix;
  if (const auto result = mlir::dyn_cast<mlir::OpResult>(value)) {
    const auto* op = state_.getOpDef(result.getOwner());
    if (!op) return {};
    for (const auto& group : op->resultGroups)
      if (group.startIndex <= result.getResultNumber()) {
        range = group.definition.loc;
        const unsigned within = result.getResultNumber() - group.startIndex;
        suffix = within == 0 ? "" : fmt::format("_{}", within);
      }
  } else {
    const auto argument = mlir::cast<mlir::BlockArgument>(value);
    const auto* block = state_.getBlockDef(argument.getOwner());
    if (!block || argument.getArgNumber() >= block->arguments.size()) return {};
    range = block->arguments[argument.getArgNumber()].loc;
  }
  if (!range.isValid()) return {};
  std::string name(range.Start.getPointer(), range.End.getPointer());
  if (!name.empty() && name[0] == '%') name.erase(0, 1);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  if (name.empty() || !std::isalpha(static_cast<unsigned char>(name[0]))) name.insert(0, "v");
  return name + suffix;
}

Diagnostic MlirModule::fail(std::string_view code, mlir::Operation* op, std::string message, std::string hint) const {
  return {std::string(code), place(op), std::move(message), std::move(hint)};
}

}  // namespace tokamak::sparse
