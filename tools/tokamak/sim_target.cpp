#include "sim_target.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "console.h"
#include "sparse/lower/execute.h"
#include "sparse/stream/run/run.h"
#include "sparse/stream/sam.h"

namespace tokamak::tool {

namespace {

namespace fs = std::filesystem;

/// Above this many steps the dense evaluation is left out.
constexpr double kAffordable = 3e8;

uint64_t peakMemory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

uint64_t memoryOf(const stream::TensorStorage& tensor) {
  uint64_t out = tensor.values.size() * sizeof(double);
  for (const stream::LevelStorage& level : tensor.levels)
    out += level.pos.size() * sizeof(level.pos[0]) + level.crd.size() * sizeof(level.crd[0]);
  return out;
}
uint64_t memoryOf(const sparse::Tensor& tensor) {
  uint64_t out = tensor.values.size() * sizeof(double);
  for (const sparse::LevelStorage& level : tensor.levels)
    out += level.pos.size() * sizeof(level.pos[0]) + level.crd.size() * sizeof(level.crd[0]);
  return out;
}
template <class Tensors>
uint64_t memoryOfAll(const Tensors& tensors) {
  uint64_t out = 0;
  for (const auto& [name, tensor] : tensors) out += memoryOf(tensor);
  return out;
}

// ---- graphs ----

struct Loaded {
  stream::Graph graph;
  stream::Storages data;
  fs::path folder;
};

Result<Loaded> loadGraphFile(const SparseArguments& arguments) {
  Loaded loaded;
  if (!arguments.files.empty())
    return Diagnostic{"T0807", {}, "a graph's tensors are not inputs of a program", "give their folder with --data"};
  TK_TRY(const std::string bytes, readFile(arguments.file));
  TK_RETURN_IF_ERROR(refuseDense(arguments.file, bytes));
  if (arguments.file.ends_with(".stream") || bytes.starts_with("stream") || bytes.starts_with("//")) {
    TK_TRY(loaded.graph, stream::parse(bytes, arguments.file));
  } else {
    TK_TRY(loaded.graph, stream::readSam(bytes, arguments.file));
  }
  loaded.folder = arguments.data.empty() ? fs::path(arguments.file).parent_path() : fs::path(arguments.data);
  if (loaded.folder.empty()) loaded.folder = ".";
  TK_TRY(loaded.data, stream::readSamData(loaded.graph, loaded.folder));
  return loaded;
}

/// The largest difference, relative to the largest value wanted; infinite where the sizes differ.
double worstOf(const std::vector<double>& got, const std::vector<double>& wanted) {
  if (got.size() != wanted.size()) return INFINITY;
  double largest = 1e-30, worst = 0;
  for (const double v : wanted)
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == wanted[i] || (std::isnan(got[i]) && std::isnan(wanted[i]))) continue;
    const double difference = std::fabs(got[i] - wanted[i]) / largest;
    worst = std::max(worst, std::isnan(difference) ? INFINITY : difference);
  }
  return worst;
}

/// The values of the one output that is given as a file, or of all as the functional runner has them.
Result<> checkGraph(const Loaded& loaded, const stream::Storages& outputs, sim::Summary& summary) {
  const auto path = loaded.folder / "expected_vals.txt";
  if (std::ifstream file(path); file && outputs.size() == 1) {
    std::vector<double> expected;
    for (double value = 0; file >> value;) expected.push_back(value);
    summary.against = path.string();
    summary.worst = worstOf(outputs.begin()->second.values, expected);
    summary.valuesAgree = summary.worst <= 1e-4;  // written with few digits
    return Unit{};
  }
  TK_TRY(const stream::RunResult result, stream::run(loaded.graph, viewsOf(loaded.data)));
  summary.against = "functional runner";
  for (const auto& [name, output] : outputs) {
    const stream::TensorStorage& expected = result.outputs.at(name);
    summary.worst = std::max(summary.worst, worstOf(output.values, expected.values));
    summary.valuesAgree = summary.valuesAgree && output.levels == expected.levels;
  }
  summary.valuesAgree = summary.valuesAgree && summary.worst <= 1e-12;
  return Unit{};
}

