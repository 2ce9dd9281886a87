#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "console.h"
#include "sim/simulate.h"
#include "sparse/stream/run/run.h"
#include "sparse/stream/sam.h"

namespace tokamak::tool {

namespace {

constexpr const char* kFooter = R"(Examples:
  tokamak sim spmm/graph.bin                    a SAM exchange file, with its tensors beside it
  tokamak sim spmm.stream --data spmm --json    a stream graph; one JSON object
  tokamak sim graph.bin --profile hw --config rda    a machine with bounds: a preset, or a file
  tokamak sim --print-config > machine.json     the small preset, to change and give as --config machine.json
The folder of the data may hold expected_vals.txt: then the values are compared with it, else with the functional runner.)";

struct Options {
  std::string file, data, profile = "comal", config;
  bool json = false, printConfig = false;
};

struct Loaded {
  stream::Graph graph;
  stream::Storages data;
  std::filesystem::path folder;
};

Result<Loaded> load(const Options& options) {
  Loaded loaded;
  TK_TRY(const std::string bytes, readFile(options.file));
  if (bytes.starts_with("stream") || bytes.starts_with("//")) {
    TK_TRY(loaded.graph, stream::parse(bytes, options.file));
  } else {
    TK_TRY(loaded.graph, stream::readSam(bytes, options.file));
  }
  loaded.folder =
      options.data.empty() ? std::filesystem::path(options.file).parent_path() : std::filesystem::path(options.data);
  if (loaded.folder.empty()) loaded.folder = ".";
  TK_TRY(loaded.data, stream::readSamData(loaded.graph, loaded.folder));
  return loaded;
}

bool close(double got, double wanted, double tolerance) {
  if (std::isnan(got) || std::isnan(wanted)) return std::isnan(got) && std::isnan(wanted);
  return got == wanted || std::fabs(got - wanted) <= tolerance * std::max(1.0, std::fabs(wanted));
}

struct Check {
  std::string against;
  bool agrees = true;
};

/// The values of the one output that is given as a file, or of all as the functional runner has them.
Result<Check> checkValues(const Loaded& loaded, const stream::Storages& outputs) {
  const auto path = loaded.folder / "expected_vals.txt";
  if (std::ifstream file(path); file && outputs.size() == 1) {
    std::vector<double> expected;
    for (double value = 0; file >> value;) expected.push_back(value);
    const std::vector<double>& values = outputs.begin()->second.values;
    Check check{path.string(), values.size() == expected.size()};
    for (size_t i = 0; i < values.size() && check.agrees; ++i) check.agrees = close(values[i], expected[i], 1e-4);
    return check;
  }
  TK_TRY(const stream::RunResult result, stream::run(loaded.graph, viewsOf(loaded.data)));
  Check check{"functional runner", true};
  for (const auto& [name, output] : outputs) {
    const stream::TensorStorage& expected = result.outputs.at(name);
    check.agrees = check.agrees && output.levels == expected.levels && output.values.size() == expected.values.size();
    for (size_t i = 0; i < output.values.size() && check.agrees; ++i)
      check.agrees = close(output.values[i], expected.values[i], 1e-12);
  }
  return check;
}

uint64_t peakMemory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

nlohmann::json asJson(const Options& options, const Loaded& loaded, const sim::Report& report, const Check& check) {
  return {{"graph", loaded.graph.name},      {"profile", options.profile},  {"cycles", report.cycles},
          {"tokens", report.tokens},         {"seconds", report.seconds},   {"values_checked", check.agrees},
          {"values_against", check.against}, {"peak_memory", peakMemory()}, {"buffer_bytes", report.bufferBytes}};
}

std::string asTable(const Loaded& loaded, const sim::Report& report, const Check& check) {
  std::string out =
      fmt::format("@{}: {} cycles, {} tokens in {:.3f} s ({:.1f} million a second)\n", loaded.graph.name, report.cycles,
                  report.tokens, report.seconds, static_cast<double>(report.tokens) / report.seconds / 1e6);
  out += fmt::format("values {} {}\n\n", check.agrees ? "agree with" : "DIFFER from", check.against);
  out += fmt::format("{:>5}  {:<28} {:>12} {:>8}\n", "node", "block", "last cycle", "busy");
  for (const sim::NodeReport& node : report.nodes)
    out +=
        fmt::format("{:>5}  {:<28} {:>12} {:>7.1f}%\n", node.node.index,
                    stream::describe(loaded.graph.node(node.node).block), node.cycles,
                    100.0 * static_cast<double>(node.busy) / static_cast<double>(std::max<uint64_t>(report.cycles, 1)));
  return out;
}

/// The machine of hw: a preset by its name, or a file.
Result<sim::HwConfig> chooseMachine(const std::string& config) {
  if (config.empty() || !std::filesystem::exists(config)) {
    const bool looksLikeFile = config.find_first_of("./") != std::string::npos;
    if (!looksLikeFile) return sim::hwPreset(config.empty() ? "small-cgra" : config);
  }
  TK_TRY(const std::string text, readFile(config));
  return sim::parseHwConfig(text, config);
}

Result<Outcome> run(const Options& options) {
  const auto profile = fromName<sim::Profile>(options.profile);
  if (!profile)
    return Diagnostic{
        "T0801", {}, fmt::format("there is no profile {}", options.profile), "use comal, comal-hbm or hw"};
  if (!options.config.empty() && *profile != sim::Profile::hw && !options.printConfig)
    return Diagnostic{"T0801", {}, "--config is of the hw profile", "add --profile hw"};
  TK_TRY(const sim::HwConfig machine, chooseMachine(options.config));
  if (options.printConfig) {
    say(sim::printHwConfig(machine));
    return Outcome::done;
  }
  if (options.file.empty()) return Diagnostic{"T0801", {}, "no file to simulate", "tokamak sim FILE"};
  TK_TRY(const Loaded loaded, load(options));
  Progress progress("simulating");
  sim::Options simOptions{
      *profile, machine, [&](const sim::Progress& p) {
        progress.update(fmt::format("simulating: {} M tokens, cycle {}", p.tokens / 1000000, p.cycles));
        return true;
      }};
  TK_TRY(const sim::Report report, sim::simulate(loaded.graph, viewsOf(loaded.data), simOptions));
  TK_TRY(const Check check, checkValues(loaded, report.outputs));
  say(options.json ? asJson(options, loaded, report, check).dump() + "\n" : asTable(loaded, report, check));
  return check.agrees ? Outcome::done : Outcome::differs;
}

}  // namespace

Command addSim(CLI::App& parent) {
  auto options = std::make_shared<Options>();
  CLI::App* app = parent.add_subcommand("sim", "Simulate a stream graph cycle by cycle");
  app->footer(kFooter);
  app->add_option("file", options->file, "Stream graph or SAM exchange file")->type_name("FILE");
  app->add_option("--data", options->data, "Folder of the tensors; where FILE is unless told")->type_name("DIR");
  app->add_option("--profile", options->profile, "Timing: comal (no memory model), comal-hbm, or hw (a machine)")
      ->type_name("NAME");
  app->add_option("--config", options->config, "Machine of hw: small-cgra, rda, or a JSON file")
      ->type_name("NAME|FILE");
  app->add_flag("--print-config", options->printConfig, "Print that machine as a file, and end");
  app->add_flag("--json", options->json, "One JSON object instead of a table");
  return {app, [options] { return run(*options); }};
}

}  // namespace tokamak::tool
