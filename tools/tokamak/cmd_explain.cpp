#include <fmt/format.h>

#include <memory>

#include "command.h"
#include "compile_arguments.h"
#include "console.h"
#include "device.h"
#include "driver/compile_cuda.h"
#include "graph_arguments.h"

namespace tokamak::tool {

namespace {

constexpr const char* kFooter = R"(Examples:
  tokamak explain block.tk --dims S=512                   the ledger as a table: every edge, fused or not, and why
  tokamak explain block.tk --dims S=512 --html plan.html  one page with the graph drawn
  tokamak explain block.tk --brief --measure              kernels only, with measured times beside the predicted
  tokamak explain block.tk --kernels                      with the text of every kernel
  tokamak explain softmax.tk --device cuda --arch sm_90a --emit cuda    CUDA C++, on a machine without a GPU
  tokamak explain block.tk --json | jq .summary)";

struct Options {
  std::string file, html, svg, device = "cpu", arch, emit;
  std::vector<std::string> dims;
  CompileArguments compile;
  bool json = false, kernels = false, brief = false, measure = false;
};

/// The GPU to plan for: the device's own or, for a named architecture, a common one of it; none for the host.
Result<std::optional<schedule::Gpu>> gpuFor(const Options& options, const Engine& engine) {
  TK_TRY(const DeviceChoice device, parseMachine(options.device, "explain"));
  if (device.kind != DeviceChoice::Kind::cuda) {
    if (options.arch.empty() && options.emit.empty()) return std::optional<schedule::Gpu>();
    return Diagnostic{
        "T0801",
        {},
        fmt::format("{} is for a GPU, the device is cpu", options.emit.empty() ? "--arch" : "--emit cuda"),
        "add --device cuda and, where there is no GPU, --arch sm_90a"};
  }
  if (!options.arch.empty()) {
    TK_TRY(const schedule::Gpu gpu, gpuOfArch(options.arch));
    return std::optional(gpu);
  }
  Result<CudaDevice> found = engine.cuda->device(device.ordinal);
  if (!found) {
    Diagnostic error = found.error();
    if (options.measure) return error;
    error.hint = "name an architecture to plan for, with no GPU needed: --arch sm_90a";
    return error;
  }
  return std::optional(gpuOf(found->device->info()));
}

/// Predictions count bytes: 64 bits hold those of every tensor.
Result<> checkCountable(const Graph& graph, const DimBindings& dims) {
  for (size_t i = 0; i < graph.size(); ++i)
    if (!graph.type(ValueId(i)).bytes().eval(dims))
      return Diagnostic{"T0806", graph.node(ValueId(i)).location,
                        fmt::format("the bytes of {} cannot be counted at these sizes", graph.label(ValueId(i))),
                        "give smaller sizes with --dims"};
  return Unit{};
}

/// What each kernel took in one run.
Result<runtime::Profile> profileOnce(const Graph& graph, const Engine& engine, const Inputs& inputs,
                                     const Options& options, const CompileOptions& compileOptions) {
  runtime::Profile profile;
  TK_TRY(const DeviceChoice device, parseDevice(options.device));
  if (device.kind == DeviceChoice::Kind::cuda) {
    TK_TRY(const CompiledCuda compiled, compileCuda(graph, engine, device.ordinal, compileOptions));
    TK_RETURN_IF_ERROR(runOnDevice(compiled, inputs.arrays, {.dims = &inputs.dims}));
    TK_RETURN_IF_ERROR(runOnDevice(compiled, inputs.arrays, {.profile = &profile, .dims = &inputs.dims}));
    return profile;
  }
  TK_TRY(const Compiled compiled, compile(graph, engine, compileOptions));
  const auto refs = refsOf(inputs.arrays);
  for (int round = 0; round < 7; ++round)
    TK_RETURN_IF_ERROR(compiled.executable->run(refs, {.profile = &profile, .dims = &inputs.dims}));
  return profile;
}

/// Runs on random inputs and notes how long each kernel took: the least of several runs.
Result<> measure(const Graph& graph, const Engine& engine, const Options& options, Explanation& explanation) {
  const Progress progress("measuring");
  InputOptions inputOptions;
  inputOptions.seed = 0;
  for (const auto& [name, value] : explanation.dims) inputOptions.dims.push_back(fmt::format("{}={}", name, value));
  TK_TRY(const Inputs inputs, makeInputs(graph, inputOptions));
  TK_TRY(const runtime::Profile profile,
         profileOnce(graph, engine, inputs, options, options.compile.compile(explanation.dims)));
  std::map<std::string, double> least;
  for (const auto& entry : profile.entries) {
    const auto [it, fresh] = least.emplace(entry.name, static_cast<double>(entry.nanoseconds) / 1e3);
    if (!fresh) it->second = std::min(it->second, static_cast<double>(entry.nanoseconds) / 1e3);
  }
  for (LedgerRegion& region : explanation.ledger.regions)
    if (auto it = least.find(region.name); it != least.end()) region.measuredMicroseconds = it->second;
  return Unit{};
}

Result<Outcome> run(const Options& options) {
  TK_TRY(const Graph graph, loadGraph(options.file));
  TK_TRY(DimBindings dims, dimsOf(graph, options.dims));
  assumeSizes(graph, dims);
  TK_RETURN_IF_ERROR(checkCountable(graph, dims));
  const Engine engine(options.compile.engine());
  CompileOptions compileOptions = options.compile.compile(dims);
  TK_TRY(compileOptions.gpu, gpuFor(options, engine));
  TK_TRY(const Lowered lowered, lower(graph, engine, compileOptions));
  if (options.emit == "cuda") {
    TK_TRY(const std::string text, cudaText(lowered));
    say(text);
    return Outcome::done;
  }
  Explanation explanation = explanationOf(graph, lowered, dims);
  if (options.measure) TK_RETURN_IF_ERROR(measure(graph, engine, options, explanation));
  if (!options.html.empty()) TK_RETURN_IF_ERROR(writeFile(options.html, explainHtml(explanation)));
  if (!options.svg.empty()) TK_RETURN_IF_ERROR(writeFile(options.svg, explainSvg(explanation)));
  if (!options.kernels) explanation.kernels.clear();
  if (options.json) {
    say(explainJson(explanation));
  } else {
    say(options.brief ? explainSummary(explanation) : explainTable(explanation));
    if (options.kernels) say("\n" + explainKernels(explanation));
  }
  return Outcome::done;
}

}  // namespace

