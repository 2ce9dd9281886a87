#include <algorithm>

#include "schedule/gpu/join.h"
#include "schedule/gpu/reduce.h"

namespace tokamak::schedule::gpu {

using kernel::Binding;

namespace {

/// One thread's part of a row, through all sweeps.
class Rows {
 public:
  Rows(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan, const Phases& phases)
      : l_(l), w_(l.w), domain_(domain), plan_(plan), phases_(phases), index_(domain.groups.size()) {
    for (size_t g : domain.keptGroups) rows_ = rows_ * domain.groups[g].extent;
    const auto rows = rows_.constant();
    wholeBlocks_ = plan.rows == 1 || (rows && *rows % plan.rows == 0);
    rowsFirst_ = std::is_sorted(domain.folded.begin(), domain.folded.end());
  }

  void run(ExprId b, ExprId t) {
    place(b, t);
    holdLoads();
    for (size_t s = 0; s < phases_.sweeps.size(); ++s) {
      const Sweep& sweep = phases_.sweeps[s];
      if (plan_.form == FoldAxes::Form::sweeps)
        l_.e.cache = s + 1 < phases_.sweeps.size() ? kernel::Cache::evict_last : kernel::Cache::evict_first;
      std::vector<FoldState> folds = begin(sweep);
      if (plan_.form == FoldAxes::Form::registers)
        overHeld(sweep, folds);
      else
        overLoops(sweep, folds);
      finish(sweep, join(sweep, folds));
    }
    l_.e.cache = kernel::Cache::normal;
    storeOnce();
    l_.e.hold({});
  }

  /// Stage one of two: folds a piece of a row and stores what was found in it.
  void runPiece(ExprId b, ExprId t, const Pieces& pieces, const std::vector<PartialBuffers>& partial) {
    const ExprId piece = w_.let("piece", w_.binary(BinaryKind::fmod, b, w_.dim(pieces.count)));
    place(w_.let("row", w_.binary(BinaryKind::div, b, w_.dim(pieces.count))), t);
    const Sweep& sweep = phases_.sweeps[0];
    std::vector<FoldState> folds = begin(sweep);
    overLoops(sweep, folds, w_.let("begin", w_.mul(piece, w_.i64(pieces.size))), pieces.size);
    const std::vector<Found> found = join(sweep, folds);
    w_.when(w_.binary(BinaryKind::eq, t, w_.i64(0)), [&] {
      for (size_t k = 0; k < found.size(); ++k) {
        w_.store(partial[k].value, b, found[k].value);
        if (partial[k].where) w_.store(partial[k].where, b, found[k].position);
      }
    });
  }

  /// Stage two: folds what was found in the pieces of a row.
  void runPieces(ExprId b, ExprId t, const Pieces& pieces, const std::vector<PartialBuffers>& partial) {
    place(b, t);
    const Sweep& sweep = phases_.sweeps[0];
    std::vector<PieceFold> folds;
    for (size_t k = 0; k < sweep.folds.size(); ++k)
      folds.emplace_back(w_, kindOf(sweep.folds[k]), w_.bufferType(partial[k].value), 1);
    const ExprId first = w_.let("first", w_.mul(b, w_.dim(pieces.count)));
    l_.e.loop("p", t, w_.dim(pieces.count), plan_.threads, Binding::serial, [&](ExprId p) {
      const ExprId at = w_.let("at", w_.add(first, p));
      for (size_t k = 0; k < folds.size(); ++k)
        folds[k].take(w_.load(partial[k].value, at), partial[k].where ? w_.load(partial[k].where, at) : ExprId{});
    });
    std::vector<Found> found;
    for (PieceFold& fold : folds) found.push_back(fold.found());
    finish(sweep, joinThreads(w_, {t, plan_.threads, 1}, std::move(found)));
    storeOnce();
  }

 private:
  struct Chunk {
    At at;
    Index position;  // of its first lane in the row, from the border of memory on where vectors straddle
  };

  ReduceKind kindOf(ValueId fold) const { return std::get<Reduce>(l_.graph.node(fold).op).kind; }

  /// Kept-level results, by the first thread of the row.
  void storeOnce() {
    const bool any = std::any_of(l_.region.outputs.begin(), l_.region.outputs.end(),
                                 [&](ValueId v) { return !isFull(l_.graph, l_.region, v); });
    if (!any) return;
    const ExprId first = w_.binary(BinaryKind::eq, lane_, w_.i64(0));
    w_.when(rowHere_ ? w_.both(rowHere_, first) : first, l_.e.scoped([&] { storeKept(l_, keptPlace()); }));
  }

  int64_t stride() const { return int64_t{plan_.threads} * plan_.lanes; }  // elements of a row that its threads take

