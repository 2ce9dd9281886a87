#include "codegen/llvm/math/libm.h"

#include <llvm/IR/Module.h>

#include <array>
#include <cmath>
#include <vector>

#include "codegen/llvm/math/math.h"
#include "support/check.h"

namespace tokamak::codegen::math {
namespace {

using Unary = double (*)(double);
using Binary = double (*)(double, double);

LibmFunction unary(std::string_view name, Unary f) { return {name, reinterpret_cast<void*>(f)}; }
LibmFunction binary(std::string_view name, Binary f) { return {name, reinterpret_cast<void*>(f)}; }

/// Declared as a pure function of its arguments, so that the optimiser may move or drop a call.
llvm::FunctionCallee declare(llvm::Module& module, std::string_view name, size_t arity) {
  llvm::Type* f64 = llvm::Type::getDoubleTy(module.getContext());
  llvm::FunctionCallee callee = module.getOrInsertFunction(
      llvm::StringRef(name), llvm::FunctionType::get(f64, std::vector<llvm::Type*>(arity, f64), false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();
  function->setWillReturn();
  return callee;
}

}  // namespace

std::span<const LibmFunction> libmFunctions() {
  static const std::array functions = {
      unary("exp", std::exp),     unary("exp2", std::exp2),   unary("expm1", std::expm1),  unary("log", std::log),
      unary("log2", std::log2),   unary("log10", std::log10), unary("log1p", std::log1p),  unary("sin", std::sin),
      unary("cos", std::cos),     unary("tan", std::tan),     unary("asin", std::asin),    unary("acos", std::acos),
      unary("atan", std::atan),   unary("sinh", std::sinh),   unary("cosh", std::cosh),    unary("tanh", std::tanh),
      unary("asinh", std::asinh), unary("acosh", std::acosh), unary("atanh", std::atanh),  unary("erf", std::erf),
      unary("erfc", std::erfc),   binary("pow", std::pow),    binary("atan2", std::atan2), binary("fmod", std::fmod)};
  return functions;
}

Expr callLibm(std::string_view name, std::initializer_list<Expr> arguments) {
  Expr first = *arguments.begin();
  llvm::IRBuilderBase& builder = first.builder();
  if (!first.isDouble()) {
    TK_CHECK(arguments.size() <= 2, "functions of the C library have one or two operands here");
    return toSingle(arguments.size() == 1 ? callLibm(name, {toDouble(first)})
                                          : callLibm(name, {toDouble(first), toDouble(*(arguments.begin() + 1))}));
  }
  llvm::FunctionCallee callee = declare(*builder.GetInsertBlock()->getModule(), name, arguments.size());
  auto callLane = [&](auto laneOf) {
    std::vector<llvm::Value*> operands;
    for (Expr argument : arguments) operands.push_back(laneOf(argument.value()));
    return builder.CreateCall(callee, operands);
  };
  if (!first.type()->isVectorTy()) return first.with(callLane([](llvm::Value* v) { return v; }));
  llvm::Value* result = llvm::PoisonValue::get(first.type());
  for (unsigned lane = 0; lane < first.lanes(); ++lane) {
    llvm::Value* value = callLane([&](llvm::Value* v) { return builder.CreateExtractElement(v, lane); });
    result = builder.CreateInsertElement(result, value, lane);
  }
  return first.with(result);
}

}  // namespace tokamak::codegen::math
