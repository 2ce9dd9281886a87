#include "schedule/gpu/scan.h"

#include <fmt/format.h>

#include <algorithm>

#include "fusion/cost.h"
#include "schedule/identity.h"
#include "schedule/scan.h"
#include "schedule/scan_runner.h"

namespace tokamak::schedule::gpu {

using kernel::Binding;

std::string RunningFold::Plan::str() const {
  if (!along) return fmt::format("columns, {} threads, {} lanes", threads, lanes);
  return fmt::format("rows, {} threads{}, {} lanes", threads, rows > 1 ? fmt::format(" x {}", rows) : "", lanes);
}

Decision RunningFold::accepts(const Graph& graph, const Region& region) const {
  return schedule::RunningFold{}.accepts(graph, region);
}

namespace {

/// The last axis with more than one element; the scanned one if there is none.
size_t lastAxis(const Region& region) {
  size_t last = region.domain.size();
  while (last > 0 && region.domain[last - 1].is(1)) --last;
  return last > static_cast<size_t>(region.folded[0]) ? last - 1 : static_cast<size_t>(region.folded[0]);
}

/// The axes that neither the scan nor the lanes run along.
struct Outer {
  std::vector<size_t> axes;
  std::vector<Dim> extents;
};
Outer outerOf(const Region& region) {
  Outer out;
  for (size_t i = 0; i < region.domain.size(); ++i)
    if (static_cast<Axis>(i) != region.folded[0] && i != lastAxis(region) && !region.domain[i].is(1))
      out.axes.push_back(i), out.extents.push_back(region.domain[i]);
  return out;
}

/// One thread's part of a row.
class RowScan {
 public:
  RowScan(Lowering& l, const RunningFold::Plan& plan)
      : l_(l),
        w_(l.w),
        plan_(plan),
        axis_(l.region.folded[0]),
        length_(l.region.domain[axis_]),
        outer_(outerOf(l.region)) {
    scans_ = scansOf(l.graph, l.region);
    reverse_ = std::get<Scan>(l.graph.node(scans_[0]).op).reverse;
  }

  void run(ExprId b, ExprId t) {
    thread_ = t;
    const Dim rows = elementCount(outer_.extents);
    lane_ = plan_.rows > 1 ? w_.let("lane", w_.binary(BinaryKind::fmod, t, w_.i64(plan_.threads))) : t;
    ExprId row = b, here;
    if (plan_.rows > 1)
      row = w_.let("row", w_.add(w_.mul(b, w_.i64(plan_.rows)), w_.binary(BinaryKind::div, t, w_.i64(plan_.threads))));
    if (const auto known = rows.constant(); plan_.rows > 1 && !(known && *known % plan_.rows == 0)) {
      here = w_.let("here", w_.binary(BinaryKind::lt, row, w_.dim(rows)));
      row = w_.let("row", w_.binary(BinaryKind::min, row, w_.sub(w_.dim(rows), w_.i64(1))));
    }
    index_.assign(l_.region.domain.size(), Index{w_.i64(0), 0, 0, {}});
    const auto parts = unflatten(IndexMath(w_, 1), {row, 0, 1, {}}, outer_.extents);
    for (size_t k = 0; k < parts.size(); ++k) index_[outer_.axes[k]] = parts[k];
    for (ValueId v : scans_) {
      const auto kind = std::get<Scan>(l_.graph.node(v).op).kind;
      carries_.push_back(begin(combinerOf(kind), scanType(l_.graph, v)));
      if (isArg(kind)) positions_.push_back(begin(BinaryKind::max, DType::i64));
    }
    const int64_t round = int64_t{plan_.threads} * plan_.lanes;
    l_.e.loop("c", w_.i64(0), w_.dim(Dim::ceilDiv(length_, round)), 1, Binding::serial,
              [&](ExprId c) { step(c, round, here); });
  }

 private:
  /// What is carried from one round to the next, and where the warps leave theirs: every other round in other places,
  /// so that one barrier a round does.
  struct Running {
    BinaryKind kind;
    DType type;
    kernel::VarId carry;
    BufferId slots;
  };

  int warps() const { return plan_.threads / kWarp; }

  Running begin(BinaryKind kind, DType type) {
    Running out{kind, type, w_.declare("carry", w_.imm(identityOf(kind, type), type)), {}};
    if (warps() > 1) out.slots = w_.shared("warps", type, Dim(int64_t{2} * warps() * plan_.rows));
    return out;
  }

