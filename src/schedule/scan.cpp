#include "schedule/scan.h"

#include <fmt/format.h>

#include <algorithm>

#include "fusion/cost.h"
#include "schedule/identity.h"

namespace tokamak::schedule {

using kernel::Binding;

namespace {

BinaryKind combinerOf(ScanKind kind) {
  switch (kind) {
    case ScanKind::sum: return BinaryKind::add;
    case ScanKind::prod: return BinaryKind::mul;
    case ScanKind::max:
    case ScanKind::argmax: return BinaryKind::max;
    case ScanKind::min:
    case ScanKind::argmin: return BinaryKind::min;
  }
  return BinaryKind::add;
}
bool isArg(ScanKind kind) { return kind == ScanKind::argmax || kind == ScanKind::argmin; }

std::vector<ValueId> scansOf(const Graph& graph, const Region& region) {
  std::vector<ValueId> out;
  for (ValueId v : region.nodes)
    if (opAs<Scan>(graph, v)) out.push_back(v);
  return out;
}

/// The state of one scan as it runs: what has been folded so far, a scalar or a lane each.
struct Carry {
  kernel::VarId value, where;
};

class Runner {
 public:
  Runner(Lowering& l, int lanes) : l_(l), w_(l.w) {
    for (ValueId v : scansOf(l.graph, l.region)) {
      const auto& op = std::get<Scan>(l.graph.node(v).op);
      const DType type = accumulator(v);
      Carry carry{w_.declare("carry", w_.imm(identityOf(combinerOf(op.kind), type), type, lanes)), {}};
      if (isArg(op.kind)) carry.where = w_.declare("where", w_.imm(Scalar::of(int64_t{0}), DType::i64, lanes));
      carries_.push_back({v, carry});
    }
  }

  DType accumulator(ValueId v) const {
    const DType from = l_.graph.type(l_.graph.node(v).operands[0]).dtype;
    const auto kind = std::get<Scan>(l_.graph.node(v).op).kind;
    const bool adds = kind == ScanKind::sum || kind == ScanKind::prod;
    return adds && !isFloat(from) ? DType::i64 : computeType(from);
  }

  /// One step: every lane carries its own column (or there is one lane).
  void stepLanes(const At& at, ExprId position) {
    for (auto& [v, carry] : carries_) {
      const auto& op = std::get<Scan>(l_.graph.node(v).op);
      const ExprId x = w_.splat(w_.convert(l_.e.value(l_.graph.node(v).operands[0], at), accumulator(v)), at.lanes);
      const ExprId old = w_.get(carry.value);
      if (isArg(op.kind)) {
        // The latest of equals wins; a NaN wins over all but stays where a later NaN comes.
        ExprId wins = w_.binary(op.kind == ScanKind::argmax ? BinaryKind::ge : BinaryKind::le, x, old);
        if (isFloat(w_.type(x).dtype)) wins = w_.binary(BinaryKind::bit_or, wins, w_.binary(BinaryKind::ne, x, x));
        wins = w_.let("wins", wins);
        w_.assign(carry.value, w_.select(wins, x, old));
        w_.assign(carry.where, w_.select(wins, w_.splat(position, at.lanes), w_.get(carry.where)));
        bindNow(v, w_.get(carry.where));
        continue;
      }
      const ExprId next = w_.let("run", w_.binary(combinerOf(op.kind), old, x));
      w_.assign(carry.value, next);
      bindNow(v, next);
    }
  }

  /// One vector along the scanned axis: a prefix over the lanes, on top of the scalar carried so far.
  void stepAlong(const At& at) {
    for (auto& [v, carry] : carries_) {
      const auto kind = combinerOf(std::get<Scan>(l_.graph.node(v).op).kind);
      const DType type = accumulator(v);
      ExprId x = w_.splat(w_.convert(l_.e.value(l_.graph.node(v).operands[0], at), type), at.lanes);
      if (at.tail) x = w_.select(at.tail, x, w_.imm(identityOf(kind, type), type, at.lanes));
      const ExprId next = w_.let("run", w_.binary(kind, w_.prefix(kind, x), w_.splat(w_.get(carry.value), at.lanes)));
      w_.assign(carry.value, w_.extract(next, at.lanes - 1));
      bindNow(v, next);
    }
  }

 private:
  void bindNow(ValueId v, ExprId result) {
    result = w_.convert(result, computeType(l_.graph.type(v).dtype));
    const ExprId held = w_.let("s", result);
    l_.e.bind(v, [held](const At&) { return held; });
  }

