#include "driver/compile.h"

#include <fmt/format.h>

#include <atomic>
#include <system_error>
#include <thread>

#include "codegen/llvm/compile.h"
#include "codegen/llvm/load.h"
#include "driver/library_step.h"
#include "driver/shape_checks.h"
#include "support/hash.h"

namespace tokamak {

namespace {

using LoadedKernels = std::vector<std::shared_ptr<const codegen::LoadedKernel>>;  // a region each

/// Object code from the cache or the compiler, loaded.
Result<std::shared_ptr<const codegen::LoadedKernel>> loadKernel(const kernel::Kernel& kernel, const Engine& engine,
                                                                bool useCache) {
  const std::string text = kernel::print(kernel), symbol = codegen::symbolName(kernel);
  const std::string context = engine.target.key() + codegen::compilerVersion();
  const uint64_t low = hashBytes(text, hashBytes(context)),
                 high = hashBytes(context, hashBytes(text, 0x5851f42d4c957f2dull));
  const std::string key = fmt::format("{:016x}{:016x}", low, high);
  if (useCache)
    if (auto object = engine.cache->get(key))
      if (auto loaded = codegen::loadObject(*object, symbol)) return std::move(*loaded);
  TK_TRY(std::vector<char> object, codegen::compileObject(kernel, engine.target));
  if (useCache) engine.cache->put(key, {object.data(), object.size()}, kernel.name);
  return codegen::loadObject(object, symbol);
}

/// All kernels, on as many threads as there are cores; the first failure is returned.
Result<LoadedKernels> loadKernels(const Lowered& lowered, const Engine& engine, bool useCache) {
  const size_t n = lowered.kernels.size();
  LoadedKernels out(n);
  std::vector<std::optional<Diagnostic>> errors(n);
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next++; i < n; i = next++) {
      if (!lowered.kernels[i]) continue;
      auto loaded = loadKernel(lowered.kernels[i]->launches[0].kernel, engine, useCache);
      if (loaded)
        out[i] = std::move(*loaded);
      else
        errors[i] = loaded.error();
    }
  };
  std::vector<std::thread> helpers;
  const size_t count = std::min<size_t>(n, std::max(1u, std::thread::hardware_concurrency()));
  try {
    for (size_t t = 1; t < count; ++t) helpers.emplace_back(work);
  } catch (const std::system_error&) {}  // fewer threads than hoped for do it too
  work();
  for (auto& t : helpers) t.join();
  for (auto& error : errors)
    if (error) return *error;
  return out;
}

/// Lays a lowered graph out as slots and steps.
class ProgramWriter {
 public:
  ProgramWriter(const Lowered& lowered, const LoadedKernels& loaded, const Engine& engine)
      : lowered_(lowered), graph_(lowered.graph), loaded_(loaded), engine_(engine), slotOf_(graph_.size(), -1) {}

  Result<runtime::Program> run() {
    program_.name = graph_.name;
    std::set<std::string, std::less<>> symbols;
    for (const Node& node : graph_.nodes())
      for (const Dim& d : node.type.shape) d.collectSymbols(symbols);
    program_.symbols.assign(symbols.begin(), symbols.end());
    for (size_t i = 0; i < graph_.inputs().size(); ++i)
      addSlot(graph_.inputs()[i], runtime::SlotKind::input, static_cast<int>(i));
    placeOutputs();
    for (size_t i = 0; i < lowered_.plan.regions.size(); ++i) {
      if (lowered_.kernels[i])
        addKernel(i);
      else
        TK_RETURN_IF_ERROR(addLibraryCall(lowered_.plan.regions[i], i));
    }
    for (auto [from, to] : copies_) addCopy(from, to);
    return std::move(program_);
  }

 private:
  int addSlot(ValueId v, runtime::SlotKind kind, int index) {
    const Node& node = graph_.node(v);
    runtime::Slot slot{graph_.label(v), kind, node.type.dtype, node.type.shape, index, {}};
    if (auto* constant = std::get_if<Constant>(&node.op))
      slot.constant = std::shared_ptr<const void>(constant->data, constant->data->data());
    program_.slots.push_back(std::move(slot));
    return slotOf_[v.index] = static_cast<int>(program_.slots.size()) - 1;
  }

  ValueId home(ValueId v) const {
    while (lowered_.plan.aliasOf[v.index]) v = lowered_.plan.aliasOf[v.index];
    return v;
  }

