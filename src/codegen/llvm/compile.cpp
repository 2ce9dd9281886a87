#include "codegen/llvm/compile.h"

#include <fmt/format.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

#include <mutex>

#include "codegen/llvm/module.h"

namespace tokamak::codegen {

namespace {

/// Registers the native back end with LLVM, whose registry is per process.
void initialiseLlvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

Diagnostic cannotGenerate(std::string why) {
  return {"T0503",
          {},
          fmt::format("LLVM cannot generate code for this machine: {}", why),
          "use a build of LLVM that has this processor's back end"};
}

/// A kernel on its way through LLVM. Each compilation has its own context, so that two may run at once.
struct Compilation {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
};

Result<Compilation> compileModule(const kernel::Kernel& kernel, const HostTarget& target) {
  Compilation c;
  c.context = std::make_unique<llvm::LLVMContext>();
  c.context->setDiscardValueNames(true);
  TK_TRY(c.machine, makeTargetMachine(target));
  TK_TRY(c.module, buildModule(kernel, target, *c.machine, *c.context));
#ifndef NDEBUG
  std::string errors;
  llvm::raw_string_ostream stream(errors);
  TK_CHECK(!llvm::verifyModule(*c.module, &stream), errors);
#endif
  optimise(*c.module, *c.machine);
  return c;
}

Result<llvm::SmallVector<char, 0>> generate(const kernel::Kernel& kernel, const HostTarget& target,
                                            llvm::CodeGenFileType kind) {
  TK_TRY(Compilation c, compileModule(kernel, target));
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (c.machine->addPassesToEmitFile(passes, stream, nullptr, kind))
    return cannotGenerate("its back end writes no files");
  passes.run(*c.module);
  return bytes;
}

}  // namespace

Result<std::unique_ptr<llvm::TargetMachine>> makeTargetMachine(const HostTarget& target) {
  initialiseLlvm();
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* backEnd = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backEnd) return cannotGenerate(error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // fuse only what carries the `contract` flag
  std::unique_ptr<llvm::TargetMachine> machine(
      backEnd->createTargetMachine(triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
                                   llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, /*JIT=*/true));
  if (!machine) return cannotGenerate("no target machine for " + triple);
  return machine;
}

Result<std::vector<char>> compileObject(const kernel::Kernel& kernel, const HostTarget& target) {
  TK_TRY(auto bytes, generate(kernel, target, llvm::CodeGenFileType::ObjectFile));
  return std::vector<char>(bytes.begin(), bytes.end());
}

std::string symbolName(const kernel::Kernel& kernel) {
  std::string name = "tokamak_" + kernel.name;  // a kernel called `sin` is not the C library's
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

std::string compilerVersion() { return fmt::format("llvm-{}/{}", LLVM_VERSION_STRING, TOKAMAK_CODEGEN_HASH); }

Result<std::string> printLlvm(const kernel::Kernel& kernel, const HostTarget& target) {
  TK_TRY(Compilation c, compileModule(kernel, target));
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << *c.module;
  return stream.str();
}

Result<std::string> printAsm(const kernel::Kernel& kernel, const HostTarget& target) {
  TK_TRY(auto bytes, generate(kernel, target, llvm::CodeGenFileType::AssemblyFile));
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace tokamak::codegen
