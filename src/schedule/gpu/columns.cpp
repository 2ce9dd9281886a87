#include <algorithm>

#include "schedule/gpu/reduce.h"
#include "schedule/gpu/rows.h"
#include "schedule/gpu/sweep_folds.h"

namespace tokamak::schedule::gpu {

using kernel::Binding;

namespace {

constexpr int kFirstRows = 4;  // whose mean stands for that of all

/// One thread's columns through all sweeps: a vector of neighbouring columns, every `down`-th row of them.
class Columns {
 public:
  Columns(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan, const Phases& phases)
      : l_(l),
        w_(l.w),
        domain_(domain),
        plan_(plan),
        phases_(phases),
        width_(domain.groups.back().extent * Dim(plan.together)),
        rows_(Dim::ceilDiv(domain.foldedCount, plan.together)),
        index_(domain.groups.size()),
        exact_(hasNoHalves(l)) {}

  Dim blocks() const { return elementCount(outerExtents()); }

  void run(ExprId b, ExprId t) {
    place(b, t);
    for (const Sweep& sweep : phases_.sweeps) {
      SweepFolds folds = begin(sweep, false);
      overRows(w_.i64(0), w_.dim(rows_), [&](const std::vector<ExprId>& rows) { take(sweep, folds, rows); });
      if (!sweep.folds.empty()) bind(sweep, folds, joinDown(w_, downThreads(), folds.found(true)));
    }
    const bool any = std::any_of(l_.region.outputs.begin(), l_.region.outputs.end(),
                                 [&](ValueId v) { return !isFull(l_.graph, l_.region, v); });
    if (any) w_.when(w_.binary(BinaryKind::eq, y_, w_.i64(0)), l_.e.scoped([&] { storeKeptHere(); }));
  }

  /// One sweep, the rows of which the blocks of a cluster share out among themselves.
  void runCluster(ExprId b, ExprId t) {
    const ExprId rank = w_.let("rank", w_.binary(BinaryKind::fmod, b, w_.i64(plan_.cluster)));
    const ExprId block = w_.let("block", w_.binary(BinaryKind::div, b, w_.i64(plan_.cluster)));
    place(block, t);
    const Sweep& sweep = phases_.sweeps[0];
    SweepFolds folds = begin(sweep, false);
    // The blocks take turns at rows, so that all of them read the same part of memory at a time.
    const ExprId first = w_.mul(rank, w_.i64(plan_.rows));
    if (plan_.ahead)
      foldRowsAhead(first, sweep, folds);
    else
      overRows(first, w_.dim(rows_), [&](const std::vector<ExprId>& rows) { take(sweep, folds, rows); });
    FoldAxes::Plan alone = plan_;  // a thread for a column
    alone.threads *= alone.lanes;
    alone.lanes = alone.rows = alone.cluster = 1;
    const auto store = [&](ExprId column, const std::vector<Found>& found) {
      l_.e.scope([&] {
        Columns one(l_, domain_, alone, phases_);
        one.place(block, column);
        SweepFolds binder = one.begin(sweep, false);
        one.bind(sweep, binder, found);
        one.storeKeptHere();
      });
    };
    joinCluster(w_, downThreads(), plan_.cluster, rank, folds.found(true), store);
  }

  /// Stage one of two: folds rows [begin, end) of piece number `piece`, and stores what was found there.
  void runPiece(ExprId b, ExprId t, const Pieces& pieces, const std::vector<PartialBuffers>& partial) {
    const ExprId piece = w_.let("piece", w_.binary(BinaryKind::fmod, b, w_.dim(pieces.count)));
    place(w_.let("block", w_.binary(BinaryKind::div, b, w_.dim(pieces.count))), t);
    const Sweep& sweep = phases_.sweeps[0];
    SweepFolds folds = begin(sweep, true);
    const ExprId first = w_.let("begin", w_.mul(piece, w_.i64(pieces.size)));
    const ExprId last = w_.let("end", w_.binary(BinaryKind::min, w_.add(first, w_.i64(pieces.size)), w_.dim(rows_)));
    overRows(first, last, [&](const std::vector<ExprId>& rows) { take(sweep, folds, rows); });
    if (plan_.whole) {
      const auto columns = static_cast<int>(*domain_.groups.back().extent.constant());
      joinSideBySide(w_, downThreads(), columns, folds.found(true),
                     [&](ExprId column, const std::vector<Found>& found) {
                       const ExprId at = w_.let("at", w_.add(w_.mul(piece, w_.i64(columns)), column));
                       for (size_t k = 0; k < found.size(); ++k) storePiece(w_, partial[k], at, found[k]);
                     });
      return;
    }
    const std::vector<Found> found = joinDown(w_, downThreads(), folds.found(true));
    w_.when(w_.binary(BinaryKind::eq, y_, w_.i64(0)), [&] { storePieces(found, piece, pieces, partial); });
  }

