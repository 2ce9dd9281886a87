#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "command.h"
#include "console.h"
#include "search/check.h"
#include "sparse/io/io.h"
#include "sparse/lower/execute.h"
#include "sparse/lower/explain.h"
#include "sparse/stream/picture.h"
#include "sparse/stream/sam.h"
#include "sparse_arguments.h"

namespace tokamak::tool {

namespace {

using namespace tokamak::sparse;
using Clock = std::chrono::steady_clock;

constexpr const char* kFooter = R"(Examples:
  tokamak sparse run examples/sparse/gcn.ein --random 0 --dims N=200,F=50     fused as the file says, checked
  tokamak sparse run gcn.ein --data cora --schedule auto --json
  tokamak sparse explain gcn.ein --schedule full --dims N=200,F=50
  tokamak sparse compile gcn.ein --schedule full --dims N=200,F=50 --emit stream -o gcn.stream
  tokamak sparse compile gcn.ein --schedule layers --data cora --emit sam -o cora-sam    a folder for each region
  tokamak sparse run model.mlir --random 0 --dims arg0_0=200      linalg and sparse_tensor, as Torch-MLIR prints them
  tokamak sparse compile model.mlir --emit ein                     the same in the notation)";

/// Above this many steps the dense evaluation is left out unless asked for.
constexpr double kAffordable = 3e8;

struct Options {
  SparseArguments program;
  std::string emit = "table", output, outputFolder, profile = "comal", database;
  double mostTokens = 1e300;
  bool json = false, check = false, noCheck = false, brief = false;
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

std::string textOf(const CompiledRegion& region, const std::string& kind) {
  if (kind == "stream") return print(region.graph);
  return kind == "svg" ? stream::drawSvg(region.graph) : print(region.table);
}

/// Each region as a SAM graph in a folder, with what it reads where data are there.
Result<> emitSam(const SparseProgram& program, const Compiled& compiled, const std::string& folder) {
  Bindings known = program.inputs;
  if (program.hasData) {
    TK_TRY(const Execution execution, execute(compiled, program.inputs));
    for (const auto& [name, tensor] : execution.results) known[name] = tensor;
  }
  for (const CompiledRegion& region : compiled.regions) {
    const std::string own = fmt::format("{}/{}", folder, region.table.name);
    TK_RETURN_IF_ERROR(makeFolder(own));
    TK_TRY(const std::string bytes, stream::writeSam(region.graph));
    TK_RETURN_IF_ERROR(writeFile(own + "/graph.bin", bytes));
    if (!program.hasData) continue;
    for (const auto& [name, tensor] : tableInputs(region.table, known))
      TK_RETURN_IF_ERROR(writeSamTensor(own, name, tensor));
    sayWritten(fmt::format("{}: the tensors that it reads", own));
  }
  return Unit{};
}

Result<Outcome> emitText(const Options& options, const std::string& text) {
  if (options.output.empty())
    say(text);
  else
    TK_RETURN_IF_ERROR(writeFile(options.output, text));
  return Outcome::done;
}

Result<Outcome> runCompile(const Options& options) {
  TK_TRY(SparseProgram program, loadSparse(options.program));
  program.schedule.exchange = options.emit == "sam";
  if (options.emit == "ein") return emitText(options, print(program.source));
  TK_TRY(const Timed timed, compileTimed(program));
  const std::vector<CompiledRegion>& regions = timed.compiled.regions;
  if (options.emit == "sam") {
    if (options.output.empty()) return Diagnostic{"T0801", {}, "a SAM graph is not text", "give a folder with -o"};
    TK_RETURN_IF_ERROR(emitSam(program, timed.compiled, options.output));
    return Outcome::done;
  }
  if (options.emit == "svg" && regions.size() > 1 && !options.output.empty()) {  // a picture each
    TK_RETURN_IF_ERROR(makeFolder(options.output));
    for (const CompiledRegion& region : regions)
      TK_RETURN_IF_ERROR(writeFile(fmt::format("{}/{}.svg", options.output, region.table.name), textOf(region, "svg")));
    return Outcome::done;
  }
  std::string text;
  for (const CompiledRegion& region : regions) text += (text.empty() ? "" : "\n") + textOf(region, options.emit);
  if (options.emit == "schedule") text = print(scheduleOf(timed.compiled, program.schedule.name));
  return emitText(options, text);
}

/// One result as a line of text and as JSON; written to the folder where one is given.
Result<> report(const Options& options, const TensorDecl& decl, const Tensor& tensor, const Comparison* check,
                std::string& text, nlohmann::ordered_json& json) {
  if (check && !check->close)
    text += fmt::format("  {} DIFFERS from the dense program: {:.2g}\n", decl.name, check->worst);
  if (decl.role != Role::output) return Unit{};
  text += fmt::format("  {}[{}] {}: {} values stored\n", decl.name, fmt::join(tensor.shape, ", "), tensor.format.str(),
                      tensor.stored());
  json["outputs"].push_back(
      {{"name", decl.name}, {"shape", tensor.shape}, {"format", tensor.format.str()}, {"stored", tensor.stored()}});
  if (check) json["outputs"].back()["worst"] = check->worst;
  if (options.outputFolder.empty()) return Unit{};
  Tensor rounded = tensor;
  rounded.dtype = decl.dtype;
  const std::string path = fmt::format("{}/{}.npy", options.outputFolder, decl.name);
  TK_RETURN_IF_ERROR(writeTensor(path, rounded));
  sayWritten(path);
  return Unit{};
}

Result<Outcome> runRun(const Options& options) {
  std::optional<Progress> progress(std::in_place, "making the inputs");
  TK_TRY(const SparseProgram program, loadSparseWithData(options.program));
  progress->update("compiling");
  TK_TRY(const Timed timed, compileTimed(program));
  progress->update("running");
  const auto start = Clock::now();
  TK_TRY(const Execution execution, execute(timed.compiled, program.inputs));
  const double ms = millisecondsSince(start);
  std::vector<Comparison> checks;
  const bool affordable = evaluationSteps(program.program) <= kAffordable;
  if (options.check || (affordable && !options.noCheck)) {
    progress->update("evaluating the dense program");
    checks = compareWithDense(program.program, timed.compiled, program.inputs, execution.results);
  }
  progress.reset();
  const bool close = std::all_of(checks.begin(), checks.end(), [](const Comparison& c) { return c.close; });
  const size_t regions = timed.compiled.regions.size();
  nlohmann::ordered_json json = {{"schedule", program.schedule.name},
                                 {"regions", regions},
                                 {"compile_ms", timed.ms},
                                 {"run_ms", ms},
                                 {"tokens", execution.tokens},
                                 {"values_checked", !checks.empty()},
                                 {"agrees", nullptr},
                                 {"outputs", nlohmann::ordered_json::array()}};
  std::string text =
      fmt::format("{}: {} region{} compiled in {:.1f} ms, {} tokens in {:.1f} ms\n", program.schedule.name, regions,
                  regions == 1 ? "" : "s", timed.ms, execution.tokens, ms);
  for (const std::string& note : program.notes) text += "  " + note + "\n";
  for (const AlgebraStep& step : timed.compiled.algebra) text += "  " + step.str() + "\n";
  if (!options.outputFolder.empty()) TK_RETURN_IF_ERROR(makeFolder(options.outputFolder));
  for (const auto& [name, tensor] : execution.results) {
    const auto check =
        std::find_if(checks.begin(), checks.end(), [&](const Comparison& c) { return c.tensor == name; });
    TK_RETURN_IF_ERROR(report(options, program.program.tensor(program.program.findTensor(name)), tensor,
                              check == checks.end() ? nullptr : &*check, text, json));
  }
  if (checks.empty())
    text += "  values not checked: the dense program takes too long; --check does it all the same\n";
  else if (close)
    text += "  values agree with the dense program\n";
  if (!checks.empty()) json["agrees"] = close;
  say(options.json ? json.dump(2) + "\n" : text);
  return close ? Outcome::done : Outcome::differs;
}

nlohmann::ordered_json checkJson(const std::vector<search::RegionCheck>& checks, sim::Profile profile) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const search::RegionCheck& check : checks) {
    const Estimate& c = check.counted;
    const double cycles = profile == sim::Profile::comal ? c.cycles : c.cyclesWithMemory;
    out.push_back({{"region", check.region},
                   {"counted",
                    {{"operations", c.operations},
                     {"bytes", c.bytesRead + c.bytesWritten},
                     {"cycles", cycles},
                     {"workspace", c.workspace},
                     {"tokens", c.tokens}}},
                   {"simulated", nullptr}});
    if (!check.simulated) continue;
    const search::Measurement& m = *check.simulated;
    out.back()["simulated"] = {{"operations", m.operations}, {"bytes", m.bytes()}, {"cycles", m.cycles},
                               {"workspace", m.workspace},   {"tokens", m.tokens}, {"seconds", m.seconds}};
  }
  return out;
}

