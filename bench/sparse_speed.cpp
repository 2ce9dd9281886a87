#include "bench/sparse_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <regex>

#include "sparse/io/io.h"
#include "sparse/lower/execute.h"

namespace tokamak::bench {

namespace {

using namespace tokamak::sparse;

double secondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void line(nlohmann::json& report, const std::string& name, double value, const char* unit, double target, bool atMost) {
  const bool met = atMost ? value <= target : value >= target;
  report["sparse"].push_back({{"case", name}, {"value", value}, {"unit", unit}, {"target", target}, {"met", met}});
  fmt::print("{:44} {:9.3f} {}  (target {} {}){}\n", name, value, unit, atMost ? "at most" : "at least", target,
             met ? "" : "  MISSED");
  std::fflush(stdout);
}

/// The best of some, more of them the shorter they are, and whether it compiles at all.
double compileSeconds(const Program& program, const Schedule& schedule) {
  double best = 1e9, total = 0;
  for (int i = 0; i < 3 || (i < 20 && total < 0.5); ++i) {
    const double seconds = secondsOf([&] {
      const Result<Compiled> compiled = compile(program, schedule);
      TK_CHECK(compiled.ok(), compiled.ok() ? "" : compiled.error().str());
    });
    best = std::min(best, seconds);
    total += seconds;
  }
  return best;
}

/// Every model that is shipped, at every schedule of its file and as the cost model fuses it.
void shippedModels(nlohmann::json& report) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(TOKAMAK_SOURCE_DIR "/examples/sparse"))
    if (entry.path().extension() == ".ein") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    Result<Source> source = parseSource(readWholeFile(file).value(), file);
    TK_CHECK(source.ok(), file);
    for (sparse::Dim& dim : source->program.dims())
      if (dim.size < 0) dim.size = 1024;
    std::vector<Schedule> schedules = source->schedules;
    for (Schedule more : {automatic(), unfused()})
      if (std::ranges::find(schedules, more.name, &Schedule::name) == schedules.end())  // the file may have its own
        schedules.push_back(std::move(more));
    for (const Schedule& schedule : schedules)
      line(report, fmt::format("compile/{}/{}", std::filesystem::path(file).stem().string(), schedule.name),
           1e3 * compileSeconds(source->program, schedule), "ms", 100, true);
  }
}

/// A chain of layers of four statements; with `residual`, each adds what went into it.
Program layers(int statements, bool residual) {
  std::string text = "dim N = 64, H = 16\ninput A[N, N]: csr\ninput W[H, H]\ninput b[H]\ninput X0[N, H]\n";
  const int count = statements / 4;
  text += fmt::format("output X{}[N, H]\n", count);
  for (int l = 0; l < count; ++l) {
    text += fmt::format("T{0}[i, h] = X{0}[i, g] * W[g, h]\nU{0}[i, h] = A[i, k] * T{0}[k, h]\n", l);
    text += fmt::format("V{0}[i, h] = relu(U{0}[i, h] + b[h])\n", l);
    text += fmt::format("X{}[i, h] = V{}[i, h]{}\n", l + 1, l, residual ? fmt::format(" + X{}[i, h]", l) : " * 0.5");
  }
  Result<Program> program = parseProgram(text);
  TK_CHECK(program.ok(), program.ok() ? "" : program.error().str());
  return std::move(*program);
}

/// The layers four statements a region, as a user would fuse them.
Schedule perLayer(int statements) {
  Schedule out{.name = "layers"};
  for (int l = 0; l < statements / 4; ++l)
    out.regions.push_back({.tensors = {fmt::format("U{}", l), fmt::format("V{}", l), fmt::format("X{}", l + 1)}});
  return out;
}

void growth(nlohmann::json& report) {
  for (const bool residual : {false, true}) {
    const char* kind = residual ? "residual" : "chain";
    const Program half = layers(252, residual), whole = layers(500, residual);
    const std::pair<Schedule, Schedule> schedules[] = {
        {unfused(), unfused()}, {perLayer(252), perLayer(500)}, {automatic(), automatic()}};
    for (const auto& [small, large] : schedules) {
      double at252 = 1e9, at500 = 1e9;
      for (int round = 0; round < 3; ++round) {  // in turn, so that a machine that slows down slows both
        at252 = std::min(at252, compileSeconds(half, small));
        at500 = std::min(at500, compileSeconds(whole, large));
      }
      line(report, fmt::format("compile/{}_500/{}", kind, large.name), at500, "s", 5, true);
      line(report, fmt::format("compile/{}_500_over_252/{}", kind, large.name), at500 / at252, "x", 2.5, true);
    }
  }
}

Tensor randomTensor(const std::vector<int64_t>& shape, double density, const Format& format) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<double> values(static_cast<size_t>(shape[0] * shape[1]), 0.0);
  for (double& v : values)
    if (unit(random) < density) v = unit(random);
  return fromDense(values, shape, format);
}

/// A product of the size of Cora_ML's adjacency and features.
void tokens(nlohmann::json& report) {
  const Result<Source> source = parseSource(
      "dim N = 2995, H = 128\ninput A[N, N]: csr\ninput X[N, H]\noutput Y[N, H]\nY[i, h] = A[i, k] * X[k, h]\n");
  const Bindings inputs = {{"A", randomTensor({2995, 2995}, 0.0018, *namedFormat("csr", 2))},
                           {"X", randomTensor({2995, 128}, 1, Format::dense(2))}};
  const Result<Compiled> compiled = compile(source->program, automatic(), &inputs);
  TK_CHECK(compiled.ok(), "compile");
  double best = 1e9;
  uint64_t count = 0;
  for (int i = 0; i < 5; ++i)
    best = std::min(best, secondsOf([&] { count = execute(*compiled, inputs).value().tokens; }));
  line(report, "run/spmm_cora_ml", static_cast<double>(count) / best / 1e6, "million tokens/s", 50, false);
}

}  // namespace

void sparseSpeed(const std::string& filter, nlohmann::json& report) {
  if (!std::regex_search("sparse", std::regex(filter))) return;
  shippedModels(report);
  growth(report);
  tokens(report);
}

}  // namespace tokamak::bench