  /// Stage two: folds the pieces.
  void runPieces(ExprId b, ExprId t, const Pieces& pieces, const std::vector<PartialBuffers>& partial) {
    place(b, t);
    const Sweep& sweep = phases_.sweeps[0];
    std::vector<PieceFold> folds;
    const auto types = stagedTypes(l_.graph, sweep);
    for (size_t k = 0; k < types.size(); ++k) folds.emplace_back(w_, types[k].kind, partial[k], plan_.lanes);
    overRows(w_.i64(0), w_.dim(pieces.count), [&](const std::vector<ExprId>& rows) {
      for (ExprId piece : rows) {
        const ExprId at = w_.let("at", slot(piece, pieces));
        for (size_t k = 0; k < folds.size(); ++k)
          folds[k].take(loadPiece(w_, partial[k], types[k].kind, at, plan_.lanes, columnHere_));
      }
    });
    std::vector<Found> found;
    for (PieceFold& fold : folds) found.push_back(fold.found());
    SweepFolds binder(l_, sweep, domain_.foldedCount);
    bind(sweep, binder, joinDown(w_, downThreads(), std::move(found)));
    w_.when(w_.binary(BinaryKind::eq, y_, w_.i64(0)), l_.e.scoped([&] { storeKeptHere(); }));
  }

 private:
  std::vector<Dim> outerExtents() const {
    std::vector<Dim> out;
    for (size_t k = 0; k + 1 < domain_.keptGroups.size(); ++k)
      out.push_back(domain_.groups[domain_.keptGroups[k]].extent);
    out.push_back(Dim::ceilDiv(width_, int64_t{plan_.threads} * plan_.lanes));
    return out;
  }
  DownThreads downThreads() const { return {x_, y_, plan_.threads, plan_.rows, exact_}; }

  void place(ExprId b, ExprId t) {
    const bool alone = plan_.rows == 1;
    x_ = alone ? t : w_.let("x", w_.binary(BinaryKind::fmod, t, w_.i64(plan_.threads)));
    y_ = alone ? w_.i64(0) : w_.let("y", w_.binary(BinaryKind::div, t, w_.i64(plan_.threads)));
    const auto outer = unflatten(IndexMath(w_, 1), {b, 0, 1, {}}, outerExtents());
    outer_ = w_.i64(0);
    for (size_t k = 0; k + 1 < outer.size(); ++k) {
      index_[domain_.keptGroups[k]] = outer[k];
      index_[domain_.keptGroups[k]].base = w_.let("i", outer[k].base);
      outer_ = w_.add(w_.mul(outer_, w_.dim(domain_.groups[domain_.keptGroups[k]].extent)),
                      index_[domain_.keptGroups[k]].base);
    }
    outer_ = w_.let("outer", outer_);
    const int64_t width = int64_t{plan_.threads} * plan_.lanes;
    column_ = w_.let("column", w_.add(w_.mul(outer.back().base, w_.i64(width)), w_.mul(x_, w_.i64(plan_.lanes))));
    const auto known = width_.constant();
    if (!known || *known % width != 0) columnHere_ = w_.let("here", w_.binary(BinaryKind::lt, column_, w_.dim(width_)));
    index_.back() = {column_, plan_.lanes > 1, plan_.lanes, {}};
    if (plan_.together == 1) return;
    IndexMath m(w_, plan_.lanes);
    const Dim& columns = domain_.groups.back().extent;
    const Index both = index_.back();
    sub_ = m.fromExpr(w_.let("sub", m.expr(m.div(both, columns))));
    index_.back() = m.fromExpr(w_.let("of", m.expr(m.mod(both, columns))));
  }

