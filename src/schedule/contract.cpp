#include "schedule/contract.h"

#include <fmt/format.h>

#include <algorithm>

#include "fusion/cost.h"
#include "schedule/identity.h"
#include "schedule/prefetch.h"

namespace tokamak::schedule {

using kernel::Binding;

std::string Contract::Plan::str() const {
  return rows ? fmt::format("{} lanes, {} rows by {}", lanes, rows, columns) : fmt::format("{} lanes", lanes);
}

Decision Contract::accepts(const Graph& graph, const Region& region) const {
  if (!region.contraction) return Decision::no("contract declined: the region holds no product");
  for (ValueId v : region.outputs)
    if (!(graph.type(v).shape == region.domain))
      return Decision::no(fmt::format("contract declined: {} has another shape than the product", graph.label(v)));
  return Decision::yes();
}

Contract::Plan Contract::plan(const Graph& graph, const Region& region, const DimBindings& hints,
                              const Device& device) const {
  Plan plan{.lanes = device.vectorBytes / 4};
  const Node& node = graph.node(region.contraction);
  auto* op = std::get_if<MatMul>(&node.op);
  if (!op || !op->transposeB || op->transposeA || !isFloat(node.type.dtype)) return plan;
  const Shape& b = graph.type(node.operands[1]).shape;
  plan.grain = std::max<int64_t>(plan.grain, static_cast<int64_t>(16384 / std::max(1.0, likely(b.back(), hints))));
  const int64_t width = byteWidth(graph.type(node.operands[1]).dtype);
  if (!isFewRows(graph, region.contraction) || width > 4) return plan;
  const int64_t rows = plan.rows = *rowsOfMatrix(graph, region.contraction);
  const auto columns = b[b.size() - 2].constant();
  // One row of halves, two to a word, costs little to convert again, and some processors follow one stream best.
  if (rows == 1 && device.followsStreams && width == 2) return plan.fetches = false, plan;
  // Each line of the matrix costs a load of every row, and a conversion where they are halves: some lines share them,
  // as many as there are registers for. On small pages several lines also have several page walks under way.
  for (int64_t some = 4; columns && some > plan.columns; some /= 2)
    if (*columns % some == 0 && rows * some <= 16) plan.columns = some;
  return plan;
}

namespace {

/// Stores the region's outputs with the product's value at a place known.
void storeProduct(Lowering& l, const At& at, ExprId product) {
  l.e.bind(l.region.contraction, [product](const At&) { return product; });
  for (ValueId v : l.region.outputs) l.store(v, at);
}

ExprId zero(Writer& w, DType type, int lanes) { return w.imm(identityOf(BinaryKind::add, type), type, lanes); }

constexpr int64_t kMatrixAheadBytes = 16 << 10;

class MatMulLoops {
 public:
  MatMulLoops(Lowering& l, const Contract::Plan& plan)
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
  }

  void run() { plan_.rows ? fewRows() : op_.transposeB ? alongDepth() : acrossColumns(); }

 private:
  /// Element (row, k) of a or (k, column) of b for the batch axes in index_.
  ExprId operand(bool second, const Index& outer, const Index& inner, const At& lanes) {
    const ValueId v = node_.operands[second];
    const size_t rank = l_.graph.type(v).rank();
    const bool swap = second ? op_.transposeB : op_.transposeA;
    At at = lanes;
    for (size_t i = 0; i + 2 < rank; ++i) at.index.push_back(index_[i + (rank_ - rank)]);
    at.index.push_back(swap ? inner : outer);
    at.index.push_back(swap ? outer : inner);
    return l_.e.value(v, at);
  }

  ExprId biased(ExprId sum, const Index& column, const At& lanes) {
    if (node_.operands.size() < 3) return sum;
    At at = lanes;
    at.index = {column};
    return w_.add(sum, l_.e.value(node_.operands[2], at));
  }

