#include <fmt/format.h>

#include <algorithm>

#include "driver/compile.h"
#include "driver/library_step.h"
#include "fusion/cost.h"
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

/// Elements from which on another sweep over a result of f32 costs less than the library's activations do, unless they
/// are applied in registers: to keep NaN its ReLU takes an exponential, and its GELU has to be looked over for
/// infinities.
constexpr double kOwnActivation = 1 << 15;

static decltype(FusionOptions::acceptsEpilogue) unlessOursIsFaster(const library::Library& library,
                                                                   const DimBindings& hints) {
  return [&](const Graph& graph, ValueId product, const std::vector<EpilogueStep>& steps) {
    const Node& node = graph.node(product);
    if (steps.back().kind != EpilogueStep::Kind::activation || node.type.dtype != DType::f32) return true;
    if (std::holds_alternative<MatMul>(node.op)) {
      const MatMulRegion region = describeMatMul(graph, product, steps);
      if (region.dims.front().is(1) && library.appliesInRegisters(region.desc)) return true;
    } else if (library.appliesInRegisters(describeConv(graph, product, steps).desc)) {
      return true;
    }
    return likely(elementCount(node.type.shape), hints) < kOwnActivation;
  };
}

/// What the library of the device, if it is there, does with products: dtypes, and what it applies to them.
static std::vector<DType> servedOnGpu(const Graph& graph, const Engine& engine, FusionOptions& fusion) {
  const auto isProduct = [](const Node& node) {
    return std::holds_alternative<MatMul>(node.op) || std::holds_alternative<Attention>(node.op);
  };
  // The library is large: it is not opened for nothing.
  if (!std::any_of(graph.nodes().begin(), graph.nodes().end(), isProduct)) return {};
  if (!engine.cuda->cublas()) return {};
  fusion.libraryConvs = false;
  fusion.libraryFewRows = true;
  fusion.acceptsEpilogue = [](const Graph& graph, ValueId product, const std::vector<EpilogueStep>& steps) {
    return static_cast<bool>(library::CublasLt::accepts(describeMatMul(graph, product, steps).desc));
  };
  return {DType::f32, DType::bf16, DType::f16, DType::f64};
}

/// Why a library serves no product; empty on a GPU where there is none to serve.
static std::string whyNotServed(const FusionPlan& plan, const Engine& engine, const CompileOptions& options) {
  if (!options.gpu) return engine.library->available().reason();
  const bool contracts = std::any_of(plan.regions.begin(), plan.regions.end(),
                                     [](const Region& r) { return r.kind == RegionKind::contract; });
  return contracts && !engine.cuda->cublas() ? engine.cuda->cublas().error().message : "";
}

/// A GPU as the planner sees it. A second sweep finds a row in registers or in the second cache, so rows may be long.
static MachineModel machineOf(const schedule::Gpu& gpu) {
  MachineModel machine;
  machine.bytesPerMicrosecond = gpu.bytesPerMicrosecond;
  machine.launchMicroseconds = gpu.launchMicroseconds;
  machine.opsPerMicrosecond = gpu.multiprocessors * 128.0 * 1500;
  machine.maxAgain = 32;
  machine.rowBudgetBytes = 4 << 20;
  machine.maxAcross = 10240;
  machine.pairsFolds = true;
  machine.threads = gpu.multiprocessors;
  return machine;
}

Result<std::optional<schedule::Scheduled>> scheduleOne(Lowered& lowered, size_t region, const Engine& engine,
                                                       const CompileOptions& options) {
  const Region& r = lowered.plan.regions[region];
  LedgerRegion& entry = lowered.plan.ledger.regions[region];
  entry.name = fmt::format("{}_{}", entry.kind, region);
  if (r.kind == RegionKind::contract && r.tier == Tier::library) {
    entry.schedule = options.gpu ? (*engine.cuda->cublas())->version() : engine.library->version();
    return std::optional<schedule::Scheduled>();
  }
  schedule::Device device;
  device.vectorBytes = engine.target.vectorBytes;
  device.threads = engine.host->threads();
  const bool zen5 = engine.target.cpu == "znver5";
  device.followsStreams = engine.target.cpu.starts_with("znver") && !zen5;
  if (zen5) device.aheadBytes = 8192;
  device.streamBytes = options.streamBytes;
  device.gpu = options.gpu;
  TK_TRY(schedule::Scheduled scheduled, schedule::scheduleRegion(lowered.graph, r, options.hints, device, entry.name));
  entry.schedule = scheduled.scheduler + ": " + scheduled.plan;
  return std::optional(std::move(scheduled));
}

Result<Lowered> lower(const Graph& graph, const Engine& engine, const CompileOptions& options) {
  Lowered out;
  out.graph = graph;
  FusionOptions fusion;
  std::vector<DType> served;
  if (options.library) served = options.gpu ? servedOnGpu(graph, engine, fusion) : servedTypes(*engine.library);
  PipelineOptions pipeline{.eagerRounding = options.eagerRounding};
  if (options.gpu) {
    pipeline.stageFolds = true;
  } else {
    pipeline.channelsLast = served;
    fusion.acceptsEpilogue = unlessOursIsFaster(*engine.library, options.hints);
  }
  TK_RETURN_IF_ERROR(runPipeline(out.graph, pipeline));
  fusion.hints = options.hints;
  fusion.fuse = options.fuse;
  fusion.epilogues = options.epilogues;
  fusion.machine.threads = engine.host->threads();
  if (options.gpu) fusion.machine = machineOf(*options.gpu);
  fusion.machine.maxWeight = options.maxWeight;
  fusion.libraryTypes = served;
  fusion.decomposed = decomposedActivation;
  out.plan = planFusion(out.graph, fusion);

  if (const std::string why = options.library && served.empty() ? whyNotServed(out.plan, engine, options) : "";
      !why.empty())
    out.plan.ledger.notes.push_back("products run as generated kernels: " + why);

  for (size_t i = 0; i < out.plan.regions.size(); ++i) {
    TK_TRY(auto scheduled, scheduleOne(out, i, engine, options));
    out.kernels.push_back(std::move(scheduled));
  }
  return out;
}

}  // namespace tokamak
