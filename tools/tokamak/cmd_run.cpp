#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>

#include "command.h"
#include "compile_arguments.h"
#include "console.h"
#include "cuda_timing.h"
#include "device.h"
#include "graph/interp/evaluate.h"
#include "graph_arguments.h"
#include "output_summary.h"
#include "runtime/npy.h"
#include "runtime/trace.h"

namespace tokamak::tool {

namespace {

constexpr const char* kFooter = R"(Examples:
  tokamak run gelu.tk --random 0 --dims N=1000000     random input of that size, compiled for this machine
  tokamak run mlp.tk --random 0 --dims M=64 --check   compares with the reference evaluator
  tokamak run mlp.tk --random 0 --dims M=64 --check --device cuda    the same on a GPU
  tokamak run mlp.tk --input x=x.npy --random 0       %x from a file, the weights random
  tokamak run mlp.tk --random 0 --dims M=64 --output results    writes results/out0.npy, ...)";

struct Options {
  std::string file, device = "cpu", outputFolder;
  InputOptions inputs;
  CompileArguments compile;
  std::string trace;
  bool check = false, json = false, profile = false;

  bool wantsProfile() const { return profile || !trace.empty(); }
};

struct Run {
  std::vector<Array> outputs;
  double compileMs = 0, runMs = 0;
  size_t kernels = 0;  // 0: not compiled
  runtime::Profile profile;
  double copyBytesPerSecond = 0;  // 0: not measured
};

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Result<Run> runInterpreter(const Graph& graph, const Inputs& inputs) {
  const Progress progress("evaluating with the reference evaluator");
  Run out;
  const auto start = Clock::now();
  TK_TRY(out.outputs, evaluate(graph, inputs.arrays, EvalPrecision::wide, inputs.dims));
  out.runMs = millisecondsSince(start);
  return out;
}

/// Compiles, runs once to warm up, then reports the median of a few runs.
Result<Run> runCpu(const Graph& graph, const Inputs& inputs, const Options& options) {
  Progress progress("compiling");
  Run out;
  const Engine engine(options.compile.engine());
  auto start = Clock::now();
  TK_TRY(const Compiled compiled, compile(graph, engine, options.compile.compile(inputs.dims)));
  out.compileMs = millisecondsSince(start);
  out.kernels = compiled.explanation.ledger.regions.size();
  progress.update("running");
  const auto refs = refsOf(inputs.arrays);
  TK_TRY(const std::vector<runtime::Tensor> results, compiled.executable->run(refs, {.dims = &inputs.dims}));
  for (const runtime::Tensor& tensor : results) out.outputs.push_back(runtime::copyOf(tensor));
  std::vector<double> times;
  for (start = Clock::now(); times.size() < 3 || (times.size() < 15 && millisecondsSince(start) < 200);) {
    const auto begin = Clock::now();
    TK_RETURN_IF_ERROR(compiled.executable->run(refs, {.dims = &inputs.dims}));
    times.push_back(millisecondsSince(begin));
  }
  std::nth_element(times.begin(), times.begin() + static_cast<int64_t>(times.size() / 2), times.end());
  out.runMs = times[times.size() / 2];
  if (options.wantsProfile())
    TK_RETURN_IF_ERROR(compiled.executable->run(refs, {.profile = &out.profile, .dims = &inputs.dims}));
  return out;
}

/// The same on a GPU; times are those of the device.
Result<Run> runCuda(const Graph& graph, const Inputs& inputs, int ordinal, const Options& options) {
  Progress progress("compiling");
  Run out;
  const Engine engine(options.compile.engine());
  const auto start = Clock::now();
  TK_TRY(const CompiledCuda compiled, compileCuda(graph, engine, ordinal, options.compile.compile(inputs.dims)));
  out.compileMs = millisecondsSince(start);
  out.kernels = compiled.explanation.ledger.regions.size();
  progress.update("running");
  TK_TRY(out.outputs, runOnDevice(compiled, inputs.arrays, {.dims = &inputs.dims}));
  TK_TRY(const CudaTiming timing, timeOnDevice(compiled, inputs.arrays, inputs.dims, 0.2));
  out.runMs = timing.seconds * 1e3;
  if (timing.copySeconds > 0) out.copyBytesPerSecond = timing.bytes / timing.copySeconds;
  if (options.wantsProfile())
    TK_RETURN_IF_ERROR(runOnDevice(compiled, inputs.arrays, {.profile = &out.profile, .dims = &inputs.dims}));
  return out;
}

Result<Run> runOn(const DeviceChoice& device, const Graph& graph, const Inputs& inputs, const Options& options) {
  switch (device.kind) {
    case DeviceChoice::Kind::interp: return runInterpreter(graph, inputs);
    case DeviceChoice::Kind::cpu: return runCpu(graph, inputs, options);
    default: return runCuda(graph, inputs, device.ordinal, options);
  }
}

Result<std::vector<OutputSummary>> summariseAll(const Graph& graph, const Run& result, const Options& options) {
  if (!options.outputFolder.empty()) TK_RETURN_IF_ERROR(makeFolder(options.outputFolder));
  std::vector<OutputSummary> out;
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    out.push_back(summarise(graph.label(graph.outputs()[i]), result.outputs[i]));
    if (options.outputFolder.empty()) continue;
    out.back().file = fmt::format("{}/out{}.npy", options.outputFolder, i);
    TK_RETURN_IF_ERROR(runtime::writeNpy(out.back().file, result.outputs[i]));
  }
  return out;
}

