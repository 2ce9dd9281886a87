#include "schedule/gpu/contract.h"

#include <fmt/format.h>

#include <algorithm>

#include "fusion/cost.h"
#include "schedule/contract.h"
#include "schedule/identity.h"

namespace tokamak::schedule::gpu {

using kernel::Binding;

std::string Contract::Plan::str() const { return fmt::format("tiles {0}x{0}x{1}", tile, depth); }

Decision Contract::accepts(const Graph& graph, const Region& region) const {
  return schedule::Contract{}.accepts(graph, region);
}

Contract::Plan Contract::plan(const Graph& graph, const Region& region, const DimBindings& hints,
                              const Device& device) const {
  Plan plan;
  const Shape& shape = region.domain;
  if (shape.size() < 2) return plan;
  const double tiles = likely(elementCount(shape), hints) / (64.0 * 64.0);
  if (tiles < device.gpu->multiprocessors) plan.tile = 32, plan.side = 2;
  return plan;
}

namespace {

ExprId zero(Writer& w, DType type, int lanes) { return w.imm(identityOf(BinaryKind::add, type), type, lanes); }

class MatMulTiles {
 public:
  MatMulTiles(Lowering& l, const Contract::Plan& plan)
      : l_(l),
        w_(l.w),
        plan_(plan),
        node_(l.graph.node(l.region.contraction)),
        op_(std::get<MatMul>(node_.op)),
        shape_(node_.type.shape),
        rank_(shape_.size()),
        type_(computeType(node_.type.dtype)) {
    const Shape& a = l.graph.type(node_.operands[0]).shape;
    depth_ = op_.transposeA ? a[a.size() - 2] : a.back();
    outer_ = shape_;
    outer_[rank_ - 2] = Dim::ceilDiv(shape_[rank_ - 2], plan.tile);
    outer_[rank_ - 1] = Dim::ceilDiv(shape_[rank_ - 1], plan.tile);
    left_ = w_.shared("left", type_, Dim(int64_t{plan.tile} * plan.depth));
    right_ = w_.shared("right", type_, Dim(int64_t{plan.tile} * plan.depth));
  }

  Dim blocks() const { return elementCount(outer_); }
  int threads() const { return plan_.tile / plan_.side * (plan_.tile / plan_.side); }

  void run(ExprId b, ExprId t) {
    index_ = unflatten(IndexMath(w_, 1), {b, 0, 1, {}}, outer_);
    row0_ = w_.let("row", w_.mul(index_[rank_ - 2].base, w_.i64(plan_.tile)));
    column0_ = w_.let("column", w_.mul(index_[rank_ - 1].base, w_.i64(plan_.tile)));
    const int across = plan_.tile / plan_.side;
    const ExprId x = w_.let("x", w_.mul(w_.binary(BinaryKind::fmod, t, w_.i64(across)), w_.i64(plan_.side)));
    const ExprId y = w_.let("y", w_.mul(w_.binary(BinaryKind::div, t, w_.i64(across)), w_.i64(plan_.side)));
    std::vector<kernel::VarId> sums;
    for (int i = 0; i < plan_.side; ++i) sums.push_back(w_.declare("sum", zero(w_, type_, plan_.side)));
    l_.e.loop("k", w_.i64(0), w_.dim(depth_), plan_.depth, Binding::serial, [&](ExprId k0) {
      bring(false, t, k0);
      bring(true, t, k0);
      w_.barrier();
      l_.e.loop("d", w_.i64(0), w_.i64(plan_.depth), 1, Binding::unroll, [&](ExprId d) {
        const ExprId line = w_.mul(d, w_.i64(plan_.tile));
        const ExprId a = w_.let("a", w_.load(left_, w_.add(line, y), plan_.side));
        const ExprId c = w_.let("b", w_.load(right_, w_.add(line, x), plan_.side));
        for (int i = 0; i < plan_.side; ++i)
          w_.assign(sums[i], w_.add(w_.get(sums[i]), w_.mul(w_.splat(w_.extract(a, i), plan_.side), c)));
      });
      w_.barrier();
    });
    for (int i = 0; i < plan_.side; ++i)
      l_.e.scope([&] { store(w_.add(w_.add(row0_, y), w_.i64(i)), w_.add(column0_, x), w_.get(sums[i])); });
  }