  /// Both operands are contiguous along the folded axis: one result at a time, lanes folded at the end.
  void alongDepth() {
    const VectorLoop vectors{plan_.lanes * 4, plan_.lanes, Binding::serial, 1};
    l_.e.loop(
        "i", w_.i64(0), w_.dim(elementCount(shape_)), 1, Binding::parallel,
        [&](ExprId i) {
          index_ = unflatten(IndexMath(w_, 1), {i, 0, 1, {}}, shape_);
          const kernel::VarId wide = w_.declare("wide", zero(w_, type_, vectors.wide)),
                              narrow = w_.declare("narrow", zero(w_, type_, vectors.narrow));
          overVectors(l_.e, vectors, w_.i64(0), 0, w_.dim(depth_), [&](const Index& k, const At& lanes) {
            const ExprId x = operand(false, index_[rank_ - 2], k, lanes),
                         y = operand(true, k, index_[rank_ - 1], lanes);
            accumulate(lanes.lanes == vectors.wide ? wide : narrow, x, y, lanes);
          });
          const ExprId sum =
              w_.let("sum", w_.add(w_.fold(BinaryKind::add, w_.get(wide)), w_.fold(BinaryKind::add, w_.get(narrow))));
          const At at{index_, 1, {}, {}};
          storeProduct(l_, at, w_.let("product", biased(sum, index_[rank_ - 1], At{{}, 1, {}, {}})));
        },
        plan_.grain);
  }

  void accumulate(kernel::VarId sum, ExprId x, ExprId y, const At& lanes) {
    const ExprId next = w_.add(w_.get(sum), w_.splat(w_.mul(x, y), lanes.lanes));
    w_.assign(sum, lanes.tail ? w_.select(lanes.tail, next, w_.get(sum)) : next);
  }

  /// The same for a block of results: every row with a few lines of the matrix, which passes by once.
  void fewRows() {
    const int64_t block = plan_.rows * plan_.columns;
    const VectorLoop vectors{plan_.lanes * (block <= 2 ? 4 : block <= 4 ? 2 : 1), plan_.lanes, Binding::serial, 1};
    Shape outer = shape_;
    for (size_t i = isShared() ? 0 : rank_ - 2; i + 1 < rank_; ++i) outer[i] = 1;
    outer.back() = Dim::floorDiv(shape_.back(), Dim(plan_.columns));
    l_.e.loop(
        "i", w_.i64(0), w_.dim(elementCount(outer)), 1, Binding::parallel,
        [&](ExprId i) {
          auto origin = unflatten(IndexMath(w_, 1), {i, 0, 1, {}}, outer);
          origin.back() = IndexMath(w_, 1).mul(origin.back(), Dim(plan_.columns));
          origin.back().base = w_.let("column", origin.back().base);
          std::vector<kernel::VarId> wide, narrow;
          for (int64_t r = 0; r < block; ++r) wide.push_back(w_.declare("wide", zero(w_, type_, vectors.wide)));
          for (int64_t r = 0; r < block && vectors.narrow != vectors.wide; ++r)
            narrow.push_back(w_.declare("narrow", zero(w_, type_, vectors.narrow)));
          overVectors(l_.e, vectors, w_.i64(0), 0, w_.dim(depth_), [&](const Index& k, const At& lanes) {
            for (int64_t r = 0; r < block; ++r) {
              index_ = inBlock(origin, r);
              const ExprId x = operand(false, index_[rank_ - 2], k, lanes),
                           y = operand(true, k, index_[rank_ - 1], lanes);
              accumulate((lanes.lanes == vectors.wide ? wide : narrow)[r], x, y, lanes);
              if (plan_.fetches && r < plan_.columns && !lanes.tail) fetchMatrix(k, lanes);
            }
          });
          for (int64_t r = 0; r < block; ++r) {
            ExprId sum = w_.fold(BinaryKind::add, w_.get(wide[r]));
            if (!narrow.empty()) sum = w_.add(sum, w_.fold(BinaryKind::add, w_.get(narrow[r])));
            const At at{inBlock(origin, r), 1, {}, {}};
            l_.e.scope([&] {
              storeProduct(l_, at, w_.let("product", biased(w_.let("sum", sum), at.index.back(), At{{}, 1, {}, {}})));
            });
          }
        },
        std::max<int64_t>(1, plan_.grain / plan_.columns));
  }

