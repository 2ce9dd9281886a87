#include "sweep_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "console.h"
#include "search/front.h"
#include "sparse/lower/execute.h"

namespace tokamak::tool {

namespace {

using namespace tokamak::search;
using Json = nlohmann::ordered_json;

/// A point of the front and where it comes from.
struct Point {
  const Searched* from = nullptr;
  const FrontPoint* point = nullptr;
};

/// The fronts of all variants as one: fewest cycles first, then ever less area.
std::vector<Point> frontOfAll(const std::vector<Searched>& found) {
  std::vector<Point> all, out;
  for (const Searched& one : found)
    for (const FrontPoint& point : one.outcome.front) all.push_back({&one, &point});
  std::stable_sort(all.begin(), all.end(), [](const Point& a, const Point& b) {
    return std::pair(a.point->plan.cost, a.point->blocks) < std::pair(b.point->plan.cost, b.point->blocks);
  });
  for (const Point& p : all)
    if (out.empty() || p.point->blocks < out.back().point->blocks) out.push_back(p);
  return out;
}

std::string howOf(const Choice& choice) {
  std::string out = fmt::format("order {}", fmt::join(choice.wish.order, ", "));
  for (const auto& [var, lanes] : choice.wish.parallel) out += fmt::format("  parallel {} {}", var, lanes);
  if (!choice.wish.iterate.empty()) out += fmt::format("  iterate {}", fmt::join(choice.wish.iterate, ", "));
  return out;
}

std::string regionsOf(const Point& p) {
  std::vector<std::string> out;
  out.reserve(p.point->plan.choices.size());
  for (const size_t c : p.point->plan.choices)
    out.push_back(fmt::format("{{{}}}", fmt::join(p.from->space.choices()[c].wish.tensors, ", ")));
  return fmt::format("{}", fmt::join(out, " "));
}

struct Totals {
  size_t regions = 0, choices = 0, simulated = 0, confirmed = 0, fresh = 0;
  bool complete = true, cut = false;
};

Totals totalsOf(const std::vector<Searched>& found) {
  Totals out;
  for (const Searched& one : found) {
    out.regions += one.space.regions();
    out.choices += one.space.choices().size();
    out.simulated += one.outcome.simulated;
    out.confirmed += one.outcome.confirmed;
    out.fresh += one.outcome.fresh;
    out.complete = out.complete && one.outcome.complete;
    out.cut = out.cut || one.space.cut();
  }
  return out;
}

Json jsonOf(const std::vector<Point>& front, const Totals& totals, const sim::Options& simulation,
            const std::string& schedule, bool agrees, const std::string& database) {
  Json out = {{"cycles", front[0].point->plan.cost},
              {"choices", totals.choices},
              {"simulated", totals.simulated},
              {"confirmed", totals.confirmed},
              {"fresh", totals.fresh},
              {"complete", totals.complete},
              {"left_out", totals.cut},
              {"values_checked", agrees},
              {"database", database},
              {"regions", Json::array()},
              {"front", Json::array()},
              {"schedule", schedule}};
  for (const size_t c : front[0].point->plan.choices) {
    const Choice& choice = front[0].from->space.choices()[c];
    const Measurement& m = *front[0].from->outcome.measured[c];
    out["regions"].push_back({{"fused", choice.wish.tensors},
                              {"order", choice.wish.order},
                              {"cycles", m.cycles},
                              {"operations", m.operations},
                              {"bytes", m.bytes()},
                              {"workspace", m.workspace},
                              {"blocks", choice.blocks},
                              {"estimated_cycles", estimatedCycles(choice, simulation)},
                              {"copied_inputs", choice.copies}});
  }
  for (const Point& p : front)
    out["front"].push_back({{"cycles", p.point->plan.cost},
                            {"area", p.point->blocks},
                            {"workspace", p.point->workspace},
                            {"bytes", p.point->bytes},
                            {"regions", p.point->plan.choices.size()}});
  return out;
}

std::string textOf(const std::vector<Point>& front, const Totals& totals, const sim::Options& simulation,
                   const std::string& schedule, const std::string& database) {
  std::string out = fmt::format(
      "{} regions can run in {} ways{}; {} simulated, {} to confirm what estimates chose; {} of them now, "
      "kept in {}\n",
      totals.regions, totals.choices, totals.cut ? " (more were left out)" : "", totals.simulated, totals.confirmed,
      totals.fresh, database);
  if (!totals.complete) out += "ended early: the same command goes on from here\n";
  out += fmt::format("\nfront: cycles against area\n  {:>12} {:>6} {:>12} {:>10}  regions\n", "cycles", "area", "bytes",
                     "workspace");
  for (const Point& p : front)
    out += fmt::format("  {:>12.0f} {:>6} {:>12.0f} {:>10.0f}  {}\n", p.point->plan.cost, p.point->blocks,
                       p.point->bytes, p.point->workspace, regionsOf(p));
  out += fmt::format("\nbest: {:.0f} cycles\n  {:>12} {:>12} {:>6}\n", front[0].point->plan.cost, "cycles", "estimated",
                     "area");
  for (const size_t c : front[0].point->plan.choices) {
    const Choice& choice = front[0].from->space.choices()[c];
    out += fmt::format("  {:>12.0f} {:>12.0f} {:>6}  {{{}}} {}{}\n", front[0].from->outcome.measured[c]->cycles,
                       estimatedCycles(choice, simulation), choice.blocks, fmt::join(choice.wish.tensors, ", "),
                       howOf(choice), choice.copies > 0 ? "  (an input is read from a permuted copy)" : "");
  }
  return out + "\n" + schedule;
}

/// Compiles the schedule from the program as written, runs it, and compares its outputs with those that the search
/// computed region by region.
Result<bool> reproduces(const SparseProgram& program, const sparse::Schedule& schedule, const Searched& from) {
  TK_TRY(const sparse::Compiled compiled, sparse::compile(program.program, schedule, &program.inputs));
  TK_TRY(const sparse::Execution execution, sparse::execute(compiled, program.inputs));
  for (const auto& [name, tensor] : execution.results) {
    const auto known = from.model.data->tensors().find(name);
    const std::vector<double> got = toDense(tensor), wanted = toDense(known->second);
    double largest = 1e-30;
    for (const double v : wanted) largest = std::max(largest, std::isfinite(v) ? std::fabs(v) : 0);
    for (size_t i = 0; i < wanted.size(); ++i)
      if (got[i] != wanted[i] && !(std::fabs(got[i] - wanted[i]) <= 1e-9 * largest) &&
          !(std::isnan(got[i]) && std::isnan(wanted[i])))
        return false;
  }
  return true;
}

}  // namespace

Result<Outcome> reportSweep(const SweepOptions& options, const SparseProgram& program,
                            const std::vector<Searched>& found, const std::string& database, bool interrupted) {
  const std::vector<Point> front = frontOfAll(found);
  if (front.empty())
    return Diagnostic{
        "T0992",
        {options.program.file, 0, 0},
        interrupted ? "ended before any schedule was simulated as a whole" : "no schedule keeps to the limits",
        interrupted ? "the same command goes on; what was simulated is kept" : "raise --max-area or --max-workspace"};
  const Searched& from = *front[0].from;
  const sparse::Schedule best = scheduleOf(from.space, front[0].point->plan, from.model.base);
  TK_TRY(const bool agrees, reproduces(program, best, from));
  const Totals totals = totalsOf(found);
  const sim::Options& simulation = options.search.simulation;
  const std::string schedule = print(best);
  if (!options.output.empty()) TK_RETURN_IF_ERROR(writeFile(options.output, schedule));
  say(options.json ? jsonOf(front, totals, simulation, schedule, agrees, database).dump(2) + "\n"
                   : textOf(front, totals, simulation, schedule, database));
  if (!agrees) say("the schedule's values DIFFER from those of its regions\n");
  return agrees && !interrupted ? Outcome::done : Outcome::differs;
}

}  // namespace tokamak::tool
