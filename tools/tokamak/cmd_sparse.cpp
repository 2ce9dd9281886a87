#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "console.h"
#include "sparse/io/io.h"
#include "sparse/lower/execute.h"
#include "sparse_arguments.h"

namespace tokamak::tool {

namespace {

using namespace tokamak::sparse;
using Clock = std::chrono::steady_clock;

constexpr const char* kFooter = R"(Examples:
  tokamak sparse run examples/sparse/gcn.ein --random 0 --dims N=200,F=50     fused as the file says, checked
  tokamak sparse run gcn.ein --data cora --schedule unfused --json
  tokamak sparse explain gcn.ein --schedule full --random 0 --dims N=200,F=50
  tokamak sparse compile gcn.ein --schedule full --dims N=200,F=50 --emit stream -o gcn.stream)";

/// Above this many steps the dense evaluation is left out unless asked for.
constexpr double kAffordable = 3e8;

struct Options {
  SparseArguments program;
  std::string emit = "table", output, outputFolder;
  bool json = false, check = false, noCheck = false;
};

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Timed {
  Compiled compiled;
  double ms = 0;
};

Result<Timed> compileTimed(const SparseProgram& program) {
  const auto start = Clock::now();
  TK_TRY(Compiled compiled, compile(program.program, program.schedule, program.hasData ? &program.inputs : nullptr));
  return Timed{std::move(compiled), millisecondsSince(start)};
}

std::string emitted(const Compiled& compiled, const std::string& kind) {
  std::string out;
  for (const CompiledRegion& region : compiled.regions) {
    if (!out.empty()) out += "\n";
    out += kind == "stream" ? print(region.graph) : print(region.table);
  }
  return out;
}

Result<Outcome> runCompile(const Options& options) {
  TK_TRY(const SparseProgram program, loadSparse(options.program));
  TK_TRY(const Timed timed, compileTimed(program));
  const std::string text = emitted(timed.compiled, options.emit);
  if (options.output.empty())
    say(text);
  else
    TK_RETURN_IF_ERROR(writeFile(options.output, text));
  return Outcome::done;
}

Result<Outcome> runRun(const Options& options) {
  TK_TRY(const SparseProgram program, loadSparse(options.program));
  if (!program.hasData)
    return Diagnostic{"T0932",
                      {options.program.file, 0, 0},
                      "the program has no data",
                      "give --data DIR, or --random SEED with --dims"};
  TK_TRY(const Timed timed, compileTimed(program));
  const auto start = Clock::now();
  TK_TRY(const Execution execution, execute(timed.compiled, program.inputs));
  const double ms = millisecondsSince(start);
  std::vector<Comparison> checks;
  const bool affordable = evaluationSteps(timed.compiled.program) <= kAffordable;
  if (options.check || (affordable && !options.noCheck)) {
    const Progress progress("evaluating the dense program");
    checks = compareWithDense(program.program, timed.compiled, program.inputs, execution.results);
  }
  const bool close = std::all_of(checks.begin(), checks.end(), [](const Comparison& c) { return c.close; });
  nlohmann::ordered_json json = {{"schedule", program.schedule.name},
                                 {"regions", timed.compiled.regions.size()},
                                 {"compile_ms", timed.ms},
                                 {"run_ms", ms},
                                 {"tokens", execution.tokens},
                                 {"values_checked", !checks.empty()},
                                 {"outputs", nlohmann::ordered_json::array()}};
  std::string text = fmt::format("{}: {} region{} compiled in {:.1f} ms, {} tokens in {:.1f} ms\n",
                                 program.schedule.name, timed.compiled.regions.size(),
                                 timed.compiled.regions.size() == 1 ? "" : "s", timed.ms, execution.tokens, ms);
  if (!options.outputFolder.empty()) TK_RETURN_IF_ERROR(makeFolder(options.outputFolder));
  for (const auto& [name, tensor] : execution.results) {
    const TensorDecl& decl = timed.compiled.program.tensor(timed.compiled.program.findTensor(name));
    const auto check =
        std::find_if(checks.begin(), checks.end(), [&](const Comparison& c) { return c.tensor == name; });
    if (check != checks.end() && !check->close)
      text += fmt::format("  {} DIFFERS from the dense program: {:.2g}\n", name, check->worst);
    if (decl.role != Role::output) continue;
    text += fmt::format("  {}[{}] {}: {} values stored\n", name, fmt::join(tensor.shape, ", "), tensor.format.str(),
                        tensor.stored());
    json["outputs"].push_back(
        {{"name", name}, {"shape", tensor.shape}, {"format", tensor.format.str()}, {"stored", tensor.stored()}});
    if (check != checks.end()) json["outputs"].back()["worst"] = check->worst;
    if (!options.outputFolder.empty()) {
      Tensor rounded = tensor;
      rounded.dtype = decl.dtype;
      TK_RETURN_IF_ERROR(writeTensor(fmt::format("{}/{}.npy", options.outputFolder, name), rounded));
    }
  }
  if (checks.empty())
    text += "  values not checked: the dense program takes too long; --check does it all the same\n";
  else if (close)
    text += "  values agree with the dense program\n";
  json["agrees"] = checks.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(close);
  say(options.json ? json.dump(2) + "\n" : text);
  return close ? Outcome::done : Outcome::differs;
}

Result<Outcome> runExplain(const Options& options) {
  TK_TRY(const SparseProgram program, loadSparse(options.program));
  TK_TRY(const Timed timed, compileTimed(program));
  std::string text;
  for (const CompiledRegion& region : timed.compiled.regions) {
    text += fmt::format("== region {}\n{}", region.table.name, print(region.region.program));
    for (const std::string& note : region.notes) text += fmt::format("note: {}\n", note);
    text += print(region.table) + "\n";
  }
  say(text);
  return Outcome::done;
}

}  // namespace

Command addSparse(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("sparse", "Sparse programs: fuse, run on data, explain");
  app->footer(kFooter);
  app->require_subcommand(1);
  auto options = std::make_shared<Options>();
  CLI::App* compileApp = app->add_subcommand("compile", "Compile a program and write a stage of it");
  options->program.addTo(*compileApp);
  compileApp->add_option("--emit", options->emit, "What to write")
      ->check(CLI::IsMember({"table", "stream"}))
      ->capture_default_str();
  compileApp->add_option("-o", options->output, "Where to; standard output without it")->type_name("OUT");
  CLI::App* runApp = app->add_subcommand("run", "Run a program on data and compare with its dense form");
  options->program.addTo(*runApp);
  runApp->add_option("--output", options->outputFolder, "Write each output to DIR/NAME.npy")->type_name("DIR");
  runApp->add_flag("--check", options->check, "Compare with the dense program however long it takes");
  runApp->add_flag("--no-check", options->noCheck, "Do not compare");
  runApp->add_flag("--json", options->json, "Print JSON");
  CLI::App* explainApp = app->add_subcommand("explain", "Show the fused program and its tables");
  options->program.addTo(*explainApp);
  return {app, [=]() -> Result<Outcome> {
            if (compileApp->parsed()) return runCompile(*options);
            return runApp->parsed() ? runRun(*options) : runExplain(*options);
          }};
}

}  // namespace tokamak::tool
