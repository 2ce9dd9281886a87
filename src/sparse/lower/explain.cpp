#include "sparse/lower/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tokamak::sparse {

namespace {

std::string estimateText(const Estimate& e) {
  return fmt::format(
      "estimate: {:.4g} operations, {:.4g} bytes read, {:.4g} written, {:.4g} tokens, {:.4g} cycles, workspace of "
      "{:.4g} "
      "entries\n",
      e.operations, e.bytesRead, e.bytesWritten, e.tokens, e.cycles, e.workspace);
}

/// The cells by rule, a line each rule.
std::string rulesOf(const Table& table) {
  std::vector<std::pair<std::string, std::string>> rules;
  for (size_t c = 0; c < table.cells().size(); ++c) {
    const std::string& rule = table.cells()[c].rule;
    auto known = std::find_if(rules.begin(), rules.end(), [&](const auto& r) { return r.first == rule; });
    if (known == rules.end()) known = rules.insert(rules.end(), {rule, ""});
    known->second += fmt::format(" %{}", c);
  }
  std::string out = "rules:\n";
  for (const auto& [rule, cells] : rules) out += fmt::format("  {}:{}\n", rule, cells);
  return out;
}

std::string tablesBefore(const Compiled& compiled, const CompiledRegion& region, const Bindings* data) {
  if (region.region.statements.size() < 2) return {};
  Schedule each = unfused();
  each.algebra = false;
  const Result<Compiled> alone = compile(compiled.program, each, data);
  if (!alone) return {};
  std::string out = "before fusion:\n";
  for (const CompiledRegion& r : alone->regions) {
    const size_t s = r.region.statements[0];
    if (std::find(region.region.statements.begin(), region.region.statements.end(), s) ==
        region.region.statements.end())
      continue;
    out += print(r.table) + estimateText(r.estimate);
  }
  return out + "after fusion:\n";
}

}  // namespace

std::string explain(const Program& written, const Compiled& compiled, const Bindings* data,
                    const ExplainOptions& options) {
  std::string out = printStatements(written);
  for (const AlgebraStep& step : compiled.algebra) out += "algebra: " + step.str() + "\n";
  Estimate total;
  for (const CompiledRegion& region : compiled.regions) {
    out += fmt::format("\n== {}\n{}", region.table.name, printStatements(region.region.program));
    out += fmt::format("order {}, the best of {} by estimate\n", fmt::join(region.table.rows, ", "), region.ordersSeen);
    for (const std::string& note : region.notes) out += "note: " + note + "\n";
    if (options.before) out += tablesBefore(compiled, region, data);
    out += print(region.table);
    if (options.rules) out += rulesOf(region.table);
    out += estimateText(region.estimate);
    total += region.estimate;
  }
  if (compiled.regions.size() > 1) out += "\nall regions, one after another\n" + estimateText(total);
  return out;
}

nlohmann::ordered_json explainJson(const Compiled& compiled) {
  const auto numbers = [](const Estimate& e) {
    return nlohmann::ordered_json{
        {"operations", e.operations}, {"bytes_read", e.bytesRead}, {"bytes_written", e.bytesWritten},
        {"tokens", e.tokens},         {"cycles", e.cycles},        {"workspace", e.workspace}};
  };
  nlohmann::ordered_json out = {{"algebra", nlohmann::ordered_json::array()},
                                {"regions", nlohmann::ordered_json::array()}};
  for (const AlgebraStep& step : compiled.algebra)
    out["algebra"].push_back({{"rule", step.rule},
                              {"before", step.before},
                              {"after", step.after},
                              {"operations_before", step.operationsBefore},
                              {"operations_after", step.operationsAfter}});
  Estimate total;
  for (const CompiledRegion& region : compiled.regions) {
    std::vector<std::string> tensors;
    for (const size_t s : region.region.statements)
      tensors.push_back(compiled.program.tensor(compiled.program.statements()[s].tensor).name);
    out["regions"].push_back({{"name", region.table.name},
                              {"fused", tensors},
                              {"order", region.table.rows},
                              {"orders_compared", region.ordersSeen},
                              {"cells", region.table.cells().size()},
                              {"notes", region.notes},
                              {"estimate", numbers(region.estimate)}});
    total += region.estimate;
  }
  out["estimate"] = numbers(total);
  return out;
}

}  // namespace tokamak::sparse