  Lowering& l_;
  Writer& w_;
  std::vector<std::pair<ValueId, Carry>> carries_;
};

}  // namespace

std::string RunningFold::Plan::str() const { return fmt::format("{} lanes", lanes); }

Decision RunningFold::accepts(const Graph& graph, const Region& region) const {
  const auto scans = scansOf(graph, region);
  if (scans.empty()) return Decision::no("scan declined: nothing runs along an axis");
  for (ValueId v : scans)
    if (std::get<Scan>(graph.node(v).op).axis != region.folded[0])
      return Decision::no(fmt::format("scan declined: {} runs along another axis", graph.label(v)));
  return Decision::yes();
}

RunningFold::Plan RunningFold::plan(const Graph& graph, const Region& region, const DimBindings& hints,
                                    const Device& device) const {
  Plan plan;
  plan.lanes = device.vectorBytes / 4;
  size_t last = region.domain.size();
  while (last > 0 && region.domain[last - 1].is(1)) --last;
  const bool along = static_cast<Axis>(last) - 1 <= region.folded[0];
  for (ValueId v : scansOf(graph, region)) {
    const auto& op = std::get<Scan>(graph.node(v).op);
    if (along && (isArg(op.kind) || op.reverse)) plan.lanes = 1;
  }
  const double length = likely(region.domain.empty() ? Dim(1) : region.domain[region.folded[0]], hints);
  plan.grain = std::max<int64_t>(1, static_cast<int64_t>(8192 / std::max(1.0, length)));
  return plan;
}

Scheduled RunningFold::lower(const Graph& graph, const Region& region, const Plan& plan,
                             const std::string& kernelName) const {
  Lowering l(graph, region, kernelName);
  Writer& w = l.w;
  const Axis axis = region.folded[0];
  const bool reverse = std::get<Scan>(graph.node(scansOf(graph, region)[0]).op).reverse;
  size_t last = region.domain.size();
  while (last > 0 && region.domain[last - 1].is(1)) --last;
  const bool along = static_cast<Axis>(last) - 1 <= axis;
  const Dim length = region.domain[axis];
  std::vector<size_t> outerAxes;
  std::vector<Dim> outer;
  for (size_t i = 0; i < region.domain.size(); ++i) {
    if (static_cast<Axis>(i) == axis || region.domain[i].is(1) || (!along && i == last - 1)) continue;
    outerAxes.push_back(i);
    outer.push_back(region.domain[i]);
  }
  const Dim strips = along ? Dim(1) : Dim::ceilDiv(region.domain[last - 1], plan.lanes);
  outer.push_back(strips);
  l.e.loop(
      "i", w.i64(0), w.dim(elementCount(outer)), 1, Binding::parallel,
      [&](ExprId i) {
        const auto parts = unflatten(IndexMath(w, 1), {i, 0, 1, {}}, outer);
        std::vector<Index> index(region.domain.size(), Index{w.i64(0), 0, 0, {}});
        for (size_t k = 0; k < outerAxes.size(); ++k) {
          index[outerAxes[k]] = parts[k];
          index[outerAxes[k]].base = w.let("i", parts[k].base);
        }
        auto storeAll = [&](const At& at) {
          for (ValueId v : region.outputs) l.store(v, at);
        };
        auto walk = [&](Runner& run, At at) {
          l.e.loop("k", w.i64(0), w.dim(length), 1, Binding::serial, [&](ExprId k) {
            const ExprId position = reverse ? w.let("k", w.sub(w.sub(w.dim(length), w.i64(1)), k)) : k;
            index[axis] = {position, 0, 1, {}};
            at.index = index;
            run.stepLanes(at, position);
            storeAll(at);
          });
        };
        if (!along) {
          const ExprId begin = w.let("begin", w.mul(parts.back().base, w.i64(plan.lanes)));
          const ExprId end =
              w.let("end", w.binary(BinaryKind::min, w.add(begin, w.i64(plan.lanes)), w.dim(region.domain[last - 1])));
          overVectors(l.e, {plan.lanes, plan.lanes, Binding::serial, 1}, begin, plan.lanes, end,
                      [&](const Index& j, const At& lanes) {
                        index[last - 1] = j;
                        Runner run(l, lanes.lanes);
                        walk(run, lanes);
                      });
        } else if (plan.lanes == 1) {
          Runner run(l, 1);
          walk(run, At{{}, 1, {}, {}});
        } else {
          Runner run(l, 1);
          overVectors(l.e, {plan.lanes, plan.lanes, Binding::serial, 1}, 0, length,
                      [&](const Index& j, const At& lanes) {
                        At at = lanes;
                        index[axis] = j;
                        at.index = index;
                        run.stepAlong(at);
                        storeAll(at);
                      });
        }
      },
      plan.grain);
  return std::move(l).finish(std::string(name), plan.str());
}

}  // namespace tokamak::schedule