  /// One matrix for all rows, those of different batches too.
  bool isShared() const { return l_.graph.type(node_.operands[1]).rank() == 2; }

  /// Place of result r of the block whose first is at `origin`: columns vary first, then rows.
  std::vector<Index> inBlock(const std::vector<Index>& origin, int64_t r) {
    IndexMath m(w_, 1);
    std::vector<Index> index = origin;
    index.back() = m.add(index.back(), Dim(r % plan_.columns));
    int64_t row = r / plan_.columns;
    for (size_t i = rank_ - 1; i-- > (isShared() ? 0 : rank_ - 2);) {
      const int64_t extent = *shape_[i].constant();
      index[i] = m.constant(row % extent);
      row /= extent;
    }
    return index;
  }

  /// Lines of the matrix lie one after the other: one at a time they are a stream. Of several, the next ones are wanted
  /// when these are done. Little is computed, so memory is all: the second cache has more requests under way than the
  /// first one can.
  void fetchMatrix(const Index& k, const At& lanes) {
    const ValueId v = node_.operands[1];
    const Shape& shape = l_.graph.type(v).shape;
    if (!l_.isLeaf[v.index] || depth_.is(1)) return;
    At at = lanes;
    for (size_t i = 0; i + 2 < shape.size(); ++i) at.index.push_back(index_[i + (rank_ - shape.size())]);
    at.index.push_back(index_[rank_ - 1]);
    at.index.push_back(k);
    const bool stream = plan_.columns == 1;
    const ExprId distance = stream ? w_.i64(kMatrixAheadBytes / byteWidth(l_.graph.type(v).dtype))
                                   : w_.mul(w_.dim(depth_), w_.i64(plan_.columns));
    fetch(l_, v, w_.add(l_.e.flatten(shape, at).base, distance), lanes.lanes);
  }

