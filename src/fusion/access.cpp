#include "fusion/access.h"

#include <unordered_set>

#include "fusion/reshape_groups.h"
#include "support/hash.h"

namespace tokamak {

namespace {

/// An axis index as a sum of domain axes times numbers, plus what is not.
struct AxisMap {
  std::vector<Dim> coefficient;
  std::vector<bool> opaque;
  Dim offset;
  bool masked = false;
};

class Walker {
 public:
  Walker(const Graph& graph, const Shape& domain, const std::function<bool(ValueId)>& isLeaf, AccessMap& out)
      : graph_(graph), rank_(domain.size()), isLeaf_(isLeaf), out_(out) {}

  void visit(ValueId v, const std::vector<AxisMap>& index) {
    if (!seen_.insert(keyOf(v, index)).second) return;
    const Node& node = graph_.node(v);
    if (isLeaf_(v)) return leaf(v, node.type.shape, index);
    std::visit([&](const auto& op) { visitOp(node, op, index); }, node.op);
  }

  std::vector<AxisMap> identity() const {
    std::vector<AxisMap> out(rank_, zero());
    for (size_t i = 0; i < rank_; ++i) out[i].coefficient[i] = 1;
    return out;
  }

 private:
  AxisMap zero() const { return {std::vector<Dim>(rank_, Dim(0)), std::vector<bool>(rank_, false), Dim(0), false}; }

  AxisMap scaled(AxisMap map, const Dim& by) const {
    for (auto& c : map.coefficient) c = c * by;
    map.offset = map.offset * by;
    return map;
  }
  AxisMap sum(AxisMap a, const AxisMap& b) const {
    for (size_t i = 0; i < rank_; ++i) {
      a.coefficient[i] = a.coefficient[i] + b.coefficient[i];
      if (b.opaque[i]) a.opaque[i] = true;
    }
    a.offset = a.offset + b.offset;
    a.masked |= b.masked;
    return a;
  }
  /// A function of `map` that is no sum of axes.
  AxisMap opaque(const AxisMap& map) const {
    AxisMap out = zero();
    out.masked = map.masked;
    for (size_t i = 0; i < rank_; ++i) out.opaque[i] = map.opaque[i] || !map.coefficient[i].is(0);
    return out;
  }
  void pin(const AxisMap& map) {
    for (size_t i = 0; i < rank_; ++i)
      if (map.opaque[i] || !map.coefficient[i].is(0)) out_.pinned[i] = true;
  }

  uint64_t keyOf(ValueId v, const std::vector<AxisMap>& index) const {
    uint64_t h = v.index;
    for (const auto& map : index)
      for (size_t i = 0; i < rank_; ++i) h = hashMix(h, map.coefficient[i].hash() ^ (map.opaque[i] ? 0x9e37 : 0));
    for (const auto& map : index) h = hashMix(h, map.offset.hash() + map.masked);
    return h;
  }

  void leaf(ValueId v, const Shape& shape, const std::vector<AxisMap>& index) {
    AxisMap flat = zero();
    Dim stride = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      if (!shape[i].is(1)) flat = sum(flat, scaled(index[i], stride));
      stride = stride * shape[i];
    }
    pinOpaque(flat);
    out_.loads.push_back({v, flat.coefficient, flat.opaque, flat.offset, flat.masked});
  }
  void pinOpaque(const AxisMap& map) {
    for (size_t i = 0; i < rank_; ++i)
      if (map.opaque[i]) out_.pinned[i] = true;
  }

