#pragma once

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <memory>
#include <string>
#include <vector>

#include "codegen/llvm/math/math.h"
#include "support/check.h"

/// For tests and measurements of the vector math alone: compiles one function into a loop over arrays, without kernels.
namespace tokamak::codegen::math {

/// Which machine the code is emitted for.
enum class MathTarget { plain, avx512 };

struct LoopSpec {
  bool isDouble = false;
  unsigned lanes = 16;  ///< 1: scalar code
  MathTarget target = MathTarget::avx512;
};

/// Whether this machine runs the AVX-512 form.
inline bool hostHasAvx512() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  return features["avx512f"] && features["avx512vl"] && features["avx512dq"];
}

/// `run(a, b, out, count)`: out[i] = f(a[i], b[i]); count is a multiple of the lanes. Unary functions ignore b.
template <class T>
class MathLoop {
 public:
  /// Loops of one function at a time keep the object code alive.
  MathLoop(UnaryKind kind, LoopSpec spec) {
    build(spec, [&](llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value*) { return emitMath(b, kind, x); });
  }
  MathLoop(BinaryKind kind, LoopSpec spec) {
    build(spec, [&](llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* y) { return emitMath(b, kind, x, y); });
  }
  /// Any body; `emit(builder, a, b)` gives the value to store.
  template <class Emit>
  MathLoop(Emit emit, LoopSpec spec) {
    build(spec, emit);
  }

  void run(const T* a, const T* b, T* out, int64_t count) const { function_(a, b, out, count); }

 private:
  using Function = void (*)(const T*, const T*, T*, int64_t);

  template <class Emit>
  void build(LoopSpec spec, Emit emit);

  std::unique_ptr<llvm::orc::LLJIT> jit_;
  Function function_ = nullptr;
};

namespace detail {

template <class T>
T take(llvm::Expected<T> value) {
  if (!value) failCheck("value", __FILE__, __LINE__, llvm::toString(value.takeError()));
  return std::move(*value);
}

inline llvm::orc::JITTargetMachineBuilder targetMachine(MathTarget target) {
  auto builder = take(llvm::orc::JITTargetMachineBuilder::detectHost());
  if (target == MathTarget::plain) {
    builder = llvm::orc::JITTargetMachineBuilder(builder.getTargetTriple());
    builder.setCPU("x86-64-v3");
    builder.getFeatures() = llvm::SubtargetFeatures("+avx2,+fma");
  }
  return builder;
}

inline void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(&machine);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

/// Emits `void loop(a, b, out, count)` around `emit`.
template <class Emit>
void emitLoop(llvm::Module& module, LoopSpec spec, const std::string& features, Emit emit) {
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> builder(context);
  llvm::Type* pointer = builder.getPtrTy();
  llvm::Type* scalar = spec.isDouble ? builder.getDoubleTy() : builder.getFloatTy();
  llvm::Type* type = spec.lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, spec.lanes);
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(builder.getVoidTy(), {pointer, pointer, pointer, builder.getInt64Ty()}, false),
      llvm::Function::ExternalLinkage, "loop", module);
  function->addFnAttr("target-features", features);
  function->addFnAttr("prefer-vector-width", "512");
  function->addParamAttr(2, llvm::Attribute::NoAlias);
  auto* entry = llvm::BasicBlock::Create(context, "entry", function);
  auto* body = llvm::BasicBlock::Create(context, "body", function);
  auto* done = llvm::BasicBlock::Create(context, "done", function);
  builder.SetInsertPoint(entry);
  llvm::Value* count = function->getArg(3);
  builder.CreateCondBr(builder.CreateICmpSGT(count, builder.getInt64(0)), body, done);
  builder.SetInsertPoint(body);
  llvm::PHINode* i = builder.CreatePHI(builder.getInt64Ty(), 2);
  i->addIncoming(builder.getInt64(0), entry);
  auto at = [&](unsigned argument) { return builder.CreateGEP(scalar, function->getArg(argument), i); };
  llvm::Align align(scalar->getPrimitiveSizeInBits() / 8);
  llvm::Value* a = builder.CreateAlignedLoad(type, at(0), align);
  llvm::Value* b = builder.CreateAlignedLoad(type, at(1), align);
  builder.CreateAlignedStore(emit(builder, a, b), at(2), align);
  llvm::Value* next = builder.CreateAdd(i, builder.getInt64(spec.lanes));
  i->addIncoming(next, builder.GetInsertBlock());
  builder.CreateCondBr(builder.CreateICmpSLT(next, count), body, done);
  builder.SetInsertPoint(done);
  builder.CreateRetVoid();
}

}  // namespace detail

template <class T>
template <class Emit>
void MathLoop<T>::build(LoopSpec spec, Emit emit) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto machineBuilder = detail::targetMachine(spec.target);
  auto machine = detail::take(machineBuilder.createTargetMachine());
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("math", *context);
  module->setDataLayout(machine->createDataLayout());
  module->setTargetTriple(machine->getTargetTriple().str());
  detail::emitLoop(*module, spec, machineBuilder.getFeatures().getString(), emit);
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  TK_CHECK(!llvm::verifyModule(*module, &stream), stream.str());
  detail::optimise(*module, *machine);

  jit_ = detail::take(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(machineBuilder).create());
  llvm::orc::SymbolMap symbols;
  for (const LibmFunction& f : libmFunctions()) {
    symbols[jit_->mangleAndIntern(llvm::StringRef(f.name))] = {llvm::orc::ExecutorAddr::fromPtr(f.address),
                                                               llvm::JITSymbolFlags::Exported};
  }
  llvm::cantFail(jit_->getMainJITDylib().define(llvm::orc::absoluteSymbols(symbols)));
  llvm::cantFail(jit_->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
  function_ = detail::take(jit_->lookup("loop")).template toPtr<Function>();
}

}  // namespace tokamak::codegen::math
