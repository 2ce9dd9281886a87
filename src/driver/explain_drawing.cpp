#include "driver/explain_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <unordered_map>

namespace tokamak {

namespace {

constexpr double kOpChar = 6.3, kTextChar = 6.9;  // widths of a character, in ops and in headings
constexpr double kOpHeight = 20, kHeading = 48, kPadding = 12, kLabelRoom = 76;
constexpr size_t kMostOps = 80;  // above it a kernel is drawn as a summary

template <class... T>
bool isAny(const Op& op) {
  return (std::holds_alternative<T>(op) || ...);
}

std::string familyOf(const Op& op) {
  if (isAny<Reduce, Scan, Pool, AdaptivePool>(op)) return "fold";
  if (isAny<MatMul, Conv, Attention>(op)) return "product";
  if (isAny<Broadcast, Reshape, Transpose, Slice, Pad, Concat, Flip>(op)) return "view";
  if (isAny<Gather, IndexSelect, Scatter, Resize>(op)) return "index";
  if (isAny<Input, Constant, Full, Iota, Random>(op)) return "source";
  return "pointwise";
}

/// What stands in the op's box: its mnemonic, or the kind where that says more.
std::string captionOf(const Op& op) {
  if (const auto* reduce = std::get_if<Reduce>(&op)) return std::string(nameOf(reduce->kind));
  if (const auto* scan = std::get_if<Scan>(&op)) return std::string(nameOf(scan->kind));
  return std::string(mnemonic(op));
}

std::string shorten(std::string text, size_t most) {
  if (text.size() <= most) return text;
  size_t end = most - 1;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;  // not inside a UTF-8 sequence
  return text.substr(0, end) + "…";
}

void moveContents(DrawnBox& box, LayoutPoint by) {
  for (DrawnOp& op : box.ops) op.corner = {op.corner.x + by.x, op.corner.y + by.y};
  for (DrawnEdge& edge : box.edges)
    for (LayoutPoint& p : edge.route) p = {p.x + by.x, p.y + by.y};
}

/// Makes a box at least `width` wide and keeps what is in it in the middle.
void widen(DrawnBox& box, double width) {
  if (width <= box.size.width) return;
  moveContents(box, {(width - box.size.width) / 2, 0});
  box.size.width = width;
}

class Painter {
 public:
  explicit Painter(const Explanation& explanation) : explanation_(explanation), graph_(explanation.graph) {}

  Drawing run() {
    indexLedger();
    addKernels();
    connectKernels();
    connectOutputs();
    layOut();
    return std::move(drawing_);
  }

 private:
  void indexLedger();
  void addKernels();
  DrawnBox drawKernel(size_t index) const;
  void drawOps(const LedgerRegion& region, DrawnBox& box) const;
  void drawSummary(const LedgerRegion& region, DrawnBox& box) const;
  void connectKernels();
  void connectOutputs();
  void connect(ValueId value, int toBox, const std::vector<ValueId>& readers);
  int boxOf(ValueId value);
  int addPill(std::string style, std::vector<std::string> lines, std::string title);
  void layOut();
  std::string irLine(ValueId v) const;
  std::string edgeTitle(ValueId producer, ValueId consumer) const;

