#include "driver/explain_svg.h"

#include <fmt/format.h>

#include "driver/explain_drawing.h"

namespace tokamak {

namespace {

constexpr double kMargin = 16;

/// A line through the points, with its bends rounded: vertical at both ends of every stretch.
std::string pathOf(const std::vector<LayoutPoint>& route) {
  std::string out = fmt::format("M{:.1f} {:.1f}", route[0].x, route[0].y);
  for (size_t i = 1; i < route.size(); ++i) {
    const LayoutPoint &a = route[i - 1], &b = route[i];
    if (std::abs(a.x - b.x) < 0.5) {
      out += fmt::format("L{:.1f} {:.1f}", b.x, b.y);
    } else {
      const double middle = (a.y + b.y) / 2;
      out += fmt::format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", a.x, middle, b.x, middle, b.x, b.y);
    }
  }
  return out;
}

std::string textAt(std::string_view style, double x, double y, std::string_view text) {
  return fmt::format(R"(<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>)", style, x, y, escapeHtml(text));
}

std::string rectangle(std::string_view style, LayoutPoint corner, LayoutBox size, double radius) {
  return fmt::format(R"(<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="{}"/>)", style,
                     corner.x, corner.y, size.width, size.height, radius);
}

std::string drawEdge(const DrawnEdge& edge) {
  return fmt::format("<g class=\"edge {}\"><title>{}</title><path d=\"{}\"{}/></g>\n", edge.style,
                     escapeHtml(edge.title), pathOf(edge.route),
                     edge.style == "inner" ? "" : " marker-end=\"url(#arrow)\"");
}

std::string drawLabel(const DrawnEdge& edge) {
  if (edge.label.empty()) return {};
  const LayoutPoint& end = edge.route.back();
  return textAt("bytes", end.x, end.y - 13, edge.label) + "\n";
}

std::string drawBox(const DrawnBox& box, const std::string& kind) {
  const double middle = box.corner.x + box.size.width / 2;
  std::string out = fmt::format("<g class=\"box {} {}\"", box.style, kind);
  if (box.region >= 0) out += fmt::format(" data-kernel=\"{}\"", box.region);
  out += fmt::format("><title>{}</title>", escapeHtml(box.title));
  out += rectangle("frame", box.corner, box.size, box.region >= 0 ? 9 : 11);
  double y = box.corner.y + (box.region >= 0 ? 17 : 16);
  for (size_t i = 0; i < box.lines.size(); ++i, y += box.region >= 0 ? 15 : 13)
    out += textAt(i == 0 ? "name" : "detail", middle, y, box.lines[i]);
  out += "\n";
  for (const DrawnEdge& edge : box.edges) out += drawEdge(edge);
  for (const DrawnOp& op : box.ops) {
    out += fmt::format("<g class=\"op {}{}{}\"><title>{}</title>", op.family, op.stored ? " stored" : "",
                       op.replicated ? " replicated" : "", escapeHtml(op.title));
    out += rectangle("", op.corner, op.size, 5);
    out += textAt("", op.corner.x + op.size.width / 2, op.corner.y + op.size.height / 2 + 3.6, op.text) + "</g>\n";
  }
  return out + "</g>\n";
}

}  // namespace

std::string svgElement(const Explanation& explanation, std::string_view style) {
  const Drawing drawing = drawPlan(explanation);
  const double width = drawing.width + 2 * kMargin, height = drawing.height + 2 * kMargin;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plan\" viewBox=\"{:.0f} {:.0f} {:.0f} {:.0f}\" "
      "width=\"{:.0f}\" height=\"{:.0f}\" role=\"img\">\n<title>{}</title>\n",
      -kMargin, -kMargin, width, height, width, height, escapeHtml("the plan of @" + explanation.graph.name));
  if (!style.empty()) out += fmt::format("<style>\n{}</style>\n", style);
  out +=
      R"(<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6.5" markerHeight="6.5" orient="auto">)"
      "<path class=\"tip\" d=\"M0 0.5L8 4L0 7.5Z\"/></marker></defs>\n";
  for (const DrawnEdge& edge : drawing.edges) out += drawEdge(edge);
  for (const DrawnBox& box : drawing.boxes)
    out += drawBox(box, box.region >= 0 ? "kind-" + explanation.ledger.regions[static_cast<size_t>(box.region)].kind
                                        : std::string());
  for (const DrawnEdge& edge : drawing.edges) out += drawLabel(edge);
  return out + "</svg>\n";
}

std::string explainSvg(const Explanation& explanation) {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" +
         svgElement(explanation, fmt::format("{}\n{}", kPalette, kSvgStyle));
}

}  // namespace tokamak
