#include <fmt/format.h>

#include <algorithm>

#include "sim/report/critical_path.h"
#include "sim/report/summary.h"

namespace tokamak::sim {

namespace {

double share(uint64_t part, uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<uint64_t>(whole, 1));
}

/// What a node waited for most, and how long.
std::string longestWait(const Part& part, const NodeReport& node) {
  const Wait wait = longestWaitOf(node);
  if (wait.cycles == 0) return "";
  return fmt::format("{} {:.0f}%", describe(part.graph, node.node, wait), 100 * share(wait.cycles, part.report.cycles));
}

std::string nodeTable(const Part& part) {
  const Report& report = part.report;
  std::string out = fmt::format("{:>5}  {:<30} {:>12} {:>7} {:>12} {:>10}  {}\n", "node", "block", "last cycle", "busy",
                                "operations", "workspace", "waits most for");
  for (const NodeReport& node : report.nodes)
    out += fmt::format("{:>5}  {:<30} {:>12} {:>6.1f}% {:>12} {:>10}  {}\n", node.node.index,
                       stream::describe(part.graph.node(node.node).block), node.cycles,
                       100 * share(node.busy, report.cycles), node.operations,
                       node.workspace > 0 ? std::to_string(node.workspace) : "", longestWait(part, node));
  return out;
}

std::string streamTable(const Part& part) {
  if (part.report.streams.empty()) return "";
  std::vector<StreamReport> fullest = part.report.streams;
  std::ranges::stable_sort(fullest, std::greater<>(), &StreamReport::peak);
  fullest.resize(std::min<size_t>(fullest.size(), 8));
  std::string out = "fullest streams:";
  for (const StreamReport& one : fullest) out += fmt::format(" %{} {}", part.graph.stream(one.stream).name, one.peak);
  return out + "\n";
}

std::string tensorTable(const Part& part) {
  std::string out = fmt::format("{:<20} {:>14} {:>14}\n", "tensor", "bytes read", "bytes written");
  for (const TensorReport& tensor : part.report.tensors)
    out += fmt::format("{:<20} {:>14} {:>14}\n", tensor.tensor, tensor.bytesRead, tensor.bytesWritten);
  return out;
}

std::string memoryLine(const MemoryReport& memory) {
  if (memory.bursts == 0) return "";
  return fmt::format(
      "DRAM: {} bursts, {:.1f}% row hits, {:.1f}% of the bandwidth; scratchpads: {} cycles of bank conflicts, {} "
      "accesses spilled\n",
      memory.bursts, 100 * share(memory.rowHits, memory.rowHits + memory.rowMisses), 100 * memory.bandwidthUsed,
      memory.bankConflictCycles, memory.spilledAccesses);
}

std::string pathLine(const Part& part) {
  std::string out = "critical path, from the end: ";
  const std::vector<PathStep> path = criticalPath(part.graph, part.report);
  for (size_t i = 0; i < path.size(); ++i)
    out += fmt::format("{}{} {}", i == 0 ? "" : " <- ", path[i].node.index,
                       stream::describe(part.graph.node(path[i].node).block));
  return out + "\n";
}

}  // namespace

std::string reportTable(const Summary& summary) {
  std::string out = fmt::format("{} under {}: {} cycles, {} tokens in {:.3f} s ({:.1f} million a second)\n",
                                summary.name, summary.profile, summary.cycles(), summary.tokens(), summary.seconds(),
                                static_cast<double>(summary.tokens()) / std::max(summary.seconds(), 1e-9) / 1e6);
  out += fmt::format("{} operations, {} bytes read, {} written; streams took {:.1f} MB of memory at most\n",
                     summary.operations(), summary.bytesRead(), summary.bytesWritten(),
                     static_cast<double>(summary.bufferBytes()) / 1e6);
  out += fmt::format("values {} the {}\n", summary.valuesAgree ? "agree with" : "DIFFER from", summary.against);
  for (const Part& part : summary.parts) {
    out += fmt::format("\n@{}: {} cycles, {} tokens\n", part.graph.name, part.report.cycles, part.report.tokens);
    out += nodeTable(part) + "\n" + tensorTable(part) + streamTable(part) + memoryLine(part.report.memory);
    out += pathLine(part);
  }
  return out;
}

}  // namespace tokamak::sim