  At placeOf(ExprId row) {
    IndexMath m(w_, plan_.lanes);
    if (plan_.together > 1) return placeTogether(m, row);
    const auto folded = unflatten(IndexMath(w_, 1), {row, 0, 1, {}}, domain_.extents(domain_.foldedGroups));
    for (size_t k = 0; k < folded.size(); ++k) index_[domain_.foldedGroups[k]] = folded[k];
    return {domainIndex(m, l_.region.domain.size(), domain_.groups, index_), plan_.lanes, columnHere_, {}};
  }

  /// Of several rows side by side, whose elements follow one another in memory; none is left over.
  At placeTogether(IndexMath& m, ExprId row) {
    const Index here = m.add(m.mul({row, 0, 1, {}}, Dim(plan_.together)), sub_);
    index_[domain_.foldedGroups[0]] = here;
    const At at{domainIndex(m, l_.region.domain.size(), domain_.groups, index_), plan_.lanes, columnHere_, {}};
    const ExprId flat = w_.add(w_.mul(row, w_.dim(width_)), column_);
    l_.e.setFlat(l_.region.domain, at.index, {flat, 1, w_.multipleOf(flat), {}});
    return at;
  }

  /// Calls `body` with this thread's rows among [first, last), of which the blocks of a cluster leave each other some:
  /// whole rounds first, then one by one. What the others have of its last round a block need not have itself.
  void overRows(ExprId first, ExprId last, const std::function<void(const std::vector<ExprId>&)>& body) {
    const int64_t down = stepDown(), round = down * plan_.vectors;
    const ExprId rounds = w_.let("rounds", wholeSteps(first, last, plan_.vectors));
    const ExprId own = w_.let("own", w_.add(first, y_));
    l_.e.loop("r", w_.i64(0), rounds, 1, Binding::serial, [&](ExprId r) {
      std::vector<ExprId> rows;
      const ExprId base = w_.let("row", w_.add(own, w_.mul(r, w_.i64(round))));
      for (int64_t k = 0; k < plan_.vectors; ++k) rows.push_back(w_.add(base, w_.i64(k * down)));
      body(rows);
    });
    l_.e.loop("r", w_.let("rest", w_.add(own, w_.mul(rounds, w_.i64(round)))), last, down, Binding::serial,
              [&](ExprId r) { body({r}); });
  }

  int64_t stepDown() const { return int64_t{plan_.rows} * plan_.cluster; }
  /// Rows from `first` on that every thread of this block has, over those it steps down at a time.
  ExprId wholeSteps(ExprId first, ExprId last, int64_t steps) {
    const ExprId ends = plan_.cluster == 1 ? last : w_.add(last, w_.i64(stepDown() - plan_.rows));
    return w_.binary(BinaryKind::div, w_.sub(ends, first), w_.i64(stepDown() * steps));
  }