Result<std::vector<Comparison>> checkAll(const Graph& graph, const Inputs& inputs, const Run& result) {
  TK_TRY(const Run reference, runInterpreter(graph, inputs));
  const Progress progress("evaluating with rounding errors");
  TK_TRY(const std::vector<Array> away, evaluatePerturbed(graph, inputs.arrays, 0, inputs.dims));
  TK_TRY(const std::vector<Array> toward, evaluatePerturbed(graph, inputs.arrays, 1, inputs.dims));
  std::vector<Comparison> out;
  out.reserve(result.outputs.size());
  for (size_t i = 0; i < result.outputs.size(); ++i)
    out.push_back(compare(result.outputs[i], reference.outputs[i], {&away[i], &toward[i]}));
  return out;
}

void printText(const Graph& graph, const Options& options, const Inputs& inputs, const Run& result,
               const std::vector<OutputSummary>& outputs, const std::vector<Comparison>& comparisons) {
  std::string text = fmt::format("@{} on {}{}: ", graph.name, options.device, dimsText(inputs.dims));
  if (result.kernels)
    text += fmt::format("{} kernel{} compiled in {:.1f} ms, ", result.kernels, result.kernels == 1 ? "" : "s",
                        result.compileMs);
  text += fmt::format("one run {:.3f} ms\n", result.runMs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    text += fmt::format("  {}\n", outputs[i].str());
    if (i < comparisons.size())
      text += fmt::format("    {} the reference: worst relative difference {:.2g}, allowed {:.2g}\n",
                          comparisons[i].close ? "agrees with" : "DIFFERS FROM", comparisons[i].worst,
                          comparisons[i].tolerance);
  }
  say(text);
}

void printJson(const Graph& graph, const Options& options, const Inputs& inputs, const Run& result,
               const std::vector<OutputSummary>& outputs, const std::vector<Comparison>& comparisons) {
  nlohmann::ordered_json out = {{"graph", graph.name}, {"device", options.device}, {"dims", inputs.dims}};
  if (result.kernels) out["kernels"] = result.kernels, out["compile_ms"] = result.compileMs;
  out["run_ms"] = result.runMs;
  out["outputs"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    out["outputs"].push_back(outputs[i].json());
    if (i < comparisons.size())
      out["outputs"].back()["check"] = {
          {"close", comparisons[i].close}, {"worst", comparisons[i].worst}, {"tolerance", comparisons[i].tolerance}};
  }
  say(out.dump(2) + "\n");
}

