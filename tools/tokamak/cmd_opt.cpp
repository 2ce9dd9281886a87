#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "command.h"
#include "console.h"
#include "graph_arguments.h"
#include "passes/pipeline.h"

namespace tokamak::tool {

namespace {

constexpr const char* kFooter = R"(Examples:
  tokamak opt block.tk                          the default pipeline; IR after every pass that changed it
  tokamak opt block.tk --quiet > planned.tk     only the final graph, which parses back
  tokamak opt block.tk --passes decompose,cse   these passes, in this order
  tokamak opt --list                            what passes there are)";

struct Options {
  std::string file;
  std::vector<std::string> passes;
  bool list = false, quiet = false;
};

std::string listing() {
  std::string out;
  for (std::string_view name : passNames()) out += fmt::format("{}\n", name);
  return out;
}

void showStage(std::string_view what, const Graph& graph) { say(fmt::format("// {}\n{}\n", what, print(graph))); }

/// Runs the pipeline or the named passes; tells `show` of every one that changed the graph.
Result<> transform(Graph& graph, const Options& options, const PassObserver& show) {
  if (options.passes.empty()) return runPipeline(graph, {}, show);
  for (const std::string& name : options.passes) {
    TK_RETURN_IF_ERROR(runPass(name, graph));
    show(name, graph);
  }
  return Unit{};
}

Result<Outcome> run(const Options& options) {
  if (options.list) {
    say(listing());
    return Outcome::done;
  }
  if (options.file.empty())
    return Diagnostic{"T0801", {}, "opt wants a graph file", "write tokamak opt FILE.tk, or tokamak opt --list"};
  TK_TRY(Graph graph, loadGraph(options.file));
  const std::vector<std::string_view> known = passNames();
  for (const std::string& name : options.passes)  // before anything is printed
    if (std::find(known.begin(), known.end(), name) == known.end()) return runPass(name, graph).error();
  std::string last = print(graph);
  if (!options.quiet) showStage("as written", graph);
  TK_RETURN_IF_ERROR(transform(graph, options, [&](std::string_view name, const Graph& now) {
    if (options.quiet) return;
    std::string text = print(now);
    if (text == last) return say(fmt::format("// after {}: no change\n", name));
    say(fmt::format("\n// after {}\n{}\n", name, text));
    last = std::move(text);
  }));
  if (options.quiet) say(print(graph));
  return Outcome::done;
}

}  // namespace

Command addOpt(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("opt", "Run passes over a graph and print the IR between them");
  app->footer(kFooter);
  app->add_option("file", options->file, "Graph file; - is standard input")->type_name("FILE.tk");
  app->add_option("--passes", options->passes, "Passes to run instead of the default pipeline")
      ->delimiter(',')
      ->type_name("A,B,...")
      ->allow_extra_args(false);  // the file may follow
  app->add_flag("--list", options->list, "List the passes");
  app->add_flag("--quiet", options->quiet, "Print the final graph only");
  return {app, [options] { return run(*options); }};
}

}  // namespace tokamak::tool