  void step(ExprId c, int64_t round, ExprId here) {
    const ExprId from = w_.let("from", w_.add(w_.mul(c, w_.i64(round)), w_.mul(lane_, w_.i64(plan_.lanes))));
    IndexMath m(w_, plan_.lanes);
    const int64_t unit = plan_.lanes > 1;
    At at{index_, plan_.lanes, {}, {}};
    const Index ahead{from, unit, plan_.lanes, {}};
    at.index[axis_] = reverse_ ? m.add(m.negate(ahead), length_ - Dim(1)) : ahead;
    const auto known = length_.constant();
    if (!known || *known % round != 0) {
      const bool whole = known && *known % plan_.lanes == 0;
      at.mask = w_.let("inside", w_.binary(BinaryKind::lt, whole ? from : m.expr(ahead), w_.dim(length_)));
    }
    size_t arg = 0;
    for (size_t k = 0; k < scans_.size(); ++k) {
      const auto& op = std::get<Scan>(l_.graph.node(scans_[k]).op);
      const ExprId x = operand(scans_[k], carries_[k], at);
      const ExprId run = prefixed(carries_[k], x, c);
      if (!isArg(op.kind)) {
        bindScan(l_, scans_[k], run);
        continue;
      }
      // The latest element that attains the running extreme: a NaN does wherever it stands.
      ExprId attains = w_.binary(BinaryKind::eq, x, run);
      if (isFloat(w_.type(x).dtype)) attains = w_.binary(BinaryKind::bit_or, attains, w_.binary(BinaryKind::ne, x, x));
      const ExprId steps = w_.splat(m.expr(ahead), plan_.lanes);
      const ExprId none = w_.imm(Scalar::of(int64_t{-1}), DType::i64, plan_.lanes);
      ExprId latest = prefixed(positions_[arg++], w_.let("at", w_.select(attains, steps, none)), c);
      if (reverse_) latest = w_.sub(w_.splat(w_.dim(length_ - Dim(1)), plan_.lanes), latest);
      bindScan(l_, scans_[k], latest);
    }
    for (ValueId v : l_.region.outputs) storeWhere(l_, v, at, here);
  }

  ExprId operand(ValueId scan, const Running& running, const At& at) {
    ExprId x = w_.convert(l_.e.value(l_.graph.node(scan).operands[0], at), running.type);
    x = w_.splat(x, plan_.lanes);
    if (at.mask) x = w_.select(at.mask, x, w_.imm(identityOf(running.kind, running.type), running.type, plan_.lanes));
    return w_.let("x", x);
  }

  /// The running fold up to each lane, with all that came before.
  ExprId prefixed(Running& r, ExprId x, ExprId c) {
    const ExprId identity = w_.imm(identityOf(r.kind, r.type), r.type);
    const ExprId own = w_.let("own", w_.prefix(r.kind, x)), total = w_.extract(own, plan_.lanes - 1);
    const int width = std::min(plan_.threads, kWarp);
    const ExprId before = w_.warpShift(w_.warpPrefix(r.kind, w_.let("total", total), width), identity, width);
    ExprId all, earlier = before;
    if (warps() <= 1) {
      all = w_.warpFold(r.kind, total, width);
    } else {
      const ExprId warp = w_.let("warp", w_.binary(BinaryKind::div, thread_, w_.i64(kWarp)));
      const ExprId turn =
          w_.let("turn", w_.mul(w_.binary(BinaryKind::fmod, c, w_.i64(2)), w_.i64(int64_t{warps()} * plan_.rows)));
      const ExprId last =
          w_.binary(BinaryKind::eq, w_.binary(BinaryKind::fmod, thread_, w_.i64(kWarp)), w_.i64(kWarp - 1));
      w_.when(last, [&] { w_.store(r.slots, w_.add(turn, warp), w_.binary(r.kind, before, total)); });
      w_.barrier();
      ExprId first = turn, inRow = warp;
      if (plan_.rows > 1) {
        first = w_.let(
            "first", w_.add(turn, w_.mul(w_.binary(BinaryKind::div, thread_, w_.i64(plan_.threads)), w_.i64(warps()))));
        inRow = w_.let("warp", w_.binary(BinaryKind::fmod, warp, w_.i64(warps())));
      }
      const ExprId found = w_.let("found", w_.load(r.slots, first, warps()));
      const ExprId mine = w_.binary(BinaryKind::lt, w_.ramp(w_.i64(0), warps()), w_.splat(inRow, warps()));
      earlier = w_.binary(r.kind, w_.fold(r.kind, w_.select(mine, found, w_.splat(identity, warps()))), before);
      all = w_.fold(r.kind, found);
    }
    const ExprId start = w_.let("start", w_.binary(r.kind, w_.get(r.carry), earlier));
    const ExprId out = w_.let("run", w_.binary(r.kind, w_.splat(start, plan_.lanes), own));
    w_.assign(r.carry, w_.binary(r.kind, w_.get(r.carry), all));
    return out;
  }