Command addExplain(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("explain", "Say of every edge why it was fused or not");
  app->footer(kFooter);
  app->add_option("file", options->file, "Graph file; - is standard input")->type_name("FILE.tk")->required();
  app->add_option("--dims", options->dims, "Sizes to predict for: M=128,N=64; 1024 where not given")
      ->type_name("NAME=SIZE,...")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_option("--device", options->device, "Machine to plan for: cpu, cuda, cuda:1 ...")
      ->type_name("DEVICE")
      ->capture_default_str();
  app->add_option("--arch", options->arch, "With --device cuda: plan for this architecture, no GPU needed")
      ->type_name("sm_90a");
  app->add_option("--emit", options->emit, "Print the kernels' CUDA C++ instead")
      ->check(CLI::IsMember({"cuda"}))
      ->option_text("cuda");
  app->add_flag("--brief", options->brief, "Summary and kernels only");
  app->add_flag("--kernels", options->kernels, "Include the text of every kernel");
  app->add_flag("--measure", options->measure, "Run on random inputs and show measured times");
  app->add_flag("--json", options->json, "Print JSON");
  app->add_option("--html", options->html, "Write one self-contained page with the graph drawn")->type_name("OUT.html");
  app->add_option("--svg", options->svg, "Write the drawing alone")->type_name("OUT.svg");
  options->compile.addTo(*app);
  return {app, [options] { return run(*options); }};
}

}  // namespace tokamak::tool
