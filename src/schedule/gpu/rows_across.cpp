#include <algorithm>

#include "schedule/gpu/rows.h"
#include "schedule/identity.h"

namespace tokamak::schedule::gpu {

using kernel::Binding;

/// Adds a vector of the row to what is carried for its columns.
void Rows::carry(const Sweep& sweep, const Chunk& chunk) {
  for (size_t k = 0; k < sweep.across.size(); ++k) {
    const ValueId fold = sweep.across[k];
    const kernel::VarId sum = carried_[k][chunk.held];
    const auto combine = combinerOf(kindOf(fold));
    const DType type = accumulatorType(kindOf(fold), l_.graph.type(l_.graph.node(fold).operands[0]).dtype);
    const ExprId x = w_.splat(w_.convert(l_.e.value(l_.graph.node(fold).operands[0], chunk.at), type), plan_.lanes);
    const ExprId next = w_.binary(combine, w_.get(sum), x);
    ExprId counts = chunk.at.mask;
    if (rowHere_) counts = counts ? w_.both(counts, w_.splat(rowHere_, w_.lanes(counts))) : rowHere_;
    w_.assign(sum, counts ? w_.select(counts, next, w_.get(sum)) : next);
  }
}

/// Asks for the row of halves that comes next: its way from memory is long, and this one's arithmetic leaves memory
/// idle. Rows of f32 keep it busy as they are.
void Rows::fetchNext() {
  const int64_t step = int64_t{plan_.blocks} * plan_.rows * *domain_.foldedCount.constant();
  const ExprId first = w_.let("next", w_.add(w_.add(plan_.straddles ? border_ : start_, own_), w_.i64(step)));
  for (ValueId v : l_.region.inputs) {
    if (l_.graph.type(v).shape != l_.region.domain || !isHalf(l_.graph.type(v).dtype)) continue;
    for (int64_t k = 0; k < plan_.vectors; ++k) w_.prefetch(l_.bufferOf(v), w_.add(first, w_.i64(k * stride())));
  }
}

std::vector<ValueId> plainHalves(const Lowering& l) {
  std::vector<ValueId> out;
  for (ValueId v : l.region.inputs) {
    const auto readsElsewhere = [&](ValueId n) {
      const Node& node = l.graph.node(n);
      return std::find(node.operands.begin(), node.operands.end(), v) != node.operands.end() &&
             !isElementwise(node.op) && !std::holds_alternative<Reduce>(node.op);
    };
    if (l.graph.type(v).shape == l.region.domain && isHalf(l.graph.type(v).dtype) && l.hasBuffer(v) &&
        std::none_of(l.region.nodes.begin(), l.region.nodes.end(), readsElsewhere))
      out.push_back(v);
  }
  return out;
}

std::vector<ValueId> loadedAhead(const Lowering& l, const Phases& phases) {
  if (phases.sweeps.size() < 2 || phases.sweeps[0].folds.empty()) return {};
  std::vector<ValueId> out = plainHalves(l);
  for (ValueId again : readAgain(l, phases)) std::erase(out, again);
  return out;
}

/// Declares variables for those inputs, of which the first row is loaded.
void Rows::beginAhead(ExprId first) {
  if (!plan_.ahead) return;
  for (ValueId v : loadedAhead(l_, phases_)) {
    auto& vectors = ahead_.emplace_back(v, std::vector<kernel::VarId>{}).second;
    const DType type = l_.graph.type(v).dtype;
    for (int k = 0; k < plan_.vectors; ++k)
      vectors.push_back(w_.declare("ahead", w_.imm(Scalar::of(0.0), type, plan_.lanes)));
  }
  loadAhead(first);
  for (const auto& [input, vectors] : ahead_)
    l_.e.bind(input, [this, &vectors, type = computeType(l_.graph.type(input).dtype)](const At& at) {
      for (const Chunk& c : chunks_)
        if (c.at.index == at.index) return w_.convert(w_.get(vectors[c.held]), type);
      TK_CHECK(false, "an input is wanted at another place");
      return ExprId{};
    });
}

/// Loads the vectors of the row that this thread takes of those from `first` on, if there are any.
void Rows::loadAhead(ExprId first) {
  if (ahead_.empty()) return;
  w_.when(w_.binary(BinaryKind::lt, first, w_.dim(rows_)), [&] {
    ExprId row = w_.add(first, slot_);
    if (!wholeBlocks_) row = w_.binary(BinaryKind::min, row, w_.sub(w_.dim(rows_), w_.i64(1)));
    const ExprId at = w_.let("ahead", w_.add(w_.mul(row, w_.dim(domain_.foldedCount)), own_));
    for (const auto& [input, vectors] : ahead_)
      for (size_t k = 0; k < vectors.size(); ++k)
        w_.assign(vectors[k],
                  w_.load(l_.bufferOf(input), w_.add(at, w_.i64(static_cast<int64_t>(k) * stride())), plan_.lanes));
  });
}

void Rows::runAcross(ExprId b, ExprId t, const std::vector<PartialBuffers>& partial) {
  const Sweep& last = phases_.sweeps.back();
  placeThread(t);
  for (ValueId fold : last.across) {
    const DType type = accumulatorType(kindOf(fold), l_.graph.type(l_.graph.node(fold).operands[0]).dtype);
    auto& sums = carried_.emplace_back();
    for (int k = 0; k < plan_.vectors; ++k)
      sums.push_back(w_.declare("sum", w_.imm(identityOf(combinerOf(kindOf(fold)), type), type, plan_.lanes)));
  }
  // Where rows meet at one barrier each, slow warps may still read what was left for them while others are at the next.
  size_t barriers = 0;
  for (const Sweep& sweep : phases_.sweeps) barriers += !sweep.folds.empty();
  if (barriers == 1 && plan_.threads > kWarp) turn_ = w_.declare("turn", w_.i64(0));
  const ExprId begin = w_.let("begin", w_.mul(b, w_.i64(plan_.rows)));
  const int64_t step = int64_t{plan_.blocks} * plan_.rows;
  beginAhead(begin);
  l_.e.loop("r", begin, w_.dim(rows_), step, Binding::serial, [&](ExprId first) {
    chunks_.clear();
    kept_.clear();
    placeRow(first);
    if (rowsFirst_) fetchNext();
    sweepAll([&] { loadAhead(w_.let("next", w_.add(first, w_.i64(step)))); });
    if (turn_) w_.assign(turn_, w_.sub(w_.i64(1), w_.get(turn_)));
  });
  // Laid out as [outer, piece, column], as stage two of a fold of columns reads it.
  const Dim columns = domain_.groups.back().extent;
  const int64_t pieces = int64_t{plan_.blocks} * plan_.rows, n = *domain_.foldedCount.constant();
  const ExprId piece = w_.let("piece", w_.add(begin, slot_));
  // All rows of this thread begin as its first does.
  if (plan_.straddles) placeRow(begin);
  for (int64_t v = 0; v < plan_.vectors; ++v) {
    ExprId from = w_.let("from", w_.add(own_, w_.i64(v * stride())));
    ExprId mask;
    if (plan_.straddles) {
      from = w_.let("from", w_.sub(from, shift_));
      const ExprId lanes = w_.ramp(from, plan_.lanes);
      const auto bound = [&](int64_t x) { return w_.splat(w_.i64(x), plan_.lanes); };
      mask = w_.both(w_.binary(BinaryKind::ge, lanes, bound(0)), w_.binary(BinaryKind::lt, lanes, bound(n)));
    } else if ((v + 1) * stride() > n) {
      mask = w_.binary(BinaryKind::lt, from, w_.i64(n));
    }
    // Of odd rows there is one group, and division would not round down before it.
    ExprId line = piece, column = from;
    if (!plan_.straddles) {
      const ExprId outer = w_.binary(BinaryKind::div, from, w_.dim(columns));
      column = w_.binary(BinaryKind::fmod, from, w_.dim(columns));
      line = w_.add(w_.mul(outer, w_.i64(pieces)), piece);
    }
    const ExprId at = w_.let("at", w_.add(w_.mul(line, w_.dim(columns)), column));
    for (size_t k = 0; k < carried_.size(); ++k)
      w_.store(partial[k].value, at, w_.get(carried_[k][static_cast<size_t>(v)]), mask);
  }
}

void lowerRowsAcross(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan,
                     const std::vector<PartialBuffers>& partial) {
  const Phases phases = planPhases(l.graph, l.region, {.keep = plan.keep, .instead = true});
  if (plan.resident) l.w.setResidentBlocks(plan.resident);
  const Dim slack = rowSlack(domain, plan) + domain.foldedCount * Dim(int64_t{2} * plan.blocks * plan.rows);
  overGrid(l, plan.blocks, plan.threads * plan.rows, slack,
           [&](ExprId b, ExprId t) { Rows(l, domain, plan, phases).runAcross(b, t, partial); });
}

}  // namespace tokamak::schedule::gpu