  /// b and the result are contiguous along the columns.
  void acrossColumns() {
    const int wide = plan_.lanes * 4;
    const Dim columns = shape_.back();
    std::vector<Dim> outer(shape_.begin(), shape_.end() - 1);
    outer.push_back(Dim::ceilDiv(columns, wide));
    l_.e.loop("i", w_.i64(0), w_.dim(elementCount(outer)), 1, Binding::parallel, [&](ExprId i) {
      index_ = unflatten(IndexMath(w_, 1), {i, 0, 1, {}}, outer);
      const ExprId begin = w_.let("begin", w_.mul(index_.back().base, w_.i64(wide)));
      const ExprId end = w_.let("end", w_.binary(BinaryKind::min, w_.add(begin, w_.i64(wide)), w_.dim(columns)));
      overVectors(
          l_.e, {wide, plan_.lanes, Binding::serial, 1}, begin, wide, end, [&](const Index& j, const At& lanes) {
            const kernel::VarId acc = w_.declare("acc", zero(w_, type_, lanes.lanes));
            l_.e.loop("k", w_.i64(0), w_.dim(depth_), 1, Binding::serial, [&](ExprId k) {
              const Index depth{k, 0, 1, {}};
              const ExprId x = operand(false, index_[rank_ - 2], depth, lanes), y = operand(true, depth, j, lanes);
              w_.assign(acc, w_.add(w_.get(acc), w_.splat(w_.mul(x, y), lanes.lanes)));
            });
            At at = lanes;
            at.index = index_;
            at.index.back() = j;
            storeProduct(l_, at, w_.let("product", biased(w_.get(acc), j, lanes)));
          });
    });
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
  std::vector<Index> index_;
};

/// Convolution: one channel's row of outputs at a time, lanes along the last spatial axis.
void lowerConv(Lowering& l, const Contract::Plan& plan) {
  Writer& w = l.w;
  const Node& node = l.graph.node(l.region.contraction);
  const auto& op = std::get<Conv>(node.op);
  const Shape &shape = node.type.shape, &x = l.graph.type(node.operands[0]).shape,
              &weights = l.graph.type(node.operands[1]).shape;
  const DType type = computeType(node.type.dtype);
  const size_t rank = shape.size(), spatial = rank - 2, channel = op.channelAxis(rank), first = op.spatialAxis();
  const int width = op.channelsLast ? 1 : plan.lanes;  // lanes run along a spatial axis
  std::vector<Dim> outer(shape.begin(), shape.end() - 1);
  const Dim channels = weights[1], perGroup = Dim::floorDiv(weights[0], Dim(op.groups));
  l.e.loop("i", w.i64(0), w.dim(elementCount(outer)), 1, Binding::parallel, [&](ExprId i) {
    auto index = unflatten(IndexMath(w, 1), {i, 0, 1, {}}, outer);
    index.push_back({});
    overVectors(l.e, {op.channelsLast ? 1 : width * 2, width, Binding::serial, 1}, 0, shape.back(),
                [&](const Index& j, const At& lanes) {
                  index.back() = j;
                  IndexMath m(w, lanes.lanes);
                  const kernel::VarId acc = w.declare("acc", zero(w, type, lanes.lanes));
                  At from = lanes, tap{{}, 1, {}, {}};
                  from.index.resize(rank);
                  tap.index.resize(rank);
                  from.index[0] = index[0];
                  tap.index[0] = index[channel];
                  const Index group = op.groups == 1 ? m.constant(0) : m.mul(m.div(index[channel], perGroup), channels);
                  std::function<void(size_t)> nest = [&](size_t s) {
                    if (s == spatial) {
                      const ExprId a = l.e.value(node.operands[0], from), b = l.e.value(node.operands[1], tap);
                      ExprId product = w.splat(w.mul(a, b), lanes.lanes);
                      if (from.mask)
                        product = w.select(w.splat(from.mask, lanes.lanes), product, zero(w, type, lanes.lanes));
                      w.assign(acc, w.add(w.get(acc), product));
                      return;
                    }
                    l.e.loop("k", w.i64(0), w.dim(weights[2 + s]), 1, Binding::serial, [&](ExprId k) {
                      const ExprId outerMask = from.mask;
                      tap.index[2 + s] = {k, 0, 1, {}};
                      const Index at = m.add(m.add(m.mul(index[first + s], Dim(op.stride[s])), Dim(-op.low[s])),
                                             m.mul(tap.index[2 + s], Dim(op.dilation[s])));
                      ExprId inside;
                      if (op.low[s] != 0) inside = w.both(inside, m.atLeast(at, 0));
                      if (op.high[s] != 0) inside = w.both(inside, m.below(at, x[first + s]));
                      if (inside) from.mask = w.let("inside", w.both(from.mask, inside));
                      from.index[first + s] = at;
                      nest(s + 1);
                      from.mask = outerMask;
                    });
                  };
                  l.e.loop("c", w.i64(0), w.dim(channels), 1, Binding::serial, [&](ExprId c) {
                    tap.index[1] = {c, 0, 1, {}};
                    from.index[channel] = m.add(group, tap.index[1]);
                    nest(0);
                  });
                  ExprId product = w.get(acc);
                  if (node.operands.size() > 2)
                    product = w.add(product, l.e.value(node.operands[2], At{{index[channel]}, 1, {}, {}}));
                  At at = lanes;
                  at.index = index;
                  storeProduct(l, at, w.let("product", product));
                });
  });
}

}  // namespace

Scheduled Contract::lower(const Graph& graph, const Region& region, const Plan& plan,
                          const std::string& kernelName) const {
  Lowering l(graph, region, kernelName);
  if (std::holds_alternative<Conv>(graph.node(region.contraction).op))
    lowerConv(l, plan);
  else
    MatMulLoops(l, plan).run();
  return std::move(l).finish(std::string(name), plan.str());
}

}  // namespace tokamak::schedule
