#include <algorithm>

#include "schedule/gpu/rows.h"

namespace tokamak::schedule::gpu {

using kernel::Binding;

std::vector<ValueId> sharedByRows(const Lowering& l, const FoldDomain& domain) {
  std::vector<ValueId> out;
  if (domain.foldedGroups.size() != 1 || domain.groups.back().first != domain.groups.back().last) return out;
  for (ValueId v : l.region.inputs)
    if (const Shape& shape = l.graph.type(v).shape;
        shape.size() == 1 && shape[0] == domain.foldedCount && l.hasBuffer(v))
      out.push_back(v);
  return out;
}

int64_t steadyCopies(const FoldAxes::Plan& plan) { return plan.rows == 1 ? 1 : plan.lanes; }
int64_t steadyLength(const FoldAxes::Plan& plan) { return int64_t{plan.threads} * plan.vectors * plan.lanes; }

/// Element p of a copy in shared memory is that of a row whose start lies p - shift elements before it, so that vectors
/// of it lie as those of the row do. A block of one row has its shift; one of several has a copy for each there can be.
void Rows::shareInputs() {
  const int64_t copies = steadyCopies(plan_), length = steadyLength(plan_);
  for (ValueId v : sharedByRows(l_, domain_)) {
    const DType dtype = l_.graph.type(v).dtype;
    const BufferId from = l_.bufferOf(v), copy = w_.shared("copy", dtype, Dim(copies * length));
    l_.e.loop("i", thread_, w_.i64(copies * length), int64_t{plan_.threads} * plan_.rows, Binding::serial,
              [&](ExprId i) {
                const ExprId place = copies == 1 ? i : w_.binary(BinaryKind::fmod, i, w_.i64(length));
                const ExprId shift = copies == 1 ? shift_ : w_.binary(BinaryKind::div, i, w_.i64(length));
                const ExprId at = w_.let("at", w_.sub(place, shift));
                const ExprId inside = w_.both(w_.binary(BinaryKind::ge, at, w_.i64(0)),
                                              w_.binary(BinaryKind::lt, at, w_.dim(domain_.foldedCount)));
                w_.store(copy, i, w_.load(from, at, 1, inside));
              });
    l_.e.bind(v, [this, v, dtype, from, copy, copies, length](const At& at) {
      const auto found = fromOf_.find(at.index[0].base.index);
      if (found == fromOf_.end() || at.index[0].stride != 1)
        return l_.e.loadFlat(from, l_.e.flatten(l_.graph.type(v).shape, at), at, dtype);
      const ExprId place = copies == 1 ? found->second : w_.add(w_.mul(shift_, w_.i64(length)), found->second);
      return w_.convert(w_.load(copy, place, at.lanes), computeType(dtype));
    });
  }
  w_.barrier();
}

void Rows::runSteady(ExprId b, ExprId t) {
  placeThread(t);
  const ExprId first = w_.let("first", w_.mul(b, w_.i64(plan_.rows)));
  placeRow(first);
  shareInputs();
  size_t barriers = 0;
  for (const Sweep& sweep : phases_.sweeps) barriers += !sweep.folds.empty();
  l_.e.loop("r", first, w_.dim(rows_), int64_t{plan_.blocks} * plan_.rows, Binding::serial, [&](ExprId r) {
    chunks_.clear();
    kept_.clear();
    placeRow(r);
    sweepAll();
    // Slow warps may still read what the warps left for them.
    if (barriers == 1 && plan_.threads > kWarp) w_.barrier();
  });
}

}  // namespace tokamak::schedule::gpu