 private:
  /// A tile of an operand, as [depth, row or column], read in the order in which it lies.
  void bring(bool second, ExprId t, ExprId k0) {
    const bool depthLast = second ? op_.transposeB : !op_.transposeA;
    const int64_t count = int64_t{plan_.tile} * plan_.depth;
    const BufferId tile = second ? right_ : left_;
    for (int64_t done = 0; done < count; done += threads()) {
      l_.e.scope([&] {
        const ExprId v = w_.let("v", w_.add(t, w_.i64(done)));
        const ExprId inner = w_.i64(depthLast ? plan_.depth : plan_.tile);
        const ExprId fast = w_.let("i", w_.binary(BinaryKind::fmod, v, inner)),
                     slow = w_.let("j", w_.binary(BinaryKind::div, v, inner));
        const ExprId d = depthLast ? fast : slow, r = depthLast ? slow : fast;
        const ExprId k = w_.let("at", w_.add(k0, d)), line = w_.let("line", w_.add(second ? column0_ : row0_, r));
        const auto load = [&](ExprId inside) {
          const ExprId x = w_.convert(operand(second, {line, 0, 1, {}}, {k, 0, 1, {}}, inside), type_);
          return inside ? w_.select(inside, x, zero(w_, type_, 1)) : x;
        };
        ExprId inside;
        const Dim& extent = shape_[second ? rank_ - 1 : rank_ - 2];
        if (!isWhole(extent, plan_.tile)) inside = w_.both(inside, w_.binary(BinaryKind::lt, line, w_.dim(extent)));
        if (!isWhole(depth_, plan_.depth)) inside = w_.both(inside, w_.binary(BinaryKind::lt, k, w_.dim(depth_)));
        if (inside) inside = w_.let("inside", inside);
        const ExprId to = w_.add(w_.mul(d, w_.i64(plan_.tile)), r);
        const auto put = [&] { w_.store(tile, to, load(inside)); };
        if (done + threads() <= count) return put();
        w_.when(w_.binary(BinaryKind::lt, v, w_.i64(count)), l_.e.scoped(put));
      });
    }
  }
  static bool isWhole(const Dim& extent, int64_t by) {
    const auto n = extent.constant();
    return n && *n % by == 0;
  }

  /// Element (line, k) of a, or (k, line) of b, for the batch axes in index_.
  ExprId operand(bool second, const Index& line, const Index& k, ExprId inside) {
    const ValueId v = node_.operands[second];
    const size_t rank = l_.graph.type(v).rank();
    const bool depthLast = second ? op_.transposeB : !op_.transposeA;
    At at{{}, 1, inside, {}};
    for (size_t i = 0; i + 2 < rank; ++i) at.index.push_back(index_[i + (rank_ - rank)]);
    at.index.push_back(depthLast ? line : k);
    at.index.push_back(depthLast ? k : line);
    return l_.e.value(v, at);
  }

  void store(ExprId row, ExprId column, ExprId sum) {
    At at{index_, plan_.side, {}, {}};
    at.index[rank_ - 2] = {w_.let("row", row), 0, 1, {}};
    at.index[rank_ - 1] = {w_.let("column", column), 1, plan_.side, {}};
    const auto known = shape_.back().constant();
    const bool wholeVectors = known && *known % plan_.side == 0;
    IndexMath m(w_, plan_.side);
    ExprId inside;
    if (!isWhole(shape_[rank_ - 2], plan_.tile))
      inside = w_.both(inside, m.below(at.index[rank_ - 2], shape_[rank_ - 2]));
    if (!isWhole(shape_.back(), plan_.tile))
      inside = w_.both(inside,
                       w_.binary(BinaryKind::lt, wholeVectors ? at.index[rank_ - 1].base : m.expr(at.index[rank_ - 1]),
                                 w_.dim(shape_.back())));
    if (inside) at.mask = w_.let("inside", inside);
    if (node_.operands.size() > 2) {
      At bias{{at.index.back()}, plan_.side, at.mask, {}};
      sum = w_.add(sum, l_.e.value(node_.operands[2], bias));
    }
    const ExprId product = w_.let("product", sum);
    l_.e.bind(l_.region.contraction, [product](const At&) { return product; });
    for (ValueId v : l_.region.outputs) storeWhere(l_, v, at, {});
  }

  Lowering& l_;
  Writer& w_;
  const Contract::Plan& plan_;
  const Node& node_;
  const MatMul& op_;
  const Shape& shape_;
  size_t rank_;
  DType type_;
  Dim depth_;
  std::vector<Dim> outer_;
  BufferId left_, right_;
  std::vector<Index> index_;
  ExprId row0_, column0_;
};

/// A convolution: a thread for every element of the result.
class ConvElements {
 public:
  explicit ConvElements(Lowering& l)
      : l_(l),
        w_(l.w),
        node_(l.graph.node(l.region.contraction)),
        op_(std::get<Conv>(node_.op)),
        shape_(node_.type.shape),
        weights_(l.graph.type(node_.operands[1]).shape),
        type_(computeType(node_.type.dtype)) {}

