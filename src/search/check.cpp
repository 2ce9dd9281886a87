#include "search/check.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "sparse/cost/count.h"
#include "sparse/lower/execute.h"
#include "support/hash.h"

namespace tokamak::search {

using namespace tokamak::sparse;

namespace {

double cyclesOf(const Estimate& estimate, sim::Profile profile) {
  return profile == sim::Profile::comal ? estimate.cycles : estimate.cyclesWithMemory;
}

std::string line(const std::string& name, const Estimate& c, const std::optional<Measurement>& simulated,
                 sim::Profile profile) {
  if (!simulated)
    return fmt::format("{:<24} | {:>11.4g} {:>19} | {:>11.4g} {:>19} | {:>11.4g} {:>19} | {:>8.0f}\n", name,
                       c.operations, "", c.bytesRead + c.bytesWritten, "", cyclesOf(c, profile), "", c.workspace);
  const Measurement& s = *simulated;
  const auto cell = [](double counted, double simulated) {
    return fmt::format(" | {:>11.4g} {:>11.4g} {:>6.1f}%", counted, simulated, 100 * errorOf(counted, simulated));
  };
  return fmt::format("{:<24}{}{}{} | {:>8.0f} {:>8.0f}\n", name, cell(c.operations, s.operations),
                     cell(c.bytesRead + c.bytesWritten, s.bytes()), cell(cyclesOf(c, profile), s.cycles), c.workspace,
                     s.workspace);
}

Tensor zeros(const std::vector<int64_t>& shape, const Format& format) {
  Tensor out{DType::f64, shape, format, {}, {}};
  int64_t count = 1;
  for (const Level& level : format.levels) {
    out.levels.push_back({level.sizeFor(shape[static_cast<size_t>(level.axis)]), {}, {}});
    count *= out.levels.back().size;
  }
  out.values.assign(static_cast<size_t>(count), 0.0);
  return out;
}

/// What a region stores, if that is everything.
std::optional<Bindings> wholeResults(const Program& program, const CompiledRegion& region, const Bindings& tensors) {
  Bindings copies;
  const auto reads = [&](const TableTensor& t) -> const Tensor* {
    const Tensor* from = t.source == TableSource::range ? nullptr : &tensors.find(t.of)->second;
    if (from && from->format == t.format) return from;  // what is stored counts, not the values
    return &copies.try_emplace(t.name, tableInput(t, from)).first->second;
  };
  std::map<std::string, double> written;
  count(region.table, reads, &written);
  Bindings out;
  for (const auto& [name, values] : written) {
    const TensorId id = program.findTensor(name);
    Tensor all = zeros(program.shape(id), Format::dense(static_cast<int>(program.shape(id).size())));
    if (values < static_cast<double>(all.stored())) return std::nullopt;
    out[name] = convert(all, *program.tensor(id).format, Keep::stored);
  }
  return out;
}

/// What regions hand on to each other. Costs go by what is stored, not by values, so what is stored as a whole need not
/// be computed.
Result<> addTemps(const Compiled& compiled, Bindings& tensors) {
  Schedule each = unfused();
  each.algebra = false;
  TK_TRY(const Compiled alone, compile(compiled.program, each, &tensors));
  for (const CompiledRegion& region : alone.regions) {
    std::optional<Bindings> results = wholeResults(alone.program, region, tensors);
    if (!results) {
      TK_TRY(Execution execution, execute({.program = alone.program, .regions = {region}}, tensors));
      results = std::move(execution.results);
    }
    for (auto& [name, tensor] : *results) tensors[name] = std::move(tensor);
  }
  return Unit{};
}

/// A graph's text without labels and with numbers for the names of tensors: equal for graphs that run alike.
std::string namelessText(const stream::Graph& graph) {
  std::string out;
  std::map<std::string, size_t, std::less<>> numbers;
  const std::string text = print(graph);
  for (size_t at = text.find('\n'); at < text.size();) {
    if (text.compare(at, 4, " : \"") == 0) at = text.find('\n', at);
    out += text[at++];
    if (out.back() != '@') continue;
    const size_t end = text.find_first_of(" [\n", at);
    out += fmt::format("{}", numbers.try_emplace(text.substr(at, end - at), numbers.size()).first->second);
    at = end;
  }
  return out;
}

Result<Measurement> measured(const CompiledRegion& region, const Data& data, const Estimate& estimate,
                             const sim::Options& options, Results& results) {
  Choice as;
  as.key = hashMix(hashBytes(namelessText(region.graph)), data.digest(region.table));
  if (const std::optional<Measurement> known = results.find(as.key)) return *known;
  std::vector<std::shared_ptr<const Tensor>> keep;
  TK_TRY(const sim::Report report, sim::simulate(region.graph, data.views(region.table, keep), options));
  as.wish = {.tensors = {region.table.name}, .order = region.table.rows};
  as.blocks = region.graph.nodes().size();
  as.estimate = estimate;
  results.keep(as, measurementOf(report));
  return measurementOf(report);
}

}  // namespace

Result<std::vector<RegionCheck>> checkCosts(const Compiled& compiled, Bindings tensors, const sim::Options& options,
                                            double mostTokens, Results& results) {
  if (compiled.regions.size() > 1) TK_RETURN_IF_ERROR(addTemps(compiled, tensors));
  const Data data(std::move(tensors));
  std::vector<RegionCheck> out;
  for (const CompiledRegion& region : compiled.regions) {
    RegionCheck check{region.table.name, {}, {}, 0};
    const auto start = std::chrono::steady_clock::now();
    check.counted = count(region.table, [&](const TableTensor& t) { return data.tensor(t).get(); });
    check.countSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (check.counted.tokens <= mostTokens) {
      TK_TRY(check.simulated, measured(region, data, check.counted, options, results));
    }
    out.push_back(std::move(check));
  }
  return out;
}

double errorOf(double counted, double simulated) {
  if (counted == simulated) return 0;
  return simulated == 0 ? INFINITY : std::fabs(counted - simulated) / simulated;
}

std::string checkTable(const std::vector<RegionCheck>& checks, sim::Profile profile) {
  std::string out = fmt::format("{:<24} | {:^31} | {:^31} | {:^31} | {:^17}\n{:<24}", "cost model and simulation",
                                "operations", "bytes", "cycles", "workspace", "");
  for (int i = 0; i < 3; ++i) out += fmt::format(" | {:>11} {:>11} {:>7}", "counted", "simulated", "error");
  out += fmt::format(" | {:>8} {:>8}\n", "counted", "simulat.");
  Estimate counted;
  Measurement simulated;
  double seconds = 0;
  bool all = true;
  for (const RegionCheck& check : checks) {
    out += line(check.region, check.counted, check.simulated, profile);
    counted += check.counted;
    seconds += check.countSeconds;
    all = all && check.simulated;
    if (!check.simulated) continue;
    simulated.operations += check.simulated->operations;
    simulated.bytesRead += check.simulated->bytesRead;
    simulated.bytesWritten += check.simulated->bytesWritten;
    simulated.cycles += check.simulated->cycles;
    simulated.seconds += check.simulated->seconds;
    simulated.workspace = std::max(simulated.workspace, check.simulated->workspace);
  }
  if (checks.size() > 1) out += line("all", counted, all ? std::optional(simulated) : std::nullopt, profile);
  return out + fmt::format("counted in {:.4f} s, simulated in {:.3f} s\n", seconds, simulated.seconds);
}

}  // namespace tokamak::search
