#include <fmt/format.h>

#include <algorithm>

#include "sim/report/critical_path.h"
#include "sim/report/page.h"
#include "sparse/stream/picture.h"

namespace tokamak::sim {

namespace {

using stream::escapeMarkup;

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{0}</title><style>
body {{ font: 14px system-ui, sans-serif; margin: 2em; color: #222; max-width: 1400px; }}
h1 {{ font-size: 1.5em; }} h2 {{ font-size: 1.2em; margin-top: 2em; border-top: 1px solid #ccc; padding-top: 1em; }}
table {{ border-collapse: collapse; margin: .8em 0; }} th, td {{ padding: .15em .8em; text-align: right; }}
th {{ border-bottom: 1px solid #999; }} th:first-child, td:first-child, .left {{ text-align: left; }}
tr:hover {{ background: #f4f4f8; }} .picture {{ overflow: auto; max-height: 80vh; border: 1px solid #ddd; }}
.bad {{ color: #b00; font-weight: bold; }} details {{ margin: .6em 0; }} summary {{ cursor: pointer; font-weight: 600; }}
</style></head><body><h1>{0} <small>under {1}</small></h1>
)";

double share(uint64_t part, uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<uint64_t>(whole, 1));
}

std::string blockOf(const Part& part, stream::NodeId node) { return stream::describe(part.graph.node(node).block); }

std::string totals(const Summary& summary) {
  std::string out =
      "<table><tr><th>cycles</th><th>tokens</th><th>operations</th><th>bytes read</th><th>bytes written</th>"
      "<th>seconds</th><th>million tokens a second</th></tr>";
  out += fmt::format(
      "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.3f}</td><td>{:.1f}</td></tr></table>\n",
      summary.cycles(), summary.tokens(), summary.operations(), summary.bytesRead(), summary.bytesWritten(),
      summary.seconds(), static_cast<double>(summary.tokens()) / std::max(summary.seconds(), 1e-9) / 1e6);
  return out + fmt::format("<p{}>Values {} the {} (largest difference {:.2g}).</p>\n",
                           summary.valuesAgree ? "" : " class=\"bad\"",
                           summary.valuesAgree ? "agree with" : "DIFFER from", escapeMarkup(summary.against),
                           summary.worst);
}

std::string picture(const Part& part) {
  std::vector<const NodeReport*> of(part.graph.nodes().size(), nullptr);
  for (const NodeReport& node : part.report.nodes) of[node.node.index] = &node;
  const auto note = [&](stream::NodeId id) {
    stream::NodeNote out;
    const NodeReport* node = of[id.index];
    if (node == nullptr) return out;
    out.heat = share(node->busy, part.report.cycles);
    out.line = fmt::format("{} · {:.0f}%", id.index, 100 * out.heat);
    const Wait wait = longestWaitOf(*node);
    out.title = fmt::format("node {}: busy {} of {} cycles, {} operations", id.index, node->busy, part.report.cycles,
                            node->operations);
    if (wait.cycles > 0)
      out.title += fmt::format("; waited {} cycles for {}", wait.cycles, describe(part.graph, id, wait));
    return out;
  };
  return "<div class=\"picture\">" + drawSvg(part.graph, note) + "</div>\n";
}

/// A row a node, a column a stretch of time; the darker, the busier.
std::string timeline(const Part& part) {
  if (part.report.stretch == 0 || part.report.nodes.empty()) return "";
  constexpr int kRow = 13, kLabel = 230, kColumn = 4;
  const size_t columns = part.report.nodes[0].timeline.size();
  const int width = kLabel + kColumn * static_cast<int>(columns),
            height = kRow * static_cast<int>(part.report.nodes.size());
  std::string out = fmt::format(
      "<h3>Timeline</h3><p>A column is {} cycles.</p><div class=\"picture\"><svg "
      "xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-size=\"10\">\n",
      part.report.stretch, width, height);
  for (size_t row = 0; row < part.report.nodes.size(); ++row) {
    const NodeReport& node = part.report.nodes[row];
    const int y = kRow * static_cast<int>(row);
    out += fmt::format("<text x=\"2\" y=\"{}\">{} {}</text>", y + 10, node.node.index,
                       escapeMarkup(blockOf(part, node.node)));
    for (size_t c = 0; c < node.timeline.size(); ++c) {
      if (node.timeline[c] == 0) continue;
      const double busy = std::min(1.0, share(node.timeline[c], part.report.stretch));
      out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#b03a10\" opacity=\"{:.2f}\"/>",
                         kLabel + kColumn * static_cast<int>(c), y + 1, kColumn, kRow - 2, std::max(0.06, busy));
    }
    out += "\n";
  }
  return out + "</svg></div>\n";
}

std::string waitCells(const NodeReport& node) {
  uint64_t input = 0, output = 0;
  for (const uint64_t cycles : node.waitInput) input += cycles;
  for (const uint64_t cycles : node.waitOutput) output += cycles;
  return fmt::format("<td>{}</td><td>{}</td><td>{}</td><td>{}</td>", input, output, node.waitMemory, node.waitCompute);
}

std::string nodes(const Part& part) {
  std::string out =
      "<details open><summary>Nodes: where cycles went</summary><table><tr><th>node</th><th class=\"left\">block</th>"
      "<th>last cycle</th><th>busy</th><th>waits: input</th><th>room</th><th>memory</th><th>unit</th><th "
      "class=\"left\">most "
      "for</th><th>operations</th><th>workspace</th></tr>\n";
  for (const NodeReport& node : part.report.nodes) {
    const Wait wait = longestWaitOf(node);
    out += fmt::format(
        "<tr><td>{}</td><td class=\"left\">{}</td><td>{}</td><td>{:.1f}%</td>{}<td class=\"left\">{}</td>"
        "<td>{}</td><td>{}</td></tr>\n",
        node.node.index, escapeMarkup(blockOf(part, node.node)), node.cycles,
        100 * share(node.busy, part.report.cycles), waitCells(node),
        wait.cycles > 0 ? escapeMarkup(describe(part.graph, node.node, wait)) : "", node.operations, node.workspace);
  }
  return out + "</table></details>\n";
}

std::string streams(const Part& part) {
  if (part.report.streams.empty()) return "";
  std::string out = "<details><summary>Streams</summary><table><tr><th>stream</th><th>tokens</th><th>peak</th></tr>\n";
  for (const StreamReport& one : part.report.streams)
    out += fmt::format("<tr><td>%{}</td><td>{}</td><td>{}</td></tr>\n",
                       escapeMarkup(part.graph.stream(one.stream).name), one.tokens, one.peak);
  return out + "</table></details>\n";
}

std::string tensors(const Part& part) {
  std::string out =
      "<details open><summary>Tensors</summary><table><tr><th>tensor</th><th>bytes read</th><th>bytes "
      "written</th></tr>\n";
  for (const TensorReport& tensor : part.report.tensors)
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", escapeMarkup(tensor.tensor), tensor.bytesRead,
                       tensor.bytesWritten);
  out += "</table>";
  const MemoryReport& memory = part.report.memory;
  if (memory.bursts > 0)
    out += fmt::format(
        "<p>DRAM: {} bursts, {} row hits, {} misses, {:.1f}% of the bandwidth. Scratchpads: {} cycles of "
        "bank conflicts, {} accesses spilled.</p>",
        memory.bursts, memory.rowHits, memory.rowMisses, 100 * memory.bandwidthUsed, memory.bankConflictCycles,
        memory.spilledAccesses);
  return out + "</details>\n";
}

std::string path(const Part& part) {
  std::string out = "<h3>Critical path, from the end</h3><ol>\n";
  for (const PathStep& step : criticalPath(part.graph, part.report)) {
    out += fmt::format("<li>{} {}", step.node.index, escapeMarkup(blockOf(part, step.node)));
    if (step.wait.cycles > 0)
      out += fmt::format(": {} cycles waiting for {}", step.wait.cycles,
                         escapeMarkup(describe(part.graph, step.node, step.wait)));
    out += "</li>\n";
  }
  return out + "</ol>\n";
}

}  // namespace

std::string reportHtml(const Summary& summary) {
  std::string out = fmt::format(fmt::runtime(kHead), escapeMarkup(summary.name), summary.profile);
  out += totals(summary);
  for (const Part& part : summary.parts) {
    out += fmt::format("<h2>@{}: {} cycles, {} tokens</h2>\n", escapeMarkup(part.graph.name), part.report.cycles,
                       part.report.tokens);
    out += picture(part) + timeline(part) + path(part) + nodes(part) + tensors(part) + streams(part);
  }
  return out + "</body></html>\n";
}

}  // namespace tokamak::sim