  template <class T>
  void visitOp(const Node& node, const T&, const std::vector<AxisMap>& index) {
    for (ValueId operand : node.operands) visit(operand, index);
  }
  void visitOp(const Node& node, const Iota& op, const std::vector<AxisMap>& index) { pin(index[op.axis]); }
  void visitOp(const Node& node, const Random&, const std::vector<AxisMap>& index) {
    leaf(ValueId{}, node.type.shape, index);
    for (ValueId operand : node.operands) visit(operand, {});
  }
  void visitOp(const Node& node, const Broadcast& op, const std::vector<AxisMap>& index) {
    const Shape& from = graph_.type(node.operands[0]).shape;
    std::vector<AxisMap> inner;
    for (size_t i = 0; i < from.size(); ++i) inner.push_back(from[i].is(1) ? zero() : index[op.axes[i]]);
    visit(node.operands[0], inner);
  }
  void visitOp(const Node& node, const Transpose& op, const std::vector<AxisMap>& index) {
    std::vector<AxisMap> inner(index.size(), zero());
    for (size_t i = 0; i < index.size(); ++i) inner[op.perm[i]] = index[i];
    visit(node.operands[0], inner);
  }
  void visitOp(const Node& node, const Slice& op, const std::vector<AxisMap>& index) {
    std::vector<AxisMap> inner = index;
    for (size_t i = 0; i < index.size(); ++i) {
      inner[i] = scaled(inner[i], Dim(op.stride[i]));
      inner[i].offset = inner[i].offset + op.start[i];
    }
    visit(node.operands[0], inner);
  }
  void visitOp(const Node& node, const Flip& op, const std::vector<AxisMap>& index) {
    std::vector<AxisMap> inner = index;
    for (Axis a : op.axes) {
      inner[a] = scaled(inner[a], Dim(-1));
      inner[a].offset = inner[a].offset + node.type.shape[a] - Dim(1);
    }
    visit(node.operands[0], inner);
  }
  void visitOp(const Node& node, const Pad& op, const std::vector<AxisMap>& index) {
    std::vector<AxisMap> inner = index;
    for (size_t i = 0; i < index.size(); ++i)
      if (!op.low[i].is(0) || !op.high[i].is(0)) {
        pin(index[i]);
        inner[i].masked = true;
        inner[i].offset = inner[i].offset - op.low[i];
      }
    visit(node.operands[0], inner);
  }
  void visitOp(const Node& node, const Concat& op, const std::vector<AxisMap>& index) {
    pin(index[op.axis]);
    std::vector<AxisMap> inner = index;
    inner[op.axis].masked = true;
    for (ValueId operand : node.operands) {
      visit(operand, inner);
      inner[op.axis].offset = inner[op.axis].offset - graph_.type(operand).shape[op.axis];
    }
  }
  void visitOp(const Node& node, const Reshape&, const std::vector<AxisMap>& index) {
    const Shape &from = graph_.type(node.operands[0]).shape, &to = node.type.shape;
    std::vector<AxisMap> inner(from.size(), zero());
    for (const ReshapeGroup& group : reshapeGroups(from, to)) {
      AxisMap flat = zero();
      Dim stride = 1;
      for (size_t k = group.toEnd; k-- > group.toBegin;) {
        if (!to[k].is(1)) flat = sum(flat, scaled(index[k], stride));
        stride = stride * to[k];
      }
      std::vector<size_t> wide;
      for (size_t k = group.fromBegin; k < group.fromEnd; ++k)
        if (!from[k].is(1)) wide.push_back(k);
      for (size_t k : wide) inner[k] = wide.size() == 1 ? flat : opaque(flat);
      if (wide.size() > 1) pin(flat);
    }
    visit(node.operands[0], inner);
  }
  void visitOp(const Node& node, const Gather& op, const std::vector<AxisMap>& index) {
    visit(node.operands[1], index);
    std::vector<AxisMap> inner = index;
    AxisMap all = zero();
    for (const auto& map : index) all = sum(all, map);
    inner[op.axis] = opaque(all);
    for (size_t i = 0; i < index.size(); ++i)
      if (Axis(i) != op.axis) inner[i] = index[i];
    visit(node.operands[0], inner);
  }
  void visitOp(const Node& node, const IndexSelect& op, const std::vector<AxisMap>& index) {
    const size_t rank = graph_.type(node.operands[1]).rank();
    const std::vector<AxisMap> where(index.begin() + op.axis, index.begin() + op.axis + rank);
    visit(node.operands[1], where);
    std::vector<AxisMap> inner(index.begin(), index.begin() + op.axis);
    AxisMap all = zero();
    for (const auto& map : where) all = sum(all, map);
    inner.push_back(opaque(all));
    inner.insert(inner.end(), index.begin() + op.axis + rank, index.end());
    visit(node.operands[0], inner);
  }
  void window(const Node& node, size_t spatial, const std::vector<AxisMap>& index) {
    std::vector<AxisMap> inner = index;
    for (size_t i = index.size() - spatial; i < index.size(); ++i) {
      pin(index[i]);
      inner[i] = opaque(index[i]);
    }
    visit(node.operands[0], inner);
  }
  void visitOp(const Node& node, const Pool& op, const std::vector<AxisMap>& index) {
    window(node, op.window.size(), index);
  }
  void visitOp(const Node& node, const AdaptivePool& op, const std::vector<AxisMap>& index) {
    window(node, op.spatial, index);
  }
  void visitOp(const Node& node, const Resize& op, const std::vector<AxisMap>& index) {
    window(node, op.spatial, index);
  }

  const Graph& graph_;
  size_t rank_;
  const std::function<bool(ValueId)>& isLeaf_;
  AccessMap& out_;
  std::unordered_set<uint64_t> seen_;
};

}  // namespace

AccessMap mapAccesses(const Graph& graph, const Shape& domain, const std::vector<ValueId>& roots,
                      const std::function<bool(ValueId)>& isLeaf) {
  AccessMap out;
  out.pinned.assign(domain.size(), false);
  Walker walker(graph, domain, isLeaf, out);
  for (ValueId root : roots) walker.visit(root, walker.identity());
  return out;
}

std::vector<LoopAxis> collapse(const Shape& domain, const AccessMap& accesses, const std::vector<bool>& cut) {
  std::vector<LoopAxis> groups;
  bool cutHere = false;
  for (size_t i = 0; i < domain.size(); ++i) {
    if (!cut.empty() && cut[i]) cutHere = true;
    if (domain[i].is(1)) continue;
    bool join = !groups.empty() && !cutHere && !accesses.pinned[i] && !accesses.pinned[groups.back().last];
    if (join)
      for (const Access& access : accesses.loads)
        if (!(access.stride[groups.back().last] == access.stride[i] * domain[i])) join = false;
    if (join)
      groups.back() = {groups.back().first, i, groups.back().extent * domain[i]};
    else
      groups.push_back({i, i, domain[i]});
    cutHere = false;
  }
  return groups;
}

}  // namespace tokamak
