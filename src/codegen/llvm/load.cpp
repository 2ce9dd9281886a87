#include "codegen/llvm/load.h"

#include <fmt/format.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cmath>
#include <cstring>

#include "codegen/llvm/math/math.h"

namespace tokamak::codegen {

namespace orc = llvm::orc;

/// A session of its own for each kernel: no state is shared between kernels, and the memory goes when the kernel goes.
struct LoadedKernel::Memory {
  std::unique_ptr<orc::ExecutionSession> session;
  std::unique_ptr<orc::ObjectLinkingLayer> linker;

  ~Memory() {
    if (session) llvm::consumeError(session->endSession());
  }
};

LoadedKernel::LoadedKernel(std::unique_ptr<Memory> memory, KernelFunction function)
    : memory_(std::move(memory)), function_(function) {}
LoadedKernel::~LoadedKernel() = default;

namespace {

Diagnostic cannotLoad(llvm::Error error) {
  return {"T0504",
          {},
          fmt::format("cannot load object code: {}", llvm::toString(std::move(error))),
          "a damaged kernel cache can be emptied with `tokamak cache clear`"};
}

/// What kernels may call: the C library's functions that `math` declares, and those that LLVM brings in by itself.
orc::SymbolMap externalSymbols(orc::ExecutionSession& session) {
  orc::SymbolMap symbols;
  auto define = [&](std::string_view name, void* address) {
    symbols[session.intern(llvm::StringRef(name.data(), name.size()))] = {orc::ExecutorAddr::fromPtr(address),
                                                                          llvm::JITSymbolFlags::Exported};
  };
  for (const math::LibmFunction& f : math::libmFunctions()) define(f.name, f.address);
  define("memcpy", reinterpret_cast<void*>(&std::memcpy));
  define("memset", reinterpret_cast<void*>(&std::memset));
  define("memmove", reinterpret_cast<void*>(&std::memmove));
  // Without FMA or SSE4.1 these are calls.
  using F32 = float (*)(float);
  using F64 = double (*)(double);
  define("fmaf", reinterpret_cast<void*>(static_cast<float (*)(float, float, float)>(&::fmaf)));
  define("fma", reinterpret_cast<void*>(static_cast<double (*)(double, double, double)>(&::fma)));
  define("floorf", reinterpret_cast<void*>(static_cast<F32>(&::floorf)));
  define("floor", reinterpret_cast<void*>(static_cast<F64>(&::floor)));
  define("ceilf", reinterpret_cast<void*>(static_cast<F32>(&::ceilf)));
  define("ceil", reinterpret_cast<void*>(static_cast<F64>(&::ceil)));
  define("truncf", reinterpret_cast<void*>(static_cast<F32>(&::truncf)));
  define("trunc", reinterpret_cast<void*>(static_cast<F64>(&::trunc)));
  define("roundevenf", reinterpret_cast<void*>(static_cast<F32>(&::nearbyintf)));
  define("roundeven", reinterpret_cast<void*>(static_cast<F64>(&::nearbyint)));
  return symbols;
}

}  // namespace

Result<std::shared_ptr<const LoadedKernel>> loadObject(std::span<const char> object, const std::string& symbol) {
  auto control = orc::SelfExecutorProcessControl::Create(nullptr, std::make_unique<orc::InPlaceTaskDispatcher>());
  if (!control) return cannotLoad(control.takeError());
  auto memory = std::make_unique<LoadedKernel::Memory>();
  memory->session = std::make_unique<orc::ExecutionSession>(std::move(*control));
  orc::ExecutionSession& session = *memory->session;
  // Errors come back from `lookup`; the session need not print them too.
  session.setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  memory->linker = std::make_unique<orc::ObjectLinkingLayer>(session);
  orc::JITDylib& library = session.createBareJITDylib("kernel");
  if (auto error = library.define(orc::absoluteSymbols(externalSymbols(session)))) return cannotLoad(std::move(error));
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()), symbol);
  if (auto error = memory->linker->add(library, std::move(buffer))) return cannotLoad(std::move(error));
  auto found = session.lookup({&library}, session.intern(symbol));
  if (!found) return cannotLoad(found.takeError());
  auto function = found->getAddress().toPtr<KernelFunction>();
  return std::shared_ptr<const LoadedKernel>(new LoadedKernel(std::move(memory), function));
}

}  // namespace tokamak::codegen
