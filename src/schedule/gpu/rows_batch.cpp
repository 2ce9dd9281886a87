#include "schedule/gpu/rows.h"

namespace tokamak::schedule::gpu {

void Rows::runBatch(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan, const Phases& phases, ExprId b,
                    ExprId t) {
  Writer& w = l.w;
  const Sweep& sweep = phases.sweeps[0];
  Rows first(l, domain, plan, phases);
  first.placeThread(t);
  first.holdLoads();
  const ExprId block = w.let("block", w.mul(b, w.i64(int64_t{plan.rows} * plan.batch)));
  std::vector<Rows> rows;
  std::vector<SweepFolds> folds;
  std::vector<Found> found;
  for (int k = 0; k < plan.batch; ++k) {
    Rows& row = rows.emplace_back(first);
    row.placeRow(w.add(block, w.i64(int64_t{k} * plan.rows)));
    row.overHeld(sweep, folds.emplace_back(row.begin(sweep)));
  }
  for (SweepFolds& fold : folds)
    for (const Found& f : fold.found(false)) found.push_back(f);
  found = joinThreads(w, {first.thread_, plan.threads, plan.rows}, found);
  const size_t each = found.size() / rows.size();
  for (size_t k = 0; k < rows.size(); ++k) {
    const auto from = found.begin() + static_cast<std::ptrdiff_t>(k * each);
    rows[k].finish(sweep, folds[k], rows[k].fromRowStart({from, from + static_cast<std::ptrdiff_t>(each)}));
    rows[k].storeOnce();
  }
  l.e.hold({});
}

}  // namespace tokamak::schedule::gpu
