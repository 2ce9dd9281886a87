#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "driver/explain_svg.h"

namespace tokamak {

namespace {

std::string card(std::string_view big, std::string_view small) {
  return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", escapeHtml(big), escapeHtml(small));
}

std::string heading(const Explanation& explanation) {
  const Ledger& ledger = explanation.ledger;
  std::string sizes;
  for (const auto& [name, value] : explanation.dims)
    sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", name, value);
  std::string out =
      fmt::format("<header><h1>@{}</h1><p>What Tokamak made of this graph{}.</p>\n<div class=\"cards\">\n",
                  escapeHtml(explanation.graph.name), sizes.empty() ? "" : " at " + escapeHtml(sizes));
  out += card(fmt::format("{} → {}", computingOps(explanation.graph), ledger.regions.size()),
              fmt::format("ops → kernels ({} ops as written)", explanation.writtenOps));
  out += card(fmt::format("{} → {}", formatBytes(ledger.unfusedBytes), formatBytes(ledger.fusedBytes)),
              "bytes moved: one kernel an op → as planned");
  out += card(fmt::format("{} → {}", formatMicroseconds(ledger.unfusedMicroseconds),
                          formatMicroseconds(ledger.fusedMicroseconds)),
              "predicted time");
  return out + "</div></header>\n";
}

std::string planSection(const Explanation& explanation) {
  std::string out = "<section><h2>The plan</h2>\n<div class=\"legend\">";
  constexpr std::pair<std::string_view, std::string_view> colours[] = {
      {"pointwise", "pointwise"}, {"fold", "reduction, scan, pool"},   {"view", "shape"},
      {"index", "indexing"},      {"product", "product, convolution"}, {"source", "made here"}};
  for (const auto& [name, text] : colours)
    out += fmt::format("<span><i style=\"background:var(--{})\"></i>{}</span>", name, text);
  out +=
      "<span><i style=\"border:2px solid var(--memory)\"></i>stored</span>"
      "<span><i style=\"border:1.5px dashed var(--inner)\"></i>computed in several kernels</span>"
      "<span>A box is a kernel; an orange edge crosses memory.</span>"
      "<span><button id=\"fit\">fit</button> <button id=\"wide\">width</button> <button "
      "id=\"full\">100%</button></span>"
      "</div>\n<div class=\"frame-of-plan\">\n";
  return out + svgElement(explanation, {}) + "</div></section>\n";
}

std::string kernelsSection(const Explanation& explanation) {
  std::string out =
      "<section><h2>Kernels, in the order they run</h2><table><thead><tr><th>#</th><th>kernel</th><th>kind</th>"
      "<th class=\"number\">ops</th><th class=\"number\">reads</th><th class=\"number\">writes</th>"
      "<th class=\"number\">predicted</th><th class=\"number\">measured</th><th>schedule</th></tr></thead><tbody>\n";
  const auto& regions = explanation.ledger.regions;
  for (size_t i = 0; i < regions.size(); ++i) {
    const LedgerRegion& r = regions[i];
    fmt::format_to(std::back_inserter(out),
                   "<tr data-kernel=\"{}\"><td>{}</td><td class=\"code\">{}</td><td>{}</td><td class=\"number\">{}</td>"
                   "<td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>"
                   "<td class=\"number\">{}</td><td>{}{}</td></tr>\n",
                   i, r.id.index, escapeHtml(r.name), escapeHtml(r.kind), r.nodes.size(), formatBytes(r.bytesRead),
                   formatBytes(r.bytesWritten), formatMicroseconds(r.microseconds),
                   r.measuredMicroseconds >= 0 ? formatMicroseconds(r.measuredMicroseconds) : "–",
                   escapeHtml(r.schedule),
                   i < explanation.kernels.size() && !explanation.kernels[i].empty()
                       ? fmt::format("<details><summary>kernel</summary><pre>{}</pre></details>",
                                     escapeHtml(explanation.kernels[i]))
                       : "");
  }
  return out + "</tbody></table></section>\n";
}

std::string edgesSection(const Explanation& explanation) {
  const auto& edges = explanation.ledger.edges;
  std::string out = fmt::format(
      "<section><h2>The ledger: every edge</h2><p>What each edge saves, or costs where it is cut.</p>\n"
      "<div class=\"legend\"><button class=\"on\" data-show=\"\">all {}</button>",
      edges.size());
  for (std::string_view name : EnumNames<EdgeDecision>::names) {
    const auto count = std::count_if(edges.begin(), edges.end(),
                                     [&](const LedgerEdge& edge) { return nameOf(edge.decision) == name; });
    if (count > 0) out += fmt::format("<button data-show=\"{0}\">{0} {1}</button>", name, count);
  }
  out +=
      "<input id=\"search\" placeholder=\"search\"></div>\n"
      "<table><thead><tr><th>from</th><th>to</th><th>decision</th><th class=\"number\">bytes</th>"
      "<th class=\"number\">time</th><th>rule</th><th>reason</th></tr></thead><tbody>\n";
  const Graph& graph = explanation.graph;
  for (const LedgerEdge& e : edges)
    fmt::format_to(
        std::back_inserter(out),
        "<tr data-decision=\"{0}\"><td class=\"code\">{1} {2}</td><td class=\"code\">{3} {4}</td>"
        "<td><span class=\"tag {0}\">{0}</span></td><td class=\"number\">{5}</td><td class=\"number\">{6}</td>"
        "<td>{7}</td><td>{8}</td></tr>\n",
        nameOf(e.decision), escapeHtml(graph.label(e.producer)), mnemonic(graph.node(e.producer).op),
        escapeHtml(graph.label(e.consumer)), mnemonic(graph.node(e.consumer).op), formatBytes(e.bytes),
        formatMicroseconds(e.microseconds), escapeHtml(e.rule), escapeHtml(e.reason));
  return out + "</tbody></table></section>\n";
}

std::string notesSection(const Explanation& explanation) {
  if (explanation.ledger.notes.empty()) return {};
  std::string out = "<section><h2>Notes</h2><ul>\n";
  for (const std::string& note : explanation.ledger.notes) out += "<li>" + escapeHtml(note) + "</li>\n";
  return out + "</ul></section>\n";
}

}  // namespace

std::string explainHtml(const Explanation& explanation) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>@{}: plan</title>\n"
      "<style>{}{}{}</style></head>\n<body>\n",
      escapeHtml(explanation.graph.name), kPalette, kSvgStyle, kPageStyle);
  out += heading(explanation) + planSection(explanation) + kernelsSection(explanation) + edgesSection(explanation) +
         notesSection(explanation);
  out += "<section><h2>The graph as planned</h2><details><summary>text</summary><pre>" +
         escapeHtml(print(explanation.graph)) + "</pre></details></section>\n";
  out += fmt::format("<footer>Made by <code>tokamak explain</code>.</footer>\n<script>{}</script>\n</body></html>\n",
                     kPageScript);
  return out;
}

}  // namespace tokamak
