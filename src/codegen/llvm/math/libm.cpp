#include "codegen/llvm/math/libm.h"

#include <llvm/IR/Module.h>

#include <array>
#include <cmath>
#include <vector>

#include "codegen/llvm/math/math.h"
#include "support/check.h"

namespace tokamak::codegen::math {
namespace {

template <class R, class... Arguments>
LibmFunction entry(std::string_view name, R (*f)(Arguments...)) {
  return {name, reinterpret_cast<void*>(f)};
}

/// Double to double, by the name that is also the name in namespace std.
#define TK_UNARY(name) entry<double, double>(#name, std::name)
#define TK_BINARY(name) entry<double, double, double>(#name, std::name)

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
      // clang-format off
      TK_UNARY(exp), TK_UNARY(exp2), TK_UNARY(expm1), TK_UNARY(log), TK_UNARY(log2), TK_UNARY(log10), TK_UNARY(log1p),
      TK_UNARY(sin), TK_UNARY(cos), TK_UNARY(tan), TK_UNARY(asin), TK_UNARY(acos), TK_UNARY(atan),
      TK_UNARY(sinh), TK_UNARY(cosh), TK_UNARY(tanh), TK_UNARY(asinh), TK_UNARY(acosh), TK_UNARY(atanh),
      TK_UNARY(erf), TK_UNARY(erfc), TK_BINARY(pow), TK_BINARY(atan2), TK_BINARY(fmod),
      // A target without fused multiply-add or rounding instructions calls these.
      TK_UNARY(floor), TK_UNARY(trunc), entry<float, float>("floorf", std::floor),
      entry<float, float>("truncf", std::trunc), entry<double, double, double, double>("fma", std::fma),
      entry<float, float, float, float>("fmaf", std::fma),
      // clang-format on
  };
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
