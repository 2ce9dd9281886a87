#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "command.h"
#include "console.h"
#include "graph/interp/evaluate.h"
#include "graph_arguments.h"
#include "output_summary.h"
#include "runtime/npy.h"

namespace tokamak::tool {

namespace {

constexpr const char* kFooter = R"(Examples:
  tokamak run gelu.tk --random 0 --dims N=1000000        random input of that size
  tokamak run mlp.tk --input x=x.npy --random 0          %x from a file, the weights random
  tokamak run mlp.tk --random 0 --output results         writes results/out0.npy, ...)";

struct Options {
  std::string file, device = "interp", outputFolder;
  InputOptions inputs;
  bool json = false;
};

struct Run {
  std::vector<Array> outputs;
  double runMs = 0;
};

double millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Result<Run> runInterpreter(const Graph& graph, const Inputs& inputs) {
  const Progress progress("evaluating with the reference evaluator");
  Run out;
  const auto start = std::chrono::steady_clock::now();
  TK_TRY(out.outputs, evaluate(graph, inputs.arrays));
  out.runMs = millisecondsSince(start);
  return out;
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

void printText(const Graph& graph, const Options& options, const Inputs& inputs, const Run& result,
               const std::vector<OutputSummary>& outputs) {
  std::string head = fmt::format("@{} on {}", graph.name, options.device);
  for (const auto& [name, value] : inputs.dims) head += fmt::format(" {}={}", name, value);
  say(fmt::format("{}: {:.3f} ms\n", head, result.runMs));
  for (const OutputSummary& output : outputs) say(fmt::format("  {}\n", output.str()));
}

void printJson(const Graph& graph, const Options& options, const Inputs& inputs, const Run& result,
               const std::vector<OutputSummary>& outputs) {
  nlohmann::ordered_json out = {{"graph", graph.name}, {"device", options.device}, {"dims", inputs.dims}};
  out["run_ms"] = result.runMs;
  out["outputs"] = nlohmann::ordered_json::array();
  for (const OutputSummary& output : outputs) out["outputs"].push_back(output.json());
  say(out.dump(2) + "\n");
}

Result<Outcome> run(const Options& options) {
  TK_TRY(const Graph graph, loadGraph(options.file));
  TK_TRY(const Inputs inputs, makeInputs(graph, options.inputs));
  TK_TRY(const Run result, runInterpreter(graph, inputs));
  TK_TRY(const auto outputs, summariseAll(graph, result, options));
  if (options.json)
    printJson(graph, options, inputs, result, outputs);
  else
    printText(graph, options, inputs, result, outputs);
  return Outcome::done;
}

}  // namespace

Command addRun(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("run", "Run a graph and show what comes out");
  app->footer(kFooter);
  app->add_option("file", options->file, "Graph file; - is standard input")->type_name("FILE.tk")->required();
  app->add_option("--device", options->device, "interp: the reference evaluator")
      ->check(CLI::IsMember({"interp"}))
      ->capture_default_str();
  options->inputs.addTo(*app);
  app->add_option("--output", options->outputFolder, "Write each output to DIR/outN.npy")->type_name("DIR");
  app->add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return run(*options); }};
}

}  // namespace tokamak::tool