  /// Which row this thread is at and which of its vectors are its own.
  void place(ExprId b, ExprId t) {
    const bool several = plan_.rows > 1;
    lane_ = several ? w_.let("lane", w_.binary(BinaryKind::fmod, t, w_.i64(plan_.threads))) : t;
    row_ = several ? w_.let("row",
                            w_.add(w_.mul(b, w_.i64(plan_.rows)), w_.binary(BinaryKind::div, t, w_.i64(plan_.threads))))
                   : b;
    thread_ = t;
    if (!wholeBlocks_) {
      // Threads past the last row take it once more, so that all meet; they store nothing.
      rowHere_ = w_.let("here", w_.binary(BinaryKind::lt, row_, w_.dim(rows_)));
      row_ = w_.let("row", w_.binary(BinaryKind::min, row_, w_.sub(w_.dim(rows_), w_.i64(1))));
    }
    const auto kept = unflatten(IndexMath(w_, 1), {row_, 0, 1, {}}, domain_.extents(domain_.keptGroups));
    for (size_t k = 0; k < kept.size(); ++k) index_[domain_.keptGroups[k]] = kept[k];
    own_ = w_.let("own", w_.mul(lane_, w_.i64(plan_.lanes)));
    start_ = w_.mul(row_, w_.dim(domain_.foldedCount));
    if (!plan_.straddles) return;
    start_ = w_.let("start", start_);
    border_ = w_.let("border", w_.binary(BinaryKind::bit_and, start_, w_.i64(-int64_t{plan_.lanes})));
    shift_ = w_.let("shift", w_.sub(start_, border_));
  }

  /// Inputs that more than one sweep reads stay in registers, or in the first cache.
  void holdLoads() {
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

  // ---- places ----

  /// The vector whose first element is `from` elements (a multiple of the lanes) from the row's start, or from the
  /// border before it. `low`, `high`: it may reach beyond the row's start or end.
  Chunk chunk(ExprId from, bool low, bool high) {
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
      l_.e.setFlat(l_.region.domain, out.at.index, {flat, unit, w_.multipleOf(flat), {}});
    }
    return out;
  }

  At keptPlace() {
    for (size_t g : domain_.foldedGroups) index_[g] = {w_.i64(0), 0, 0, {}};
    return keptAt(l_.region,
                  At{domainIndex(IndexMath(w_, 1), l_.region.domain.size(), domain_.groups, index_), 1, {}, {}});
  }

  // ---- sweeps ----

  std::vector<FoldState> begin(const Sweep& sweep) {
    const auto n = domain_.foldedCount.constant();
    const bool visited = n && *n >= stride() && !plan_.straddles;
    std::vector<FoldState> folds;
    for (ValueId v : sweep.folds)
      folds.emplace_back(w_, kindOf(v), l_.graph.type(l_.graph.node(v).operands[0]).dtype,
                         std::vector<LaneCount>{{plan_.lanes, visited}}, domain_.foldedCount);
    return folds;
  }

  void overHeld(const Sweep& sweep, std::vector<FoldState>& folds) {
    if (chunks_.empty()) {
      const int64_t n = *domain_.foldedCount.constant();
      for (int64_t k = 0; k < plan_.vectors; ++k)
        chunks_.push_back(chunk(w_.let("from", w_.add(own_, w_.i64(k * stride()))), k == 0, (k + 1) * stride() > n));
    }
    std::vector<Chunk*> all;
    for (Chunk& c : chunks_) all.push_back(&c);
    take(sweep, folds, all);
  }

  /// Elements [begin, begin + size) of the row, counted from its start or the border before it, or all of them: whole
  /// rounds of `vectors` vectors a thread first, then vector by vector.
  void overLoops(const Sweep& sweep, std::vector<FoldState>& folds, ExprId begin = {}, int64_t size = 0) {
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
    // Where vectors straddle, the first round has the row's start in it and goes vector by vector.
    if (plan_.straddles) single(own, w_.let("to", w_.binary(BinaryKind::min, w_.add(begin, w_.i64(round)), end)));
    l_.e.loop("i", w_.i64(plan_.straddles), rounds, 1, Binding::serial, [&](ExprId i) {
      std::vector<Chunk> chunks;
      const ExprId first = w_.let("first", w_.add(w_.mul(i, w_.i64(round)), own));
      for (int64_t k = 0; k < plan_.vectors; ++k)
        chunks.push_back(chunk(w_.let("from", w_.add(first, w_.i64(k * stride()))), false, false));
      std::vector<Chunk*> all;
      for (Chunk& c : chunks) all.push_back(&c);
      take(sweep, folds, all);
    });
    const ExprId done = w_.mul(plan_.straddles ? w_.binary(BinaryKind::max, rounds, w_.i64(1)) : rounds, w_.i64(round));
    single(w_.let("rest", w_.add(done, own)), end);
  }