  void run(ExprId element) {
    const size_t rank = shape_.size();
    channel_ = op_.channelAxis(rank);
    index_ = unflatten(IndexMath(w_, 1), {element, 0, 1, {}}, shape_);
    for (Index& i : index_) i.base = w_.let("i", i.base);
    sum_ = w_.declare("sum", zero(w_, type_, 1));
    from_ = {std::vector<Index>(rank), 1, {}, {}};
    tap_ = {std::vector<Index>(rank), 1, {}, {}};
    from_.index[0] = index_[0];
    tap_.index[0] = index_[channel_];
    IndexMath m(w_, 1);
    const Dim channels = weights_[1], perGroup = Dim::floorDiv(weights_[0], Dim(op_.groups));
    const Index group = op_.groups == 1 ? m.constant(0) : m.mul(m.div(index_[channel_], perGroup), channels);
    l_.e.loop("c", w_.i64(0), w_.dim(channels), 1, Binding::serial, [&](ExprId c) {
      tap_.index[1] = {c, 0, 1, {}};
      from_.index[channel_] = m.add(group, tap_.index[1]);
      overWindow(0);
    });
    ExprId product = w_.get(sum_);
    if (node_.operands.size() > 2)
      product = w_.add(product, l_.e.value(node_.operands[2], At{{index_[channel_]}, 1, {}, {}}));
    product = w_.let("product", product);
    l_.e.bind(l_.region.contraction, [product](const At&) { return product; });
    for (ValueId v : l_.region.outputs) l_.store(v, At{index_, 1, {}, {}});
  }

 private:
  void overWindow(size_t s) {
    if (s + 2 == shape_.size()) {
      ExprId product = w_.mul(w_.convert(l_.e.value(node_.operands[0], from_), type_),
                              w_.convert(l_.e.value(node_.operands[1], tap_), type_));
      if (from_.mask) product = w_.select(from_.mask, product, zero(w_, type_, 1));
      return w_.assign(sum_, w_.add(w_.get(sum_), product));
    }
    const size_t axis = op_.spatialAxis() + s;
    const Dim& extent = l_.graph.type(node_.operands[0]).shape[axis];
    l_.e.loop("k", w_.i64(0), w_.dim(weights_[2 + s]), 1, Binding::serial, [&](ExprId k) {
      IndexMath m(w_, 1);
      const ExprId outer = from_.mask;
      tap_.index[2 + s] = {k, 0, 1, {}};
      const Index at = m.add(m.add(m.mul(index_[axis], Dim(op_.stride[s])), Dim(-op_.low[s])),
                             m.mul(tap_.index[2 + s], Dim(op_.dilation[s])));
      ExprId inside;
      if (op_.low[s] != 0) inside = w_.both(inside, m.atLeast(at, 0));
      if (op_.high[s] != 0) inside = w_.both(inside, m.below(at, extent));
      if (inside) from_.mask = w_.let("inside", w_.both(from_.mask, inside));
      from_.index[axis] = at;
      overWindow(s + 1);
      from_.mask = outer;
    });
  }

  Lowering& l_;
  Writer& w_;
  const Node& node_;
  const Conv& op_;
  const Shape &shape_, &weights_;
  DType type_;
  size_t channel_ = 1;
  std::vector<Index> index_;
  kernel::VarId sum_;
  At from_, tap_;
};

}  // namespace

Scheduled Contract::lower(const Graph& graph, const Region& region, const Plan& plan,
                          const std::string& kernelName) const {
  Lowering l(graph, region, kernelName);
  Writer& w = l.w;
  if (std::holds_alternative<Conv>(graph.node(region.contraction).op)) {
    constexpr int kThreads = 128;
    const Dim total = elementCount(graph.type(region.contraction).shape);
    overGrid(l, Dim::ceilDiv(total, kThreads), kThreads, 1 << 20, [&](ExprId b, ExprId t) {
      const ExprId element = w.let("element", w.add(w.mul(b, w.i64(kThreads)), t));
      w.when(w.binary(BinaryKind::lt, element, w.dim(total)), l.e.scoped([&] { ConvElements(l).run(element); }));
    });
    return std::move(l).finish(std::string(name), "elements");
  }
  MatMulTiles tiles(l, plan);
  Dim slack = (1 << 16);
  for (ValueId v : graph.node(region.contraction).operands)
    if (!graph.type(v).shape.empty()) slack = slack + graph.type(v).shape.back() * Dim(2 * plan.tile);
  for (const Dim& d : graph.type(region.contraction).shape) slack = slack + d * Dim(2 * plan.tile);
  overGrid(l, tiles.blocks(), tiles.threads(), slack, [&](ExprId b, ExprId t) { tiles.run(b, t); });
  return std::move(l).finish(std::string(name), plan.str());
}

}  // namespace tokamak::schedule::gpu
