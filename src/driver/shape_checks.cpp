#include "driver/shape_checks.h"

#include <fmt/format.h>

namespace tokamak {

namespace {

using runtime::ShapeCheck;

class Collector {
 public:
  explicit Collector(const Graph& graph) : graph_(graph) {}

  std::vector<ShapeCheck> run() {
    for (size_t i = 0; i < graph_.size(); ++i) {
      const Node& node = graph_.node(ValueId(i));
      what_ = fmt::format("{} {}", mnemonic(node.op), graph_.label(ValueId(i)));
      location_ = node.location;
      if (std::holds_alternative<Reshape>(node.op))
        equal(node.type.elements(), graph_.type(node.operands[0]).elements());
      if (auto* op = std::get_if<Slice>(&node.op)) slice(node, *op);
      if (auto* op = std::get_if<Reduce>(&node.op)) fold(node, *op);
      if (auto* op = std::get_if<AdaptivePool>(&node.op)) resample(node, op->spatial);
      if (auto* op = std::get_if<Resize>(&node.op)) resample(node, op->spatial);
      if (auto* op = std::get_if<Gather>(&node.op)) {
        within(graph_.type(node.operands[1]).shape, graph_.type(node.operands[0]).shape, op->axis);
        somethingToRead(node, op->axis);
      }
      if (auto* op = std::get_if<IndexSelect>(&node.op)) somethingToRead(node, op->axis);
      if (auto* op = std::get_if<Scatter>(&node.op))
        within(graph_.type(node.operands[1]).shape, graph_.type(node.operands[0]).shape, op->axis);
    }
    return std::move(out_);
  }

 private:
  void equal(const Dim& a, const Dim& b) {
    if (!(a == b)) out_.push_back({ShapeCheck::Kind::equal, a, b, what_, location_});
  }
  void atMost(const Dim& a, const Dim& b) {
    if (const auto slack = (b - a).constant(); !slack || *slack < 0)
      out_.push_back({ShapeCheck::Kind::atMost, a, b, what_, location_});
  }
  /// The last element of every axis lies within the operand; an empty result reads nothing.
  void slice(const Node& node, const Slice& op) {
    const Shape& from = graph_.type(node.operands[0]).shape;
    for (size_t a = 0; a < from.size(); ++a) {
      atMost(0, op.start[a]);
      const Dim& n = node.type.shape[a];
      const Dim last = op.start[a] + (n - Dim(1)) * Dim(op.stride[a]) + Dim(1);
      if (const auto slack = (from[a] - last).constant(); slack && *slack >= 0) continue;
      atMost(last * Dim::min(n, 1), from[a]);
    }
  }
  /// Extremes of nothing have no value.
  void fold(const Node& node, const Reduce& op) {
    if (op.identity) return;
    const bool extreme = op.kind == ReduceKind::max || op.kind == ReduceKind::min || op.kind == ReduceKind::argmax ||
                         op.kind == ReduceKind::argmin;
    if (!extreme) return;
    for (Axis a : op.axes) atMost(1, graph_.type(node.operands[0]).shape[a]);
  }
  /// There is something to read along every resampled axis.
  void resample(const Node& node, int64_t spatial) {
    const Shape& from = graph_.type(node.operands[0]).shape;
    for (size_t a = from.size() - static_cast<size_t>(spatial); a < from.size(); ++a) atMost(1, from[a]);
  }
  /// An index finds something along `axis`, unless the result is empty: a place in nothing is no memory of ours.
  void somethingToRead(const Node& node, Axis axis) {
    const Dim& from = graph_.type(node.operands[0]).shape[axis];
    if (const auto extent = from.constant(); extent && *extent > 0) return;
    Dim some = 1;
    for (const Dim& extent : node.type.shape) some = some * Dim::min(extent, 1);
    atMost(some, from);
  }
  void within(const Shape& index, const Shape& from, Axis axis) {
    for (size_t a = 0; a < index.size(); ++a)
      if (static_cast<Axis>(a) != axis) atMost(index[a], from[a]);
  }

  const Graph& graph_;
  std::string what_;
  Location location_;
  std::vector<ShapeCheck> out_;
};

}  // namespace

std::vector<ShapeCheck> shapeChecks(const Graph& graph) { return Collector(graph).run(); }

}  // namespace tokamak
