#include "driver/compile.h"

#include <fmt/format.h>

#include "driver/in_parallel.h"
#include "driver/program_writer.h"
#include "driver/shape_checks.h"
#include "support/hash.h"

namespace tokamak {

namespace {

using LoadedKernels = std::vector<std::shared_ptr<const codegen::LoadedKernel>>;  // a region each

/// Object code from the cache or the compiler, loaded.
Result<std::shared_ptr<const codegen::LoadedKernel>> loadKernel(const kernel::Kernel& kernel, const Engine& engine,
                                                                bool useCache) {
  TK_TRY(const codegen::BackEnd* backEnd, engine.backEnd);
  const std::string text = kernel::print(kernel), symbol = backEnd->symbolName(kernel);
  const std::string context = engine.target.key() + backEnd->compilerVersion();
  const uint64_t low = hashBytes(text, hashBytes(context)),
                 high = hashBytes(context, hashBytes(text, 0x5851f42d4c957f2dull));
  const std::string key = fmt::format("{:016x}{:016x}", low, high);
  const auto make = [&]() -> Result<std::string> {
    TK_TRY(const std::vector<char> object, backEnd->compileObject(kernel, engine.target));
    return std::string(object.begin(), object.end());
  };
  if (!useCache) {
    TK_TRY(const std::string object, make());
    return backEnd->loadObject(object, symbol);
  }
  TK_TRY(std::string object, engine.cache->obtain(key, kernel.name, make));
  if (auto loaded = backEnd->loadObject(object, symbol)) return std::move(*loaded);
  TK_TRY(object, make());  // what was kept cannot be loaded
  engine.cache->put(key, object, kernel.name);
  return backEnd->loadObject(object, symbol);
}

/// All kernels, on as many threads as there are cores; the first failure is returned.
Result<LoadedKernels> loadKernels(const Lowered& lowered, const Engine& engine, bool useCache) {
  const size_t n = lowered.kernels.size();
  LoadedKernels out(n);
  TK_RETURN_IF_ERROR(forEachInParallel(n, [&](size_t i) -> Result<> {
    if (!lowered.kernels[i]) return Unit{};
    TK_TRY(out[i], loadKernel(lowered.kernels[i]->launches[0].kernel, engine, useCache));
    return Unit{};
  }));
  return out;
}

/// Steps that run on the host: kernels of `loaded`, calls of its library.
StepFactory hostSteps(const Lowered& lowered, const LoadedKernels& loaded, const Engine& engine) {
  StepFactory steps;
  steps.kernel = [&](size_t region, size_t) -> runtime::Step {
    runtime::KernelStep step;
    step.function = loaded[region]->function();
    step.keepAlive = loaded[region];
    return step;
  };
  steps.library = [&](const Region& region) { return makeLibraryStep(lowered.graph, region, *engine.library); };
  steps.copy = runtime::makeCopyCall();
  return steps;
}

}  // namespace

Explanation explanationOf(const Graph& written, const Lowered& lowered, const DimBindings& dims) {
  Explanation out{lowered.graph, lowered.plan.ledger, dims, computingOps(written), {}};
  for (const auto& scheduled : lowered.kernels) {
    std::string& text = out.kernels.emplace_back();
    if (!scheduled) continue;
    for (const schedule::Launch& launch : scheduled->launches) text += kernel::print(launch.kernel);
  }
  return out;
}

Result<Compiled> compile(const Graph& graph, const Engine& engine, const CompileOptions& options) {
  TK_RETURN_IF_ERROR(verify(graph));
  TK_TRY(Lowered lowered, lower(graph, engine, options));
  TK_TRY(LoadedKernels loaded, loadKernels(lowered, engine, options.useCache));
  TK_TRY(runtime::Program program, writeProgram(lowered, hostSteps(lowered, loaded, engine)));
  program.checks = shapeChecks(graph);
  Compiled out;
  TK_TRY(out.executable, runtime::Executable::create(std::move(program), {.pool = engine.pool, .host = engine.host}));
  out.explanation = explanationOf(graph, lowered, options.hints);
  return out;
}

}  // namespace tokamak
