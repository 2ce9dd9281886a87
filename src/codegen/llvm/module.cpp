#include "codegen/llvm/module.h"

#include <fmt/format.h>
#include <llvm/IR/MDBuilder.h>

#include "codegen/llvm/compile.h"
#include "codegen/llvm/function_emitter.h"
#include "codegen/llvm/lane_order.h"

namespace tokamak::codegen {

using namespace kernel;

namespace {

/// Names what only a GPU has, or is empty.
std::string gpuFeature(const Block& block) {
  for (const Stmt& stmt : block) {
    if (std::holds_alternative<kernel::Barrier>(stmt.node)) return "a barrier";
    if (auto* loop = std::get_if<For>(&stmt.node)) {
      if (loop->binding > Binding::parallel) return fmt::format("a loop bound to {}", nameOf(loop->binding));
      if (auto found = gpuFeature(loop->body); !found.empty()) return found;
    }
    if (auto* branch = std::get_if<If>(&stmt.node)) {
      if (auto found = gpuFeature(branch->then); !found.empty()) return found;
      if (auto found = gpuFeature(branch->otherwise); !found.empty()) return found;
    }
  }
  return {};
}

Result<> checkIsForCpu(const Kernel& kernel) {
  std::string found = gpuFeature(kernel.body);
  for (const Buffer& buffer : kernel.buffers)
    if (buffer.scope == Scope::shared || isOfCluster(buffer.scope))
      found = fmt::format("the shared buffer {}", buffer.name);
  if (found.empty()) return Unit{};
  return Diagnostic{"T0501",
                    {},
                    fmt::format("kernel @{} has {}, which a CPU cannot run", kernel.name, found),
                    "bind loops to `parallel`, `serial` or `unroll` and use local buffers"};
}

/// The first local buffer, too large for the stack, that statements outside parallel loops use.
const Buffer* largeLocalOutside(const Kernel& kernel) {
  for (BufferId id : usesOf(kernel, kernel.body, false).buffers)
    if (const Buffer& buffer = kernel.buffer(id); buffer.scope == Scope::local && !FunctionEmitter::isSmall(buffer))
      return &buffer;
  return nullptr;
}

void bindParameters(FunctionEmitter& emitter, const KernelContext& context, llvm::Function* function,
                    const Uses& uses) {
  const Kernel& kernel = context.kernel;
  llvm::IRBuilder<> b(function->getEntryBlock().getTerminator());
  auto field = [&](int argument, size_t index, llvm::Type* type) {
    return b.CreateLoad(type, b.CreateConstGEP1_64(type, function->getArg(argument), index));
  };
  for (size_t i = 0; i < kernel.buffers.size(); ++i)
    if (kernel.buffers[i].scope == Scope::global && uses.buffers.contains(BufferId(i)))
      emitter.bindBuffer(BufferId(i), field(0, i, b.getPtrTy()));
  for (size_t i = 0; i < kernel.symbols.size(); ++i)
    if (uses.symbols.contains(kernel.symbols[i])) emitter.bindSymbol(kernel.symbols[i], field(1, i, b.getInt64Ty()));
  emitter.setHost(function->getArg(2));
}

}  // namespace

KernelContext::KernelContext(const Kernel& kernel, const HostTarget& target, llvm::Module& module)
    : kernel(kernel),
      target(target),
      module(module),
      half{target.hasFeature("f16c") || target.hasFeature("fullfp16"),
           target.hasFeature("avx512bf16") && target.vectorBytes == 64},
      changing(changingExpressions(kernel)),
      paired(pairedExpressions(kernel, 2 * target.vectorBytes / byteWidth(DType::f32))) {
  llvm::LLVMContext& context = module.getContext();
  llvm::MDBuilder metadata(context);
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain(kernel.name);
  std::vector<llvm::Metadata*> scopes;
  scopes.reserve(kernel.buffers.size());
  for (const Buffer& buffer : kernel.buffers) scopes.push_back(metadata.createAnonymousAliasScope(domain, buffer.name));
  for (size_t i = 0; i < scopes.size(); ++i) {
    std::vector<llvm::Metadata*> others;
    for (size_t j = 0; j < scopes.size(); ++j) {
      const bool mayOverlap = kernel.buffers[i].access == Access::inout && kernel.buffers[j].access == Access::inout;
      if (i != j && !mayOverlap) others.push_back(scopes[j]);
    }
    scope.push_back(llvm::MDNode::get(context, {scopes[i]}));
    disjoint.push_back(llvm::MDNode::get(context, others));
  }
}

llvm::Function* KernelContext::makeFunction(llvm::FunctionType* type, const std::string& name, bool exported) {
  auto linkage = exported ? llvm::Function::ExternalLinkage : llvm::Function::InternalLinkage;
  llvm::Function* function = llvm::Function::Create(type, linkage, name, module);
  function->setDSOLocal(true);
  function->setDoesNotThrow();
  function->addFnAttr("target-cpu", target.cpu);
  function->addFnAttr("target-features", target.features);
  // Without these LLVM stays at 256 bits on processors whose tuning says so.
  const std::string bits = std::to_string(target.vectorBytes * 8);
  function->addFnAttr("prefer-vector-width", bits);
  function->addFnAttr("min-legal-vector-width", bits);
  // A caller built with -fsanitize=function reads the bytes in front of what it calls, which may be the first of its
  // page.
  function->setPrefixData(
      llvm::ConstantAggregateZero::get(llvm::ArrayType::get(llvm::Type::getInt64Ty(module.getContext()), 2)));
  llvm::BasicBlock::Create(module.getContext(), "entry", function);
  return function;
}

Result<std::unique_ptr<llvm::Module>> buildModule(const Kernel& kernel, const HostTarget& target,
                                                  const llvm::TargetMachine& machine, llvm::LLVMContext& context) {
  TK_RETURN_IF_ERROR(checkIsForCpu(kernel));
  const Buffer* large = largeLocalOutside(kernel);
  if (large && hasParallelLoop(kernel.body))
    return Diagnostic{
        "T0502",
        {},
        fmt::format("kernel @{} uses the local buffer {} outside its parallel loops", kernel.name, large->name),
        "make it a scratch parameter, or use it inside one parallel loop only"};

  auto module = std::make_unique<llvm::Module>(kernel.name, context);
  module->setTargetTriple(machine.getTargetTriple().str());
  module->setDataLayout(machine.createDataLayout());
  module->setPICLevel(llvm::PICLevel::BigPIC);
  KernelContext shared(kernel, target, *module);
  llvm::Type* pointer = llvm::PointerType::getUnqual(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer, pointer}, false);
  llvm::Function* function = shared.makeFunction(type, symbolName(kernel), true);
  FunctionEmitter emitter(shared, function);
  bindParameters(emitter, shared, function, usesOf(kernel, kernel.body));
  if (large) {
    emitter.emitAsOneIteration(kernel.body);
  } else {
    emitter.bindLocals(usesOf(kernel, kernel.body, false).buffers, nullptr);
    emitter.emitBlock(kernel.body);
  }
  emitter.finish();
  return module;
}

}  // namespace tokamak::codegen