Result<sim::Summary> simulateGraph(const SparseArguments& arguments, const sim::Options& options) {
  TK_TRY(Loaded loaded, loadGraphFile(arguments));
  TK_TRY(sim::Report report, sim::simulate(loaded.graph, viewsOf(loaded.data), options));
  sim::Summary summary{.name = loaded.graph.name, .profile = std::string(nameOf(options.profile))};
  summary.peakMemory = peakMemory();
  summary.tensorMemory = memoryOfAll(loaded.data) + memoryOfAll(report.outputs);
  TK_RETURN_IF_ERROR(checkGraph(loaded, report.outputs, summary));
  summary.parts.push_back({std::move(loaded.graph), std::move(report)});
  return summary;
}

// ---- programs ----

/// Against the dense program where that is quick enough, else against the functional runner.
Result<> checkProgram(const SparseProgram& program, const sparse::Compiled& compiled, const sparse::Bindings& results,
                      sim::Summary& summary) {
  if (sparse::evaluationSteps(program.program) <= kAffordable) {
    const Progress progress("evaluating the dense program");
    summary.against = "dense program";
    for (const sparse::Comparison& c : compareWithDense(program.program, compiled, program.inputs, results)) {
      summary.worst = std::max(summary.worst, c.worst);
      summary.valuesAgree = summary.valuesAgree && c.close;
    }
    return Unit{};
  }
  const Progress progress("running without time");
  summary.against = "functional runner";
  TK_TRY(const sparse::Execution execution, execute(compiled, program.inputs));
  for (const auto& [name, tensor] : results)
    summary.worst = std::max(summary.worst, worstOf(tensor.values, execution.results.at(name).values));
  summary.valuesAgree = summary.worst <= 1e-12;
  return Unit{};
}

Result<sim::Summary> simulateProgram(const SparseArguments& arguments, const sim::Options& options) {
  TK_TRY(const SparseProgram program, loadSparseWithData(arguments));
  TK_TRY(const sparse::Compiled compiled, compile(program.program, program.schedule, &program.inputs));
  sim::Summary summary{.name = fmt::format("{} {}", fs::path(arguments.file).stem().string(), program.schedule.name),
                       .profile = std::string(nameOf(options.profile))};
  const auto simulateRegion = [&](const sparse::CompiledRegion& region,
                                  const stream::Inputs& reads) -> Result<stream::Storages> {
    sim::Options own = options;  // the window counts from the program's beginning
    const uint64_t before = summary.cycles();
    own.window = {options.window.from - std::min(options.window.from, before),
                  options.window.to - std::min(options.window.to, before)};
    TK_TRY(sim::Report report, sim::simulate(region.graph, reads, own));
    stream::Storages written = std::move(report.outputs);
    summary.parts.push_back({region.graph, std::move(report)});
    return written;
  };
  TK_TRY(const sparse::Bindings results, executeWith(compiled, program.inputs, simulateRegion));
  summary.peakMemory = peakMemory();
  summary.tensorMemory = memoryOfAll(program.inputs) + memoryOfAll(results);
  TK_RETURN_IF_ERROR(checkProgram(program, compiled, results, summary));
  return summary;
}

}  // namespace

Result<sim::Summary> simulateFile(const SparseArguments& arguments, const sim::Options& options) {
  const bool isProgram = arguments.file.ends_with(".ein") || arguments.file.ends_with(".mlir");
  const uint64_t base = peakMemory();
  TK_TRY(sim::Summary summary, isProgram ? simulateProgram(arguments, options) : simulateGraph(arguments, options));
  summary.baseMemory = base;
  return summary;
}

}  // namespace tokamak::tool
