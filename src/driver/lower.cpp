#include <fmt/format.h>

#include "driver/compile.h"
#include "passes/pipeline.h"

namespace tokamak {

/// The primitives that the pipeline makes of one activation.
static Graph decomposedActivation(const Activation& activation, const TensorType& type) {
  Graph graph;
  const ValueId x = graph.addInput("x", type);
  graph.addOutput(graph.append({activation, {x}, type, {}, {}}));
  if (!runPipeline(graph)) return {};
  return graph;
}

static std::vector<DType> servedTypes(const library::Library& library) {
  std::vector<DType> out;
  for (DType t : {DType::f32, DType::bf16, DType::f16})
    if (library.available() && library.accepts(library::MatMulDesc{.a = t, .b = t, .c = t})) out.push_back(t);
  return out;
}

/// A GPU as the planner sees it. A second sweep finds a row in registers or in the second cache, so rows may be long.
static MachineModel machineOf(const schedule::Gpu& gpu) {
  MachineModel machine;
  machine.bytesPerMicrosecond = gpu.bytesPerMicrosecond;
  machine.launchMicroseconds = gpu.launchMicroseconds;
  machine.opsPerMicrosecond = gpu.multiprocessors * 128.0 * 1500;
  machine.rowBudgetBytes = 4 << 20;
  machine.maxAcross = 16384;
  machine.threads = gpu.multiprocessors;
  return machine;
}

Result<Lowered> lower(const Graph& graph, const Engine& engine, const CompileOptions& options) {
  Lowered out;
  out.graph = graph;
  const bool asks = options.library && !options.gpu;  // oneDNN serves the host
  const std::vector<DType> served = asks ? servedTypes(*engine.library) : std::vector<DType>{};
  TK_RETURN_IF_ERROR(runPipeline(out.graph, {.channelsLast = served, .eagerRounding = options.eagerRounding}));
  FusionOptions fusion;
  fusion.hints = options.hints;
  fusion.fuse = options.fuse;
  fusion.epilogues = options.epilogues;
  fusion.machine.maxWeight = options.maxWeight;
  fusion.machine.threads = engine.host->threads();
  if (options.gpu) fusion.machine = machineOf(*options.gpu);
  fusion.libraryTypes = served;
  fusion.decomposed = decomposedActivation;
  out.plan = planFusion(out.graph, fusion);

  if (asks && fusion.libraryTypes.empty())
    out.plan.ledger.notes.push_back("products run as generated kernels: " + engine.library->available().reason());

  schedule::Device device;
  device.vectorBytes = engine.target.vectorBytes;
  device.threads = engine.host->threads();
  device.gpu = options.gpu;
  for (size_t i = 0; i < out.plan.regions.size(); ++i) {
    const Region& region = out.plan.regions[i];
    LedgerRegion& entry = out.plan.ledger.regions[i];
    entry.name = fmt::format("{}_{}", entry.kind, i);
    if (region.kind == RegionKind::contract && region.tier == Tier::library) {
      entry.schedule = engine.library->version();
      out.kernels.emplace_back();
      continue;
    }
    TK_TRY(schedule::Scheduled scheduled,
           schedule::scheduleRegion(out.graph, region, options.hints, device, entry.name));
    entry.schedule = scheduled.scheduler + ": " + scheduled.plan;
    out.kernels.emplace_back(std::move(scheduled));
  }
  return out;
}

}  // namespace tokamak
