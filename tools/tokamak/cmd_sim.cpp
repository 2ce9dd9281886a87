#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <thread>

#include "command.h"
#include "console.h"
#include "sim/report/page.h"
#include "sim_arguments.h"
#include "sim_target.h"

namespace tokamak::tool {

namespace {

constexpr const char* kFooter = R"(Examples:
  tokamak sim examples/sparse/gcn.ein --random 0 --dims N=200,F=50     a program under its first schedule
  tokamak sim gcn.ein --data cora --schedule auto --profile comal-hbm --json
  tokamak sim spmm/graph.bin                         a SAM exchange file, with its tensors beside it
  tokamak sim spmm.stream --data spmm --json         a stream graph; one JSON object
  tokamak sim graph.bin --profile hw --config rda    a machine with bounds: a preset, or a file
  tokamak sim gcn.ein --data cora --html cora.html --trace cora.json --window 0:20000
  tokamak sim --print-config > machine.json          the small preset, to change and give as --config machine.json
Values are compared with the dense program, with expected_vals.txt beside a graph's tensors, or with the functional
runner; exit code 1 where they differ.)";

struct Options {
  SparseArguments target;
  SimArguments timing;
  std::string html, trace, window;
  bool json = false, printConfig = false, details = false;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
};

/// `a:b`, cycles from a to before b.
Result<stream::Window> parseWindow(const std::string& text) {
  stream::Window window;
  const char *at = text.data(), *end = at + text.size();
  const auto first = std::from_chars(at, end, window.from);
  const bool colon = first.ec == std::errc() && first.ptr < end && *first.ptr == ':';
  const auto second = colon ? std::from_chars(first.ptr + 1, end, window.to) : first;
  if (!colon || second.ec != std::errc() || second.ptr != end || window.from >= window.to)
    return Diagnostic{"T0801", {}, fmt::format("{} is no window", text), "give cycles as FROM:TO, FROM below TO"};
  return window;
}

Result<sim::Options> simOptions(const Options& options, Progress& progress) {
  TK_TRY(sim::Options out, simOptionsOf(options.timing));
  out.threads = options.threads;
  out.watch = options.details || !options.html.empty() || !options.trace.empty();
  if (options.trace.empty() != options.window.empty())
    return Diagnostic{"T0801", {}, "a trace is of a window", "give both: --trace F --window 0:10000"};
  if (!options.trace.empty()) { TK_TRY(out.window, parseWindow(options.window)); }
  out.progress = [&progress](const sim::Progress& p) {
    progress.update(fmt::format("simulating: {} M tokens, cycle {}", p.tokens / 1000000, p.cycles));
    return true;
  };
  return out;
}

/// The trace; one that is empty because the run was over before its window is said to be.
Result<> writeTrace(const Options& options, const sim::Summary& summary) {
  TK_TRY(const stream::Window window, parseWindow(options.window));
  uint64_t last = 0;
  for (const sim::Part& part : summary.parts) last = std::max(last, part.report.cycles);
  if (window.from >= last)
    fmt::print(stderr, "tokamak: the trace is empty: its window begins at cycle {}, the run ends at {}\n", window.from,
               last);
  return writeFile(options.trace, reportTrace(summary));
}

Result<Outcome> run(const Options& options) {
  if (options.printConfig) {
    TK_TRY(const sim::HwConfig machine, chooseMachine(options.timing));
    say(sim::printHwConfig(machine));
    return Outcome::done;
  }
  if (options.target.file.empty()) return Diagnostic{"T0801", {}, "no file to simulate", "tokamak sim FILE"};
  sim::Summary summary;
  {
    Progress progress("simulating");
    TK_TRY(const sim::Options simulation, simOptions(options, progress));
    TK_TRY(summary, simulateFile(options.target, simulation));
  }
  if (!options.html.empty()) TK_RETURN_IF_ERROR(writeFile(options.html, reportHtml(summary)));
  if (!options.trace.empty()) TK_RETURN_IF_ERROR(writeTrace(options, summary));
  say(options.json ? reportJson(summary) + "\n" : reportTable(summary));
  return summary.valuesAgree ? Outcome::done : Outcome::differs;
}

}  // namespace

Command addSim(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("sim", "Simulate a sparse program or a stream graph cycle by cycle");
  app->footer(kFooter);
  options->target.addTo(*app);
  app->get_option("file")
      ->description("Sparse program (.ein, .mlir), stream graph or SAM exchange file")
      ->type_name("FILE")
      ->required(false);
  options->timing.addTo(*app);
  app->add_flag("--print-config", options->printConfig, "Print that machine as a file, and end");
  app->add_flag("--json", options->json, "One JSON object instead of a table");
  app->add_flag("--details", options->details, "Also the peak of every stream and timelines; takes longer");
  app->add_option("--html", options->html, "Write a page: graphs coloured by utilisation, timelines, stalls")
      ->type_name("FILE");
  app->add_option("--trace", options->trace, "Write a window of cycles as a Chrome or Perfetto trace")
      ->type_name("FILE");
  app->add_option("--window", options->window, "Cycles of the trace")->type_name("FROM:TO");
  app->add_option("--threads", options->threads, "Threads for a long run of comal; all cores unless told")
      ->check(CLI::Range(1U, 256U))
      ->option_text("N");
  return {app, [options] { return run(*options); }};
}

}  // namespace tokamak::tool