  /// The first output that shows a computed value is where it is computed; others are copies.
  void placeOutputs() {
    for (size_t k = 0; k < graph_.outputs().size(); ++k) {
      const ValueId v = graph_.outputs()[k], at = home(v);
      const bool given =
          std::holds_alternative<Input>(graph_.node(at).op) || std::holds_alternative<Constant>(graph_.node(at).op);
      const bool fresh = !given && slotOf_[at.index] < 0 && slotOf_[v.index] < 0;
      const int keep = slotOf_[v.index];
      const int slot = addSlot(v, runtime::SlotKind::output, static_cast<int>(k));
      if (!fresh) {
        slotOf_[v.index] = keep;
        copies_.push_back({v, slot});
      } else if (!(at == v)) {
        addSlot(at, runtime::SlotKind::alias, slot);
      }
    }
  }

  int slot(ValueId v) {
    if (slotOf_[v.index] >= 0) return slotOf_[v.index];
    if (lowered_.plan.aliasOf[v.index]) {
      const int of = slot(lowered_.plan.aliasOf[v.index]);
      return addSlot(v, runtime::SlotKind::alias, of);
    }
    const bool constant = std::holds_alternative<Constant>(graph_.node(v).op);
    return addSlot(v, constant ? runtime::SlotKind::constant : runtime::SlotKind::temp, -1);
  }

  void addKernel(size_t i) {
    const schedule::Launch& launch = lowered_.kernels[i]->launches[0];  // a CPU's regions have one
    runtime::KernelStep step;
    step.name = launch.kernel.name;
    step.function = loaded_[i]->function();
    step.keepAlive = loaded_[i];
    for (size_t b = 0; b < launch.buffers.size(); ++b) {
      const auto& buffer = launch.kernel.buffers[b];
      const auto access = static_cast<runtime::OperandAccess>(buffer.access);
      if (launch.buffers[b].value) {
        step.operands.push_back({slot(launch.buffers[b].value), access});
        continue;
      }
      program_.slots.push_back(
          {step.name + "." + buffer.name, runtime::SlotKind::temp, buffer.dtype, {buffer.size}, -1, {}});
      step.operands.push_back({static_cast<int>(program_.slots.size()) - 1, access});
    }
    for (const auto& symbol : launch.kernel.symbols) step.symbols.push_back(Dim::symbol(symbol));
    step.predictedBytes = movedBytes(lowered_.plan.regions[i]);
    program_.steps.push_back(std::move(step));
  }

  Result<> addLibraryCall(const Region& region, size_t i) {
    TK_TRY(LibraryStep made, makeLibraryStep(graph_, region, *engine_.library));
    runtime::CallStep step;
    step.name = lowered_.plan.ledger.regions[i].name;
    step.call = std::move(made.call);
    step.dims = std::move(made.dims);
    for (ValueId v : made.operands) step.operands.push_back({slot(v), runtime::OperandAccess::in});
    step.operands.push_back({slot(region.outputs[0]), runtime::OperandAccess::out});
    step.predictedBytes = movedBytes(region);
    program_.steps.push_back(std::move(step));
    return Unit{};
  }

  void addCopy(ValueId from, int to) {
    runtime::CallStep step;
    step.name = "copy";
    step.call = runtime::makeCopyCall();
    step.operands = {{slot(from), runtime::OperandAccess::in}, {to, runtime::OperandAccess::out}};
    step.dims = {graph_.type(from).bytes()};
    step.predictedBytes = graph_.type(from).bytes() * Dim(2);
    program_.steps.push_back(std::move(step));
  }

  Dim movedBytes(const Region& region) const {
    Dim sum = 0;
    for (ValueId v : region.inputs) sum = sum + graph_.type(v).bytes();
    for (ValueId v : region.outputs) sum = sum + graph_.type(v).bytes();
    return sum;
  }

  const Lowered& lowered_;
  const Graph& graph_;
  const LoadedKernels& loaded_;
  const Engine& engine_;
  std::vector<int> slotOf_;
  std::vector<std::pair<ValueId, int>> copies_;
  runtime::Program program_;
};

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
  TK_TRY(runtime::Program program, ProgramWriter(lowered, loaded, engine).run());
  program.checks = shapeChecks(graph);
  Compiled out;
  TK_TRY(out.executable, runtime::Executable::create(std::move(program), {.pool = engine.pool, .host = engine.host}));
  out.explanation = explanationOf(graph, lowered, options.hints);
  return out;
}

}  // namespace tokamak
