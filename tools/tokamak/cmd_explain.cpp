#include <fmt/format.h>

#include <memory>

#include "command.h"
#include "compile_arguments.h"
#include "console.h"
#include "graph_arguments.h"

namespace tokamak::tool {

namespace {

constexpr const char* kFooter = R"(Examples:
  tokamak explain block.tk --dims S=512                   the ledger as a table: every edge, fused or not, and why
  tokamak explain block.tk --dims S=512 --html plan.html  one page with the graph drawn
  tokamak explain block.tk --brief --measure              kernels only, with measured times beside the predicted
  tokamak explain block.tk --kernels                      with the text of every kernel
  tokamak explain block.tk --json | jq .summary)";

struct Options {
  std::string file, html, svg;
  std::vector<std::string> dims;
  CompileArguments compile;
  bool json = false, kernels = false, brief = false, measure = false;
};

/// Runs on random inputs and notes how long each kernel took: the least of several runs.
Result<> measure(const Graph& graph, const Engine& engine, const Options& options, Explanation& explanation) {
  const Progress progress("measuring");
  InputOptions inputOptions;
  inputOptions.seed = 0;
  for (const auto& [name, value] : explanation.dims) inputOptions.dims.push_back(fmt::format("{}={}", name, value));
  TK_TRY(const Inputs inputs, makeInputs(graph, inputOptions));
  TK_TRY(const Compiled compiled, compile(graph, engine, options.compile.compile(explanation.dims)));
  const auto refs = refsOf(inputs.arrays);
  std::map<std::string, double> least;
  for (int round = 0; round < 7; ++round) {
    runtime::Profile profile;
    TK_RETURN_IF_ERROR(compiled.executable->run(refs, {.profile = &profile, .dims = &inputs.dims}));
    for (const auto& entry : profile.entries) {
      const auto [it, fresh] = least.emplace(entry.name, static_cast<double>(entry.nanoseconds) / 1e3);
      if (!fresh) it->second = std::min(it->second, static_cast<double>(entry.nanoseconds) / 1e3);
    }
  }
  for (LedgerRegion& region : explanation.ledger.regions)
    if (auto it = least.find(region.name); it != least.end()) region.measuredMicroseconds = it->second;
  return Unit{};
}

Result<Outcome> run(const Options& options) {
  TK_TRY(const Graph graph, loadGraph(options.file));
  TK_TRY(DimBindings dims, dimsOf(graph, options.dims));
  assumeSizes(graph, dims);
  const Engine engine(options.compile.engine());
  TK_TRY(const Lowered lowered, lower(graph, engine, options.compile.compile(dims)));
  Explanation explanation = explanationOf(graph, lowered, dims);
  if (options.measure) TK_RETURN_IF_ERROR(measure(graph, engine, options, explanation));
  if (!options.html.empty()) TK_RETURN_IF_ERROR(writeFile(options.html, explainHtml(explanation)));
  if (!options.svg.empty()) TK_RETURN_IF_ERROR(writeFile(options.svg, explainSvg(explanation)));
  if (!options.kernels) explanation.kernels.clear();
  if (options.json)
    say(explainJson(explanation));
  else
    say(options.brief ? explainSummary(explanation) : explainTable(explanation));
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