  const Explanation& explanation_;
  const Graph& graph_;
  Drawing drawing_;
  std::vector<LayoutEdge> ends_;                     // of drawing_.edges
  std::unordered_map<std::string, std::string> ir_;  // line of each label
  std::map<std::pair<ValueId, ValueId>, const LedgerEdge*> ledgerEdges_;
  std::unordered_map<ValueId, int> boxOf_;     // where a value is found in memory
  std::unordered_map<ValueId, int> computed_;  // how many kernels compute a value
};

void Painter::indexLedger() {
  for (const LedgerEdge& edge : explanation_.ledger.edges) ledgerEdges_[{edge.producer, edge.consumer}] = &edge;
  for (const LedgerRegion& region : explanation_.ledger.regions)
    for (ValueId v : region.nodes) ++computed_[v];
  std::istringstream text(print(graph_));
  for (std::string line; std::getline(text, line);) {
    const size_t begin = line.find_first_not_of(' '), equals = line.find(" = ");
    if (begin != std::string::npos && equals != std::string::npos && line[begin] == '%')
      ir_.emplace(line.substr(begin, equals - begin), line.substr(begin));
  }
}

std::string Painter::irLine(ValueId v) const {
  const auto it = ir_.find(graph_.label(v));
  return shorten(it != ir_.end() ? it->second : graph_.label(v) + ": " + graph_.type(v).str(), 400);
}

std::string Painter::edgeTitle(ValueId producer, ValueId consumer) const {
  std::string out = fmt::format("{} → {}", graph_.label(producer), graph_.label(consumer));
  const auto it = ledgerEdges_.find({producer, consumer});
  if (it == ledgerEdges_.end()) return out;
  const LedgerEdge& edge = *it->second;
  return fmt::format("{}: {} ({}), {}, {}\n{}", out, nameOf(edge.decision), edge.rule, formatBytes(edge.bytes),
                     formatMicroseconds(edge.microseconds), edge.reason);
}

void Painter::addKernels() {
  for (size_t i = 0; i < explanation_.ledger.regions.size(); ++i) {
    for (ValueId v : explanation_.ledger.regions[i].outputs) boxOf_[v] = static_cast<int>(drawing_.boxes.size());
    drawing_.boxes.push_back(drawKernel(i));
  }
}

DrawnBox Painter::drawKernel(size_t index) const {
  const LedgerRegion& region = explanation_.ledger.regions[index];
  DrawnBox box;
  box.style = "kernel";
  box.region = static_cast<int>(index);
  const std::string time = region.measuredMicroseconds >= 0
                               ? formatMicroseconds(region.measuredMicroseconds) + " measured"
                               : formatMicroseconds(region.microseconds) + " predicted";
  box.lines = {shorten(region.name, 36), fmt::format("{} · {}", region.kind, time),
               fmt::format("{} in · {} out", formatBytes(region.bytesRead), formatBytes(region.bytesWritten))};
  box.title = fmt::format("{}: {}", region.name, region.schedule);
  if (region.nodes.size() > kMostOps)
    drawSummary(region, box);
  else
    drawOps(region, box);
  for (const std::string& line : box.lines) widen(box, static_cast<double>(line.size()) * kTextChar + 2 * kPadding);
  return box;
}

void Painter::drawOps(const LedgerRegion& region, DrawnBox& box) const {
  std::unordered_map<ValueId, int> place;
  std::vector<LayoutBox> sizes;
  std::vector<LayoutEdge> edges;
  for (ValueId v : region.nodes) {
    const Op& what = graph_.node(v).op;
    DrawnOp op{captionOf(what), irLine(v), familyOf(what)};
    op.stored = std::find(region.outputs.begin(), region.outputs.end(), v) != region.outputs.end();
    op.replicated = computed_.at(v) > 1;
    op.size = {std::max(34.0, static_cast<double>(op.text.size()) * kOpChar + 12), kOpHeight};
    for (ValueId operand : graph_.node(v).operands)
      if (auto it = place.find(operand); it != place.end()) {
        edges.push_back({it->second, static_cast<int>(box.ops.size())});
        box.edges.push_back({{}, {}, edgeTitle(operand, v), "inner"});
      }
    place[v] = static_cast<int>(box.ops.size());
    sizes.push_back(op.size);
    box.ops.push_back(std::move(op));
  }
  LayeredLayout layout = layoutLayers(sizes, edges, {.layer = 15, .box = 8, .edge = 6});
  for (size_t i = 0; i < box.ops.size(); ++i)
    box.ops[i].corner = {layout.corners[i].x + kPadding, layout.corners[i].y + kHeading + kPadding};
  for (size_t e = 0; e < edges.size(); ++e) {
    box.edges[e].route = std::move(layout.routes[e]);
    for (LayoutPoint& p : box.edges[e].route) p = {p.x + kPadding, p.y + kHeading + kPadding};
  }
  box.size = {layout.width + 2 * kPadding, layout.height + kHeading + 2 * kPadding};
}

void Painter::drawSummary(const LedgerRegion& region, DrawnBox& box) const {
  std::map<std::string_view, int> counts;
  for (ValueId v : region.nodes) ++counts[mnemonic(graph_.node(v).op)];
  std::vector<std::pair<int, std::string_view>> sorted;
  for (const auto& [name, count] : counts) sorted.emplace_back(-count, name);
  std::sort(sorted.begin(), sorted.end());
  double y = kHeading + kPadding;
  for (const auto& [count, name] : sorted) {
    const std::string text = fmt::format("{} × {}", -count, name);
    DrawnOp op{text, text, "pointwise"};
    op.size = {static_cast<double>(op.text.size()) * kOpChar + 12, kOpHeight};
    op.corner = {kPadding, y};
    y += kOpHeight + 6;
    box.size.width = std::max(box.size.width, op.size.width + 2 * kPadding);
    box.ops.push_back(std::move(op));
  }
  box.size.height = y + kPadding;
}

int Painter::addPill(std::string style, std::vector<std::string> lines, std::string title) {
  DrawnBox box{std::move(style), std::move(lines), std::move(title)};
  size_t longest = 0;
  for (std::string& line : box.lines) {
    line = shorten(std::move(line), 30);
    longest = std::max(longest, line.size());
  }
  box.size = {static_cast<double>(longest) * kOpChar + 20, 10 + 14 * static_cast<double>(box.lines.size())};
  drawing_.boxes.push_back(std::move(box));
  return static_cast<int>(drawing_.boxes.size()) - 1;
}

/// The box where a value is found in memory: the kernel that stores it, or a pill for an input, a constant or a view.
int Painter::boxOf(ValueId value) {
  if (auto it = boxOf_.find(value); it != boxOf_.end()) return it->second;
  const Node& node = graph_.node(value);
  const bool input = std::holds_alternative<Input>(node.op);
  const bool source = input || node.operands.empty();
  const std::string head = source ? graph_.label(value) : std::string(mnemonic(node.op));
  const int box = addPill(input    ? "input"
                          : source ? "constant"
                                   : "view",
                          {head, graph_.type(value).str()}, irLine(value));
  boxOf_[value] = box;
  for (ValueId operand : node.operands) connect(operand, box, {value});
  return box;
}

void Painter::connect(ValueId value, int toBox, const std::vector<ValueId>& readers) {
  const int from = boxOf(value);
  if (from == toBox) return;
  const bool view = drawing_.boxes[static_cast<size_t>(toBox)].style == "view";
  DrawnEdge edge;
  edge.style = view ? "view" : "memory";
  if (!view) edge.label = formatBytes(bytesOf(explanation_, value));
  for (ValueId reader : readers) edge.title += (edge.title.empty() ? "" : "\n") + edgeTitle(value, reader);
  if (edge.title.empty()) edge.title = graph_.label(value) + ": " + graph_.type(value).str();
  const bool mainFlow = drawing_.boxes[static_cast<size_t>(from)].style != "input";
  ends_.push_back({from, toBox, mainFlow ? 6.0 : 1.0});
  drawing_.edges.push_back(std::move(edge));
}

void Painter::connectKernels() {
  const auto& regions = explanation_.ledger.regions;
  for (size_t i = 0; i < regions.size(); ++i)
    for (ValueId value : regions[i].inputs) {
      std::vector<ValueId> readers;
      for (ValueId v : regions[i].nodes) {
        const auto& operands = graph_.node(v).operands;
        if (std::find(operands.begin(), operands.end(), value) != operands.end()) readers.push_back(v);
      }
      connect(value, static_cast<int>(i), readers);
    }
}

void Painter::connectOutputs() {
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const ValueId v = graph_.outputs()[i];
    const std::string head = graph_.outputs().size() == 1 ? "return" : fmt::format("return {}", i);
    const int pill = addPill("output", {head, graph_.type(v).str()}, irLine(v));
    connect(v, pill, {});
  }
}

void Painter::layOut() {
  std::vector<LayoutBox> sizes;
  std::vector<int> entering(drawing_.boxes.size(), 0);
  for (const LayoutEdge& end : ends_) ++entering[static_cast<size_t>(end.to)];
  for (size_t i = 0; i < drawing_.boxes.size(); ++i) {
    DrawnBox& box = drawing_.boxes[i];
    widen(box, kLabelRoom * entering[i]);  // labels stand side by side above a box
    sizes.push_back(box.size);
  }
  LayeredLayout layout = layoutLayers(sizes, ends_, {.layer = 56, .box = 26, .edge = 14});
  for (size_t i = 0; i < drawing_.boxes.size(); ++i) {
    drawing_.boxes[i].corner = layout.corners[i];
    moveContents(drawing_.boxes[i], layout.corners[i]);
  }
  for (size_t e = 0; e < drawing_.edges.size(); ++e) drawing_.edges[e].route = std::move(layout.routes[e]);
  drawing_.width = layout.width;
  drawing_.height = layout.height;
}

}  // namespace

Drawing drawPlan(const Explanation& explanation) { return Painter(explanation).run(); }

}  // namespace tokamak