  /// The same of all rows from `first` on, where `ahead` of a round are loaded in the round before, after those of that
  /// one: so something is in flight all the time, and not much in one moment and nothing in the next.
  void foldRowsAhead(ExprId first, const Sweep& sweep, SweepFolds& folds) {
    const int64_t down = stepDown(), ahead = plan_.ahead, round = plan_.vectors;
    struct Input {
      ValueId value;
      std::vector<kernel::VarId> vectors;
    };
    std::vector<Input> inputs;
    for (ValueId v : plainHalves(l_)) {
      auto& vectors = inputs.emplace_back(v, std::vector<kernel::VarId>{}).vectors;
      for (int k = 0; k < ahead; ++k)
        vectors.push_back(w_.declare("ahead", w_.imm(Scalar::of(0.0), l_.graph.type(v).dtype, plan_.lanes)));
    }
    const auto rowsFrom = [&](ExprId base, int64_t begin, int64_t end) {
      std::vector<SweepFolds::Taken> out;
      for (int64_t k = begin; k < end; ++k) {
        const ExprId row = w_.let("row", w_.add(base, w_.i64(k * down)));
        out.push_back({placeOf(row), {row, 0, 1, {}}, {}});
      }
      return out;
    };
    const auto load = [&](ExprId base) {
      const auto rows = rowsFrom(base, 0, ahead);
      for (const Input& input : inputs)
        for (int64_t k = 0; k < ahead; ++k)
          w_.assign(input.vectors[k], l_.e.load(l_.bufferOf(input.value), l_.region.domain, rows[k].at));
    };
    const auto takeLoaded = [&](ExprId base) {
      const auto rows = rowsFrom(base, 0, ahead);
      for (int64_t k = 0; k < ahead; ++k) {
        for (const Input& input : inputs)
          l_.e.bind(input.value, [this, &input, k](const At&) {
            return w_.convert(w_.get(input.vectors[k]), computeType(l_.graph.type(input.value).dtype));
          });
        folds.take({rows[k]});
      }
      for (const Input& input : inputs) l_.e.unbind(input.value);
    };
    const ExprId own = w_.let("own", w_.add(first, y_)), all = w_.let("all", wholeSteps(first, w_.dim(rows_), 1));
    const ExprId some = w_.let("some", w_.binary(BinaryKind::ge, all, w_.i64(ahead)));
    const ExprId rounds = w_.let("rounds", w_.binary(BinaryKind::div, w_.sub(all, w_.i64(ahead)), w_.i64(round)));
    const auto after = [&](ExprId r, int64_t more) {
      return w_.let("base", w_.add(own, w_.add(w_.mul(r, w_.i64(round * down)), w_.i64(more * down))));
    };
    w_.when(some, l_.e.scoped([&] {
      load(own);
      l_.e.loop("r", w_.i64(0), rounds, 1, Binding::serial, [&](ExprId r) {
        const ExprId base = after(r, 0);
        const auto others = rowsFrom(base, ahead, round);
        folds.load(others);
        takeLoaded(base);
        load(after(r, round));
        folds.take(others);
      });
      takeLoaded(after(rounds, 0));
    }));
    const ExprId done = w_.select(some, w_.add(w_.mul(rounds, w_.i64(round)), w_.i64(ahead)), w_.i64(0));
    l_.e.loop("r", w_.let("rest", w_.add(own, w_.mul(done, w_.i64(down)))), w_.dim(rows_), down, Binding::serial,
              [&](ExprId r) { take(sweep, folds, {r}); });
  }

  SweepFolds begin(const Sweep& sweep, bool staged) {
    return SweepFolds(l_, sweep, {plan_.lanes, false}, domain_.foldedCount, staged, [&](ValueId x) {
      const auto n = domain_.foldedCount.constant();
      const int rows = n && *n >= kFirstRows ? kFirstRows : 1;
      ExprId first;
      l_.e.scope([&] {
        for (int row = 0; row < rows; ++row) {
          At at = placeOf(w_.i64(row));
          if (!n || *n == 0)
            at.mask = w_.both(at.mask, w_.binary(BinaryKind::gt, w_.dim(domain_.foldedCount), w_.i64(0)));
          const ExprId value = w_.splat(l_.e.value(x, at), plan_.lanes);
          first = row == 0 ? value : w_.add(first, value);
        }
      });
      return w_.mul(first, w_.imm(Scalar::of(1.0 / rows), w_.type(first).dtype, plan_.lanes));
    });
  }

  void take(const Sweep& sweep, SweepFolds& folds, const std::vector<ExprId>& rows) {
    l_.e.scope([&] {
      std::vector<SweepFolds::Taken> vectors;
      for (ExprId row : rows) vectors.push_back({placeOf(row), {row, 0, 1, {}}, {}});
      if (!sweep.folds.empty()) folds.take(vectors);
      for (const auto& v : vectors)
        for (ValueId out : sweep.stores) l_.e.value(out, v.at);
      for (const auto& v : vectors)
        for (ValueId out : sweep.stores) storeWhere(l_, out, v.at, {});
    });
  }

