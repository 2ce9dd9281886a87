#include "schedule/gpu/rows.h"

#include <algorithm>

namespace tokamak::schedule::gpu {

using kernel::Binding;

Dim rowsOf(const FoldDomain& domain) {
  Dim rows = 1;
  for (size_t g : domain.keptGroups) rows = rows * domain.groups[g].extent;
  return rows;
}

Dim rowSlack(const FoldDomain& domain, const FoldAxes::Plan& plan) {
  return domain.foldedCount * Dim(int64_t{plan.rows} * plan.batch) +
         Dim(int64_t{plan.cluster} * plan.threads * plan.lanes * (plan.vectors + 1) + (1 << 16));
}

Rows::Rows(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan, const Phases& phases)
    : l_(l), w_(l.w), domain_(domain), plan_(plan), phases_(phases), index_(domain.groups.size()) {
  rows_ = rowsOf(domain);
  const auto rows = rows_.constant();
  const int64_t each = int64_t{plan.rows} * plan.batch;  // of a block
  wholeBlocks_ = each == 1 || (rows && *rows % each == 0);
  const auto elements = (rows_ * domain.foldedCount).constant();
  wholeVectors_ = elements && *elements % plan.lanes == 0;
  rowsFirst_ = std::is_sorted(domain.folded.begin(), domain.folded.end());
}

void Rows::run(ExprId b, ExprId t) {
  if (plan_.cluster == 1) {
    placeThread(t);
    placeRow(w_.mul(b, w_.i64(plan_.rows)));
  } else {
    placeThread(t, w_.let("rank", w_.binary(BinaryKind::fmod, b, w_.i64(plan_.cluster))));
    placeRow(w_.binary(BinaryKind::div, b, w_.i64(plan_.cluster)));
  }
  sweepAll();
}

void Rows::sweepAll(const std::function<void()>& afterFirst) {
  holdLoads();
  for (size_t s = 0; s < phases_.sweeps.size(); ++s) {
    const Sweep& sweep = phases_.sweeps[s];
    if (plan_.form == FoldAxes::Form::sweeps)
      l_.e.cache = s + 1 < phases_.sweeps.size() ? kernel::Cache::evict_last : kernel::Cache::evict_first;
    SweepFolds folds = begin(sweep);
    if (plan_.form == FoldAxes::Form::registers)
      overHeld(sweep, folds);
    else
      overLoops(sweep, folds);
    finish(sweep, folds, join(folds));
    if (s == 0 && afterFirst) afterFirst();
  }
  l_.e.cache = kernel::Cache::normal;
  storeOnce();
  l_.e.hold({});
}

/// Kept-level results, by the first thread of the row.
void Rows::storeOnce() {
  const bool any = std::any_of(l_.region.outputs.begin(), l_.region.outputs.end(),
                               [&](ValueId v) { return !isFull(l_.graph, l_.region, v); });
  if (!any) return;
  const ExprId first = w_.binary(BinaryKind::eq, own_, w_.i64(0));
  w_.when(rowHere_ ? w_.both(rowHere_, first) : first, l_.e.scoped([&] { storeKept(l_, keptPlace()); }));
}

// ---- places ----

/// Which row of the block this thread is at, and which vectors of it are its own.
void Rows::placeThread(ExprId t, ExprId rank) {
  const bool several = plan_.rows > 1;
  thread_ = t;
  lane_ = several ? w_.let("lane", w_.binary(BinaryKind::fmod, t, w_.i64(plan_.threads))) : t;
  slot_ = several ? w_.let("slot", w_.binary(BinaryKind::div, t, w_.i64(plan_.threads))) : w_.i64(0);
  rank_ = rank;
  const ExprId place = rank ? w_.add(w_.mul(rank, w_.i64(plan_.threads)), lane_) : lane_;
  own_ = w_.let("own", w_.mul(place, w_.i64(plan_.lanes)));
}

/// The row, given the first one of the block.
void Rows::placeRow(ExprId first) {
  row_ = w_.let("row", w_.add(first, slot_));
  if (!wholeBlocks_) {
    // Threads past the last row take it once more, so that all meet; they store nothing.
    rowHere_ = w_.let("here", w_.binary(BinaryKind::lt, row_, w_.dim(rows_)));
    row_ = w_.let("row", w_.binary(BinaryKind::min, row_, w_.sub(w_.dim(rows_), w_.i64(1))));
  }
  const auto kept = unflatten(IndexMath(w_, 1), {row_, 0, 1, {}}, domain_.extents(domain_.keptGroups));
  for (size_t k = 0; k < kept.size(); ++k) index_[domain_.keptGroups[k]] = kept[k];
  start_ = w_.mul(row_, w_.dim(domain_.foldedCount));
  if (!plan_.straddles) return;
  start_ = w_.let("start", start_);
  border_ = w_.let("border", w_.binary(BinaryKind::bit_and, start_, w_.i64(-int64_t{plan_.lanes})));
  shift_ = w_.let("shift", w_.sub(start_, border_));
}

/// Inputs that more than one sweep reads stay in registers, or in the first cache.
void Rows::holdLoads() {
  std::vector<bool> again;
  for (ValueId v : readAgain(l_, phases_)) {
    const BufferId buffer = l_.bufferOf(v);
    again.resize(std::max<size_t>(again.size(), buffer.index + 1), false);
    again[buffer.index] = true;
  }
  if (plan_.form == FoldAxes::Form::registers)
    l_.e.hold(again);
  else
    l_.e.cached = again;
}

/// The vector whose first element is `from` elements (a multiple of the lanes) from the row's start, or from the
/// border before it. `low`, `high`: it may reach beyond the row's start or end.
Rows::Chunk Rows::chunk(ExprId from, bool low, bool high) {
  IndexMath m(w_, plan_.lanes);
  const int64_t unit = plan_.lanes > 1;
  Chunk out{{{}, plan_.lanes, {}, {}}, {from, unit, plan_.lanes, {}}};
  Index inRow = out.position;
  if (plan_.straddles) inRow = {w_.let("at", w_.sub(from, shift_)), unit, 1, {}};
  if (low || high) {
    const ExprId lanes = m.expr(inRow);
    ExprId inside;
    if (plan_.straddles && low) inside = w_.both(inside, w_.binary(BinaryKind::ge, lanes, w_.i64(0)));
    if (plan_.straddles && high)
      inside = w_.both(inside, w_.binary(BinaryKind::lt, lanes, w_.dim(domain_.foldedCount)));
    if (!plan_.straddles && high) inside = w_.binary(BinaryKind::lt, from, w_.dim(domain_.foldedCount));
    if (inside) out.at.mask = w_.let("inside", inside);
  }
  const auto folded = unflatten(m, inRow, domain_.extents(domain_.foldedGroups));
  for (size_t k = 0; k < folded.size(); ++k) index_[domain_.foldedGroups[k]] = folded[k];
  out.at.index = domainIndex(m, l_.region.domain.size(), domain_.groups, index_);
  if (rowsFirst_) {
    const ExprId flat = plan_.straddles ? w_.add(border_, from) : w_.add(start_, from);
    std::optional<Emitter::WiderLoads> wider;
    if (plan_.straddles && out.at.mask && wholeVectors_)
      wider = {out.at.mask, high ? w_.binary(BinaryKind::lt, inRow.base, w_.dim(domain_.foldedCount)) : ExprId{}};
    l_.e.setFlat(l_.region.domain, out.at.index, {flat, unit, w_.multipleOf(flat), {}}, wider);
  }
  return out;
}

At Rows::keptPlace() {
  for (size_t g : domain_.foldedGroups) index_[g] = {w_.i64(0), 0, 0, {}};
  return keptAt(l_.region,
                At{domainIndex(IndexMath(w_, 1), l_.region.domain.size(), domain_.groups, index_), 1, {}, {}});
}

// ---- sweeps ----

static ExprId meanOfLanes(Writer& w, ExprId x) {
  const int lanes = w.lanes(x);
  if (lanes == 1) return x;
  return w.mul(w.fold(BinaryKind::add, x), w.imm(Scalar::of(1.0 / lanes), w.type(x).dtype, 1));
}

SweepFolds Rows::begin(const Sweep& sweep, bool staged) {
  const auto n = domain_.foldedCount.constant();
  const bool visited = n && *n >= stride() && !plan_.straddles;
  return SweepFolds(l_, sweep, {plan_.lanes, visited}, domain_.foldedCount, staged, [&](ValueId x) {
    ExprId first;
    l_.e.scope([&] {
      if (n && *n >= plan_.lanes && !plan_.straddles) {
        first = meanOfLanes(w_, l_.e.value(x, chunk(w_.i64(0), false, false).at));
        return;
      }
      for (size_t g : domain_.foldedGroups) index_[g] = {w_.i64(0), 0, 0, {}};
      At at{domainIndex(IndexMath(w_, 1), l_.region.domain.size(), domain_.groups, index_), 1, {}, {}};
      if (!n || *n == 0) at.mask = w_.binary(BinaryKind::gt, w_.dim(domain_.foldedCount), w_.i64(0));
      first = l_.e.value(x, at);
    });
    return first;
  });
}

void Rows::overHeld(const Sweep& sweep, SweepFolds& folds) {
  if (chunks_.empty()) {
    const int64_t n = *domain_.foldedCount.constant();
    for (int64_t k = 0; k < plan_.vectors; ++k) {
      chunks_.push_back(chunk(w_.let("from", w_.add(own_, w_.i64(k * stride()))), k == 0, (k + 1) * stride() > n));
      chunks_.back().held = static_cast<size_t>(k);
    }
  }
  std::vector<Chunk*> all;
  for (Chunk& c : chunks_) all.push_back(&c);
  take(sweep, folds, all);
}

void Rows::overLoops(const Sweep& sweep, SweepFolds& folds, ExprId begin, int64_t size) {
  const ExprId n = w_.dim(domain_.foldedCount);
  const int64_t round = stride() * plan_.vectors;
  ExprId end = plan_.straddles ? w_.add(n, shift_) : n, own = own_;
  if (begin) {
    end = w_.let("end", w_.binary(BinaryKind::min, w_.add(begin, w_.i64(size)), end));
    own = w_.let("own", w_.add(begin, own_));
  } else {
    begin = w_.i64(0);
  }
  const ExprId rounds = w_.let("rounds", w_.binary(BinaryKind::div, w_.sub(end, begin), w_.i64(round)));
  const auto single = [&](ExprId from, ExprId to) {
    l_.e.loop("from", from, to, stride(), Binding::serial, [&](ExprId at) {
      Chunk c = chunk(at, true, true);
      take(sweep, folds, {&c});
    });
  };
  const auto whole = [&](ExprId first, bool low) {
    std::vector<Chunk> chunks;
    for (int64_t k = 0; k < plan_.vectors; ++k)
      chunks.push_back(chunk(w_.let("from", w_.add(first, w_.i64(k * stride()))), low && k == 0, false));
    std::vector<Chunk*> all;
    for (Chunk& c : chunks) all.push_back(&c);
    take(sweep, folds, all);
  };
  // Where vectors straddle, the first round may have the row's start in it.
  if (plan_.straddles) w_.when(w_.binary(BinaryKind::gt, rounds, w_.i64(0)), l_.e.scoped([&] { whole(own, true); }));
  l_.e.loop("i", w_.i64(plan_.straddles), rounds, 1, Binding::serial,
            [&](ExprId i) { whole(w_.let("first", w_.add(w_.mul(i, w_.i64(round)), own)), false); });
  single(w_.let("rest", w_.add(w_.mul(rounds, w_.i64(round)), own)), end);
}

/// Values of all vectors first, stores after them, so that many loads are in flight; where rows are held, vector by
/// vector, so that few registers are. What one vector computes is not kept for the next sweep.
void Rows::take(const Sweep& sweep, SweepFolds& folds, const std::vector<Chunk*>& chunks) {
  const auto taken = [](const Chunk* c) { return SweepFolds::Taken{c->at, c->position, c->at.mask}; };
  if (plan_.form == FoldAxes::Form::registers) {
    for (Chunk* c : chunks)
      l_.e.scope([&] {
        for (ValueId v : sweep.keeps)
          kept_[v.index].push_back({c->at.index, w_.splat(l_.e.value(v, c->at), c->at.lanes)});
        if (!sweep.folds.empty()) folds.take({taken(c)});
      });
  } else if (!sweep.folds.empty()) {
    std::vector<SweepFolds::Taken> all;
    for (const Chunk* c : chunks) all.push_back(taken(c));
    folds.take(all);
  }
  if (sweep.stores.empty() && sweep.across.empty()) return;
  if (plan_.form != FoldAxes::Form::registers) return store(sweep, chunks);
  for (Chunk* c : chunks) store(sweep, {c});
}

void Rows::store(const Sweep& sweep, const std::vector<Chunk*>& chunks) {
  l_.e.scope([&] {
    for (Chunk* c : chunks) {
      for (ValueId v : sweep.stores) l_.e.value(v, c->at);
      if (!sweep.across.empty()) carry(sweep, *c);
    }
    for (Chunk* c : chunks)
      for (ValueId v : sweep.stores) storeWhere(l_, v, c->at, rowHere_);
  });
}

/// What all threads of the row found; `exact`: sums of f32 are joined in f64.
std::vector<Found> Rows::join(SweepFolds& folds, bool exact) {
  const ExprId turn = turn_ ? w_.get(turn_) : ExprId{};
  return fromRowStart(
      joinThreads(w_, {thread_, plan_.threads, plan_.rows, plan_.cluster, rank_, turn, exact}, folds.found(false)));
}

std::vector<Found> Rows::fromRowStart(std::vector<Found> found) const {
  for (Found& f : found)
    if (f.position && plan_.straddles) f.position = w_.sub(f.position, shift_);
  return found;
}

void Rows::finish(const Sweep& sweep, SweepFolds& folds, const std::vector<Found>& found) {
  folds.bind(found);
  for (ValueId v : sweep.rowValues)
    if (l_.graph.type(v).shape.size() == keptPlace().index.size()) l_.e.value(v, keptPlace());
  for (ValueId v : sweep.keeps)
    l_.e.bind(v, [this, v](const At& at) {
      for (const auto& [index, value] : kept_[v.index])
        if (index == at.index) return value;
      TK_CHECK(false, "a kept value is wanted at another place");
      return ExprId{};
    });
}

void lowerRows(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan) {
  const bool sweeps = plan.form == FoldAxes::Form::sweeps;
  const Phases phases = planPhases(l.graph, l.region, {.keep = plan.keep, .pairs = sweeps, .instead = !sweeps});
  if (plan.resident) l.w.setResidentBlocks(plan.resident);
  if (plan.cluster > 1) l.w.setClusterBlocks(plan.cluster);
  overGrid(l, Dim::ceilDiv(rowsOf(domain), int64_t{plan.rows} * plan.batch) * Dim(plan.cluster),
           plan.threads * plan.rows, rowSlack(domain, plan), [&](ExprId b, ExprId t) {
             if (plan.batch > 1)
               Rows::runBatch(l, domain, plan, phases, b, t);
             else
               Rows(l, domain, plan, phases).run(b, t);
           });
}

}  // namespace tokamak::schedule::gpu