/// The cost model against simulation.
Result<Outcome> runCheck(const Options& options, Bindings inputs, const Compiled& compiled) {
  const auto profile = fromName<sim::Profile>(options.profile);
  if (!profile || *profile == sim::Profile::hw)
    return Diagnostic{
        "T0801", {}, fmt::format("costs are not checked under {}", options.profile), "use comal or comal-hbm"};
  sim::Options simulation;
  simulation.profile = *profile;
  std::unique_ptr<search::Results> results = std::make_unique<search::NoStore>();
  if (!options.database.empty()) { TK_TRY(results, search::Store::open(options.database, options.profile)); }
  TK_TRY(const std::vector<search::RegionCheck> checks,
         search::checkCosts(compiled, std::move(inputs), simulation, options.mostTokens, *results));
  say(options.json ? checkJson(checks, *profile).dump(2) + "\n" : search::checkTable(checks, *profile));
  return Outcome::done;
}

Result<Outcome> runExplain(const Options& options) {
  TK_TRY(SparseProgram program, options.check ? loadSparseWithData(options.program) : loadSparse(options.program));
  TK_TRY(const Timed timed, compileTimed(program));
  if (options.check) return runCheck(options, std::move(program.inputs), timed.compiled);
  if (options.json)
    say(explainJson(timed.compiled).dump(2) + "\n");
  else
    say(explain(program.program, timed.compiled, program.hasData ? &program.inputs : nullptr,
                {.before = !options.brief, .rules = !options.brief}));
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
  compileApp
      ->add_option("--emit", options->emit,
                   "What to write: ein, table, stream, svg, schedule, or sam: a folder for each region")
      ->check(CLI::IsMember({"ein", "table", "stream", "sam", "svg", "schedule"}))
      ->option_text("STAGE=table");
  compileApp
      ->add_option("-o", options->output,
                   "Where to, a folder for sam and for several pictures; standard output without it")
      ->type_name("OUT");
  CLI::App* runApp = app->add_subcommand("run", "Run a program on data and compare with its dense form");
  options->program.addTo(*runApp);
  runApp->add_option("--output", options->outputFolder, "Write each output to DIR/NAME.npy")->type_name("DIR");
  runApp->add_flag("--check", options->check, "Compare with the dense program however long it takes");
  runApp->add_flag("--no-check", options->noCheck, "Do not compare");
  runApp->add_flag("--json", options->json, "Print JSON");
  CLI::App* explainApp = app->add_subcommand("explain", "Show what was decided and why: tables, rules, estimates");
  options->program.addTo(*explainApp);
  explainApp->add_flag("--brief", options->brief, "Only the fused tables and estimates");
  explainApp->add_flag("--json", options->json, "Print JSON, without tables");
  explainApp->add_flag("--check", options->check, "Count the costs on the data and compare them with simulation");
  explainApp->add_option("--limit", options->mostTokens, "With --check: only count regions with more tokens than this")
      ->type_name("TOKENS");
  explainApp->add_option("--database", options->database, "With --check: SQLite file that keeps what was simulated")
      ->type_name("FILE");
  explainApp->add_option("--profile", options->profile, "Timing to compare with: comal or comal-hbm")
      ->type_name("NAME");
  return {app, [=]() -> Result<Outcome> {
            if (compileApp->parsed()) return runCompile(*options);
            return runApp->parsed() ? runRun(*options) : runExplain(*options);
          }};
}

}  // namespace tokamak::tool