  void bind(const Sweep& sweep, SweepFolds& folds, const std::vector<Found>& found) {
    folds.bind(found);
    for (ValueId v : sweep.rowValues)
      if (l_.graph.type(v).shape.size() == keptPlace().index.size()) l_.e.value(v, keptPlace());
  }

  At keptPlace() {
    for (size_t g : domain_.foldedGroups) index_[g] = {w_.i64(0), 0, 0, {}};
    At at{domainIndex(IndexMath(w_, plan_.lanes), l_.region.domain.size(), domain_.groups, index_),
          plan_.lanes,
          columnHere_,
          {}};
    return keptAt(l_.region, at);
  }
  void storeKeptHere() { storeKept(l_, keptPlace()); }

  /// Where a piece's results of this thread's columns stand: [outer, piece, column].
  ExprId slot(ExprId piece, const Pieces& pieces) {
    const ExprId row = w_.add(w_.mul(outer_, w_.dim(pieces.count)), piece);
    return w_.add(w_.mul(row, w_.dim(width_)), column_);
  }
  void storePieces(const std::vector<Found>& found, ExprId piece, const Pieces& pieces,
                   const std::vector<PartialBuffers>& partial) {
    const ExprId at = w_.let("at", slot(piece, pieces));
    const ExprId mask = columnHere_ ? w_.splat(columnHere_, plan_.lanes) : ExprId{};
    for (size_t k = 0; k < found.size(); ++k) storePiece(w_, partial[k], at, found[k], mask);
  }

  Lowering& l_;
  Writer& w_;
  const FoldDomain& domain_;
  const FoldAxes::Plan& plan_;
  const Phases& phases_;
  Dim width_, rows_;  // of the domain as this launch sees it, `together` rows as one
  std::vector<Index> index_;
  bool exact_;
  Index sub_;  // which of the rows that are one
  ExprId x_, y_, outer_, column_, columnHere_;
};

}  // namespace

static Dim slackOf(const FoldDomain& domain, const FoldAxes::Plan& plan) {
  const int64_t rows = int64_t{plan.rows} * (plan.vectors + 1) * plan.together;
  return domain.groups.back().extent * Dim(rows) + Dim(int64_t{plan.threads} * plan.lanes + (1 << 16));
}

void lowerColumns(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan) {
  const Phases phases = planPhases(l.graph, l.region, {.pairs = true, .early = true});
  Columns columns(l, domain, plan, phases);
  if (plan.cluster > 1) l.w.setClusterBlocks(plan.cluster);
  if (plan.resident) l.w.setResidentBlocks(plan.resident);
  overGrid(l, columns.blocks() * Dim(plan.cluster), plan.threads * plan.rows, slackOf(domain, plan),
           [&](ExprId b, ExprId t) { plan.cluster > 1 ? columns.runCluster(b, t) : columns.run(b, t); });
}

void lowerColumnPieces(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan, const Pieces& pieces,
                       const std::vector<PartialBuffers>& partial) {
  const Phases phases = planPhases(l.graph, l.region, {.pairs = true, .early = true});
  Columns columns(l, domain, plan, phases);
  overGrid(l, columns.blocks() * pieces.count, plan.threads * plan.rows,
           slackOf(domain, plan) + pieces.count * Dim(pieces.size),
           [&](ExprId b, ExprId t) { columns.runPiece(b, t, pieces, partial); });
}

void lowerColumnFinish(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan, const Pieces& pieces,
                       const std::vector<PartialBuffers>& partial) {
  const Phases phases = planPhases(l.graph, l.region, {.pairs = true});
  Columns columns(l, domain, plan, phases);
  overGrid(l, columns.blocks(), plan.threads * plan.rows, slackOf(domain, plan) + pieces.count * Dim(pieces.size),
           [&](ExprId b, ExprId t) { columns.runPieces(b, t, pieces, partial); });
}

}  // namespace tokamak::schedule::gpu
