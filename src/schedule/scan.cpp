#include "schedule/scan.h"

#include <fmt/format.h>

#include <algorithm>

#include "fusion/cost.h"
#include "schedule/scan_runner.h"

namespace tokamak::schedule {

using kernel::Binding;

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
        auto walk = [&](ScanRunner& run, At at) {
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
                        ScanRunner run(l, lanes.lanes, true);
                        walk(run, lanes);
                      });
        } else if (plan.lanes == 1) {
          ScanRunner run(l, 1, true);
          walk(run, At{{}, 1, {}, {}});
        } else {
          ScanRunner run(l, 1, true);
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
