#include "sparse/stream/picture.h"

#include <fmt/format.h>

#include <cmath>

#include "support/layered_layout.h"

namespace tokamak::stream {

namespace {

constexpr double kMargin = 16;
constexpr std::array<std::string_view, 3> kColours = {"#c2571a", "#3567b0", "#2f7d4f"};  // crd, ref, val

constexpr std::string_view kStyle = R"(
svg { background: #fff; font-family: system-ui, sans-serif; font-size: 11px; }
.node rect { stroke: #555; stroke-width: 1; }
.node text { text-anchor: middle; fill: #222; }
.node .note { fill: #666; font-size: 9.5px; }
.edge path { fill: none; stroke-width: 1.2; opacity: .8; }
.edge:hover path { stroke-width: 3; opacity: 1; }
)";

std::string fillOf(const Node& node, double heat) {
  if (heat >= 0) {  // from white over yellow to red
    const double h = std::min(heat, 1.0);
    return fmt::format("rgb(255,{:.0f},{:.0f})", 255 - 170 * h * h, 235 - 205 * std::sqrt(h));
  }
  if (isWrite(node.block) || std::holds_alternative<Root>(node.block)) return "#e9e9ef";
  return std::holds_alternative<Broadcast>(node.block) ? "#fafafa" : "#fff6e0";
}

std::string streamTitle(const Stream& stream) {
  std::string text = fmt::format("%{}: {} of rank {}", stream.name, nameOf(stream.kind), stream.rank);
  if (!stream.block.isNumber()) text += ", blocks " + describe(stream.block);
  return text;
}

std::string pathOf(const std::vector<LayoutPoint>& route) {
  std::string out = fmt::format("M{:.1f} {:.1f}", route[0].x, route[0].y);
  for (size_t i = 1; i < route.size(); ++i) {
    const LayoutPoint &a = route[i - 1], &b = route[i];
    const double middle = (a.y + b.y) / 2;
    out += fmt::format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", a.x, middle, b.x, middle, b.x, b.y);
  }
  return out;
}

/// A node without what its block says, a label that is long.
LayoutBox boxFor(const std::string& name, const NodeNote& note) {
  const size_t letters = std::max(name.size(), note.line.size());
  return {std::max(44.0, 6.4 * static_cast<double>(letters) + 14), note.line.empty() ? 22.0 : 35.0};
}

struct Edges {
  std::vector<LayoutEdge> layout;
  std::vector<StreamId> streams;
};

Edges edgesOf(const Graph& graph) {
  Edges edges;
  const Wiring wiring = wiringOf(graph);
  for (size_t s = 0; s < graph.streams().size(); ++s)
    for (const Port& from : wiring.producers[s])
      for (const Port& to : wiring.consumers[s]) {
        edges.layout.push_back({static_cast<int>(from.node.index), static_cast<int>(to.node.index), 1});
        edges.streams.emplace_back(s);
      }
  return edges;
}

std::string nodeElement(const Node& node, const std::string& name, const NodeNote& note, LayoutPoint at,
                        LayoutBox box) {
  const double middle = at.x + box.width / 2;
  std::string title = note.title.empty() ? node.label : note.title;
  std::string out = fmt::format("<g class=\"node\"><title>{}</title>", escapeMarkup(title.empty() ? name : title));
  out += fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="5" fill="{}"/>)", at.x, at.y,
                     box.width, box.height, fillOf(node, note.heat));
  out += fmt::format(R"(<text x="{:.1f}" y="{:.1f}">{}</text>)", middle, at.y + 15, escapeMarkup(name));
  if (!note.line.empty())
    out += fmt::format(R"(<text class="note" x="{:.1f}" y="{:.1f}">{}</text>)", middle, at.y + 28,
                       escapeMarkup(note.line));
  return out + "</g>\n";
}

}  // namespace

std::string escapeMarkup(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string drawDot(const Graph& graph) {
  std::string out =
      fmt::format("digraph \"{}\" {{\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n", graph.name);
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    std::string label = describe(graph.nodes()[n].block);
    std::erase(label, '"');
    out += fmt::format("  n{} [label=\"{}\"];\n", n, label);
  }
  const Edges edges = edgesOf(graph);
  for (size_t e = 0; e < edges.layout.size(); ++e) {
    const Stream& stream = graph.stream(edges.streams[e]);
    out += fmt::format("  n{} -> n{} [color=\"{}\", label=\"{}\", fontsize=8];\n", edges.layout[e].from,
                       edges.layout[e].to, kColours[static_cast<size_t>(stream.kind)], stream.name);
  }
  return out + "}\n";
}

std::string drawSvg(const Graph& graph, const NodeNotes& notes) {
  std::vector<std::string> names;
  std::vector<NodeNote> noteOf;
  std::vector<LayoutBox> boxes;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    names.push_back(describe(graph.nodes()[n].block));
    noteOf.push_back(notes ? notes(NodeId(n)) : NodeNote{});
    boxes.push_back(boxFor(names[n], noteOf[n]));
  }
  const Edges edges = edgesOf(graph);
  const LayeredLayout layout = layoutLayers(boxes, edges.layout, {30, 16, 8});
  const double width = layout.width + 2 * kMargin, height = layout.height + 2 * kMargin;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{0:.0f} {0:.0f} {1:.0f} {2:.0f}\" width=\"{1:.0f}\" "
      "height=\"{2:.0f}\" role=\"img\">\n<title>stream graph @{3}</title>\n<style>{4}</style>\n",
      -kMargin, width, height, escapeMarkup(graph.name), kStyle);
  for (size_t e = 0; e < edges.layout.size(); ++e) {
    const Stream& stream = graph.stream(edges.streams[e]);
    out += fmt::format("<g class=\"edge\"><title>{}</title><path stroke=\"{}\" d=\"{}\"/></g>\n",
                       escapeMarkup(streamTitle(stream)), kColours[static_cast<size_t>(stream.kind)],
                       pathOf(layout.routes[e]));
  }
  for (size_t n = 0; n < names.size(); ++n)
    out += nodeElement(graph.nodes()[n], names[n], noteOf[n], layout.corners[n], boxes[n]);
  return out + "</svg>\n";
}

}  // namespace tokamak::stream