Result<Outcome> run(const Options& options) {
  TK_TRY(const DeviceChoice device, parseDevice(options.device));
  TK_TRY(const Graph graph, loadGraph(options.file));
  TK_RETURN_IF_ERROR(checkDriver(device));
  TK_TRY(const Inputs inputs, makeInputs(graph, options.inputs));
  TK_TRY(const Run result, runOn(device, graph, inputs, options));
  TK_TRY(const auto outputs, summariseAll(graph, result, options));
  std::vector<Comparison> comparisons;
  if (options.check) { TK_TRY(comparisons, checkAll(graph, inputs, result)); }
  if (options.json)
    printJson(graph, options, inputs, result, outputs, comparisons);
  else
    printText(graph, options, inputs, result, outputs, comparisons);
  if (options.profile) say(runtime::profileTable(result.profile, result.copyBytesPerSecond));
  if (!options.trace.empty())
    TK_RETURN_IF_ERROR(writeFile(options.trace, runtime::chromeTrace(result.profile, graph.name)));
  const bool close = std::all_of(comparisons.begin(), comparisons.end(), [](const Comparison& c) { return c.close; });
  return close ? Outcome::done : Outcome::differs;
}

/// The sizes that a saved program was compiled for stand in its first line: `// sizes: M=128,N=64`.
std::string savedSizes(const std::string& file) {
  constexpr std::string_view mark = "// sizes: ";
  std::ifstream in(file);
  std::string line;
  return std::getline(in, line) && line.starts_with(mark) ? line.substr(mark.size()) : "";
}

Result<Outcome> reproduce(Options options) {
  if (options.inputs.dims.empty())
    if (const std::string sizes = savedSizes(options.file); !sizes.empty()) options.inputs.dims = {sizes};
  options.check = true;
  options.compile.noCache = true;
  return run(options);
}

}  // namespace

Command addRepro(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  options->inputs.seed = 0;
  CLI::App* app =
      parent.add_subcommand("repro", "Compile a saved program again, run it and compare with the reference");
  app->footer(
      "torch.compile saves a region that failed to compile and names the file. Examples:\n"
      "  tokamak repro ~/.cache/tokamak/repro/0123456789ab.tk\n"
      "  tokamak repro ~/.cache/tokamak/repro/0123456789ab.tk --device cuda     a region that was for a GPU");
  app->add_option("file", options->file, "Graph file")->type_name("FILE.tk")->required();
  app->add_option("--device", options->device, "cpu, cuda, cuda:1 ...")->type_name("DEVICE")->capture_default_str();
  options->inputs.addTo(*app);
  app->add_flag("--json", options->json, "Print JSON");
  options->compile.addTo(*app);
  return {app, [options] { return reproduce(*options); }};
}

Command addRun(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("run", "Run a graph and show what comes out");
  app->footer(kFooter);
  app->add_option("file", options->file, "Graph file; - is standard input")->type_name("FILE.tk")->required();
  app->add_option("--device", options->device,
                  "cpu, cuda, cuda:1 ...: compiled kernels; interp: the reference evaluator")
      ->type_name("DEVICE")
      ->capture_default_str();
  options->inputs.addTo(*app);
  app->add_option("--output", options->outputFolder, "Write each output to DIR/outN.npy")->type_name("DIR");
  app->add_flag("--check", options->check, "Compare with the reference evaluator; exit code 1 if they differ");
  app->add_flag("--json", options->json, "Print JSON");
  app->add_flag("--profile", options->profile, "Show what each kernel took, and its bytes a second");
  app->add_option("--trace", options->trace, "Write the same for chrome://tracing and Perfetto")->type_name("OUT.json");
  options->compile.addTo(*app);
  return {app, [options] { return run(*options); }};
}

}  // namespace tokamak::tool
