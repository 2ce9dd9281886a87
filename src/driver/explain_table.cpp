#include <fmt/format.h>

#include <algorithm>

#include "driver/explain.h"

namespace tokamak {

namespace {

/// Columns as wide as their widest cell; the last one is not padded. Columns in `right` are set flush right.
class TextTable {
 public:
  TextTable(std::vector<std::string> header, std::string_view right) : right_(right) { add(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string str() const {
    std::vector<size_t> widths(rows_[0].size(), 0);
    for (const auto& row : rows_)
      for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    std::string out;
    for (const auto& row : rows_) {
      std::string line = "  ";
      for (size_t c = 0; c < row.size(); ++c) {
        const bool flushRight = right_[c] == 'r';
        line += flushRight ? fmt::format("{:>{}}", row[c], widths[c]) : fmt::format("{:<{}}", row[c], widths[c]);
        line += "  ";
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
    return out;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::string_view right_;
};

std::string labels(const Graph& graph, const std::vector<ValueId>& values, size_t most) {
  std::string out;
  for (size_t i = 0; i < values.size() && i < most; ++i) out += (i ? ", " : "") + graph.label(values[i]);
  if (values.size() > most) out += fmt::format(", {} more", values.size() - most);
  return out;
}

/// `3 add, 2 mul, exp`: the ops of a region, in the order they first appear.
std::string opSummary(const Graph& graph, const LedgerRegion& region) {
  std::vector<std::pair<std::string_view, int>> counts;
  for (ValueId v : region.nodes) {
    const std::string_view name = mnemonic(graph.node(v).op);
    auto it = std::find_if(counts.begin(), counts.end(), [&](const auto& entry) { return entry.first == name; });
    if (it == counts.end())
      counts.emplace_back(name, 1);
    else
      ++it->second;
  }
  std::string out;
  for (const auto& [name, count] : counts)
    out += (out.empty() ? "" : ", ") + (count > 1 ? fmt::format("{} {}", count, name) : std::string(name));
  return out;
}

std::string kernelTable(const Explanation& explanation) {
  const auto& regions = explanation.ledger.regions;
  const bool measured =
      std::any_of(regions.begin(), regions.end(), [](const auto& r) { return r.measuredMicroseconds >= 0; });
  std::vector<std::string> header{"#", "kernel", "kind", "ops", "reads", "writes", "predicted"};
  if (measured) header.emplace_back("measured");
  header.insert(header.end(), {"stores", "computes"});
  TextTable table(header, measured ? "rllrrrrrll" : "rllrrrrll");
  for (const LedgerRegion& region : regions) {
    std::vector<std::string> row{std::to_string(region.id.index),
                                 region.name,
                                 region.kind,
                                 std::to_string(region.nodes.size()),
                                 formatBytes(region.bytesRead),
                                 formatBytes(region.bytesWritten),
                                 formatMicroseconds(region.microseconds)};
    if (measured)
      row.push_back(region.measuredMicroseconds >= 0 ? formatMicroseconds(region.measuredMicroseconds) : "-");
    row.push_back(labels(explanation.graph, region.outputs, 3));
    row.push_back(opSummary(explanation.graph, region));
    table.add(std::move(row));
  }
  return table.str();
}

std::string edgeTable(const Explanation& explanation) {
  const Graph& graph = explanation.graph;
  TextTable table({"edge", "ops", "decision", "bytes", "time", "rule", "reason"}, "lllrrll");
  for (const LedgerEdge& edge : explanation.ledger.edges)
    table.add({fmt::format("{} -> {}", graph.label(edge.producer), graph.label(edge.consumer)),
               fmt::format("{} -> {}", mnemonic(graph.node(edge.producer).op), mnemonic(graph.node(edge.consumer).op)),
               std::string(nameOf(edge.decision)), formatBytes(edge.bytes), formatMicroseconds(edge.microseconds),
               edge.rule, edge.reason});
  return table.str();
}

}  // namespace

std::string explainSummary(const Explanation& explanation) {
  const Ledger& ledger = explanation.ledger;
  std::string out =
      fmt::format("@{}: {} ops written, {} planned, {} kernel{}\n", explanation.graph.name, explanation.writtenOps,
                  computingOps(explanation.graph), ledger.regions.size(), ledger.regions.size() == 1 ? "" : "s");
  if (!explanation.dims.empty()) {
    out += "  sizes";
    for (const auto& [name, value] : explanation.dims) out += fmt::format(" {}={}", name, value);
    out += "\n";
  }
  TextTable summary({"", "one kernel an op", "fused", "saved"}, "lrrl");
  summary.add({"bytes moved", formatBytes(ledger.unfusedBytes), formatBytes(ledger.fusedBytes),
               formatReduction(ledger.unfusedBytes, ledger.fusedBytes)});
  summary.add({"predicted", formatMicroseconds(ledger.unfusedMicroseconds),
               formatMicroseconds(ledger.fusedMicroseconds),
               formatReduction(ledger.unfusedMicroseconds, ledger.fusedMicroseconds)});
  out += summary.str();
  if (!ledger.regions.empty()) out += "\nkernels, in the order they run\n" + kernelTable(explanation);
  return out;
}

std::string explainTable(const Explanation& explanation) {
  const Ledger& ledger = explanation.ledger;
  std::string out = explainSummary(explanation);
  if (!ledger.edges.empty())
    out += "\nedges of the planned graph: what each saves, or costs where it is cut\n" + edgeTable(explanation);
  if (!ledger.notes.empty()) out += "\nnotes\n";
  for (const std::string& note : ledger.notes) out += "  " + note + "\n";
  return out;
}

std::string explainKernels(const Explanation& explanation) {
  const std::vector<LedgerRegion>& regions = explanation.ledger.regions;
  std::string out;
  for (size_t i = 0; i < explanation.kernels.size() && i < regions.size(); ++i)
    if (!explanation.kernels[i].empty())
      out += fmt::format("{}// kernel {}: {}\n{}", out.empty() ? "" : "\n", regions[i].id.index, regions[i].schedule,
                         explanation.kernels[i]);
  return out;
}

}  // namespace tokamak