  Lowering& l_;
  Writer& w_;
  const RunningFold::Plan& plan_;
  Axis axis_;
  Dim length_;
  Outer outer_;
  std::vector<ValueId> scans_;
  bool reverse_ = false;
  std::vector<Index> index_;
  ExprId thread_, lane_;
  std::vector<Running> carries_, positions_;
};

/// Every lane carries its own column.
void lowerColumnScan(Lowering& l, const RunningFold::Plan& plan) {
  constexpr int64_t kAhead = 4;  // rows whose loads are in flight together
  Writer& w = l.w;
  const Region& region = l.region;
  const Axis axis = region.folded[0];
  const size_t last = lastAxis(region);
  const bool reverse = std::get<Scan>(l.graph.node(scansOf(l.graph, region)[0]).op).reverse;
  const Dim length = region.domain[axis];
  const Outer outer = outerOf(region);
  std::vector<Dim> extents = outer.extents;
  extents.push_back(Dim::ceilDiv(region.domain[last], plan.lanes));
  const Dim total = elementCount(extents);
  overGrid(l, Dim::ceilDiv(total, plan.threads), plan.threads, region.domain[last] * Dim(plan.threads) + (1 << 16),
           [&](ExprId b, ExprId t) {
             const ExprId id = w.let("id", w.add(w.mul(b, w.i64(plan.threads)), t));
             w.when(w.binary(BinaryKind::lt, id, w.dim(total)), l.e.scoped([&] {
               const auto parts = unflatten(IndexMath(w, 1), {id, 0, 1, {}}, extents);
               std::vector<Index> index(region.domain.size(), Index{w.i64(0), 0, 0, {}});
               for (size_t k = 0; k < outer.axes.size(); ++k) index[outer.axes[k]] = parts[k];
               const ExprId column = w.let("column", w.mul(parts.back().base, w.i64(plan.lanes)));
               index[last] = {column, plan.lanes > 1, plan.lanes, {}};
               ScanRunner run(l, plan.lanes, false);
               const auto steps = [&](ExprId first, int64_t count) {
                 std::vector<At> places;
                 std::vector<ExprId> positions;
                 for (int64_t k = 0; k < count; ++k) {
                   const ExprId step = w.add(first, w.i64(k));
                   positions.push_back(w.let("k", reverse ? w.sub(w.dim(length - Dim(1)), step) : step));
                   index[axis] = {positions.back(), 0, 1, {}};
                   places.push_back({index, plan.lanes, {}, {}});
                   for (ValueId v : scansOf(l.graph, region)) l.e.value(l.graph.node(v).operands[0], places.back());
                 }
                 for (size_t k = 0; k < places.size(); ++k) {
                   run.stepLanes(places[k], positions[k]);
                   for (ValueId v : region.outputs) l.store(v, places[k]);
                 }
               };
               const ExprId rounds = w.let("rounds", w.binary(BinaryKind::div, w.dim(length), w.i64(kAhead)));
               l.e.loop("r", w.i64(0), rounds, 1, Binding::serial,
                        [&](ExprId r) { steps(w.let("first", w.mul(r, w.i64(kAhead))), kAhead); });
               l.e.loop("k", w.mul(rounds, w.i64(kAhead)), w.dim(length), 1, Binding::serial,
                        [&](ExprId k) { steps(k, 1); });
             }));
           });
}

}  // namespace

RunningFold::Plan RunningFold::plan(const Graph& graph, const Region& region, const DimBindings& hints,
                                    const Device& device) const {
  Plan plan;
  const size_t last = lastAxis(region);
  plan.along = static_cast<Axis>(last) == region.folded[0];
  plan.lanes = lanesFor(graph, region);
  if (!plan.along) {
    plan.lanes = static_cast<int>(powerIn(region.domain[last], plan.lanes));
    plan.threads = 64;
    return plan;
  }
  const double length = likely(region.domain[region.folded[0]], hints),
               rows = likely(elementCount(region.domain), hints) / std::max(1.0, length);
  const double vectors = std::max(1.0, length / plan.lanes);
  plan.threads = 1;
  while (plan.threads < vectors && plan.threads < 512) plan.threads *= 2;
  int block = 128;
  while (block > kWarp && rows * plan.threads / block < 2 * device.gpu->multiprocessors) block /= 2;
  plan.rows = std::max(1, block / plan.threads);
  return plan;
}

Scheduled RunningFold::lower(const Graph& graph, const Region& region, const Plan& plan,
                             const std::string& kernelName) const {
  Lowering l(graph, region, kernelName);
  if (plan.along) {
    const Dim length = region.domain[region.folded[0]];
    overGrid(l, Dim::ceilDiv(elementCount(outerOf(region).extents), plan.rows), plan.threads * plan.rows,
             length * Dim(plan.rows) + Dim(int64_t{2} * plan.threads * plan.lanes + (1 << 16)),
             [&](ExprId b, ExprId t) { RowScan(l, plan).run(b, t); });
  } else {
    lowerColumnScan(l, plan);
  }
  return std::move(l).finish(std::string(name), plan.str());
}

}  // namespace tokamak::schedule::gpu