  /// Values of all vectors first, stores after them, so that many loads are in flight; where rows are held, vector by
  /// vector, so that few registers are. What one vector computes is not kept for the next sweep.
  void take(const Sweep& sweep, std::vector<FoldState>& folds, const std::vector<Chunk*>& chunks) {
    for (Chunk* c : chunks)
      l_.e.scope([&] {
        for (ValueId v : sweep.keeps)
          kept_[v.index].push_back({c->at.index, w_.splat(l_.e.value(v, c->at), c->at.lanes)});
        At place = c->at;
        place.tail = place.mask;
        for (size_t k = 0; k < sweep.folds.size(); ++k)
          folds[k].take(l_.e.value(l_.graph.node(sweep.folds[k]).operands[0], c->at), place, c->position);
      });
    if (sweep.stores.empty()) return;
    if (plan_.form != FoldAxes::Form::registers) return store(sweep, chunks);
    for (Chunk* c : chunks) store(sweep, {c});
  }

  void store(const Sweep& sweep, const std::vector<Chunk*>& chunks) {
    l_.e.scope([&] {
      for (Chunk* c : chunks)
        for (ValueId v : sweep.stores) l_.e.value(v, c->at);
      for (Chunk* c : chunks)
        for (ValueId v : sweep.stores) storeWhere(l_, v, c->at, rowHere_);
    });
  }

  /// What all threads of the row found.
  std::vector<Found> join(const Sweep& sweep, std::vector<FoldState>& folds) {
    std::vector<Found> found;
    for (size_t k = 0; k < sweep.folds.size(); ++k) {
      const ExprId value = folds[k].combined();
      found.push_back({kindOf(sweep.folds[k]), value, folds[k].position()});
    }
    found = joinThreads(w_, {thread_, plan_.threads, plan_.rows}, std::move(found));
    for (Found& f : found)
      if (f.position && plan_.straddles) f.position = w_.sub(f.position, shift_);
    return found;
  }

  void finish(const Sweep& sweep, const std::vector<Found>& found) {
    for (size_t k = 0; k < sweep.folds.size(); ++k)
      bindFold(l_, sweep.folds[k], found[k].value, found[k].position, domain_.foldedCount);
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

  Lowering& l_;
  Writer& w_;
  const FoldDomain& domain_;
  const FoldAxes::Plan& plan_;
  const Phases& phases_;
  std::vector<Index> index_;
  Dim rows_ = 1;
  bool wholeBlocks_ = true;  // no block reaches past the last row
  bool rowsFirst_ = true;    // a row lies in one piece
  ExprId thread_, lane_, row_, rowHere_, own_, start_, border_, shift_;
  std::vector<Chunk> chunks_;
  std::unordered_map<uint32_t, std::vector<std::pair<std::vector<Index>, ExprId>>> kept_;
};

}  // namespace

static Dim rowsOf(const FoldDomain& domain) {
  Dim rows = 1;
  for (size_t g : domain.keptGroups) rows = rows * domain.groups[g].extent;
  return rows;
}

static Dim slackOf(const FoldDomain& domain, const FoldAxes::Plan& plan) {
  return domain.foldedCount * Dim(plan.rows) + Dim(int64_t{plan.threads} * plan.lanes * (plan.vectors + 1) + (1 << 16));
}

void lowerRows(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan) {
  const Phases phases = planPhases(l.graph, l.region, plan.keep);
  if (plan.resident) l.w.setResidentBlocks(plan.resident);
  overGrid(l, Dim::ceilDiv(rowsOf(domain), plan.rows), plan.threads * plan.rows, slackOf(domain, plan),
           [&](ExprId b, ExprId t) { Rows(l, domain, plan, phases).run(b, t); });
}

void lowerRowPieces(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan, const Pieces& pieces,
                    const std::vector<PartialBuffers>& partial) {
  const Phases phases = planPhases(l.graph, l.region, false);
  if (plan.resident) l.w.setResidentBlocks(plan.resident);
  overGrid(l, rowsOf(domain) * pieces.count, plan.threads,
           slackOf(domain, plan) + rowsOf(domain) * pieces.count + Dim(2 * pieces.size),
           [&](ExprId b, ExprId t) { Rows(l, domain, plan, phases).runPiece(b, t, pieces, partial); });
}

void lowerRowFinish(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan, const Pieces& pieces,
                    const std::vector<PartialBuffers>& partial) {
  const Phases phases = planPhases(l.graph, l.region, false);
  overGrid(l, rowsOf(domain), plan.threads,
           slackOf(domain, plan) + rowsOf(domain) * pieces.count + Dim(2 * pieces.size),
           [&](ExprId b, ExprId t) { Rows(l, domain, plan, phases).runPieces(b, t, pieces, partial); });
}

}  // namespace tokamak::schedule::gpu
