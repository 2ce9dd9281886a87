#include <algorithm>

#include "schedule/prefetch.h"
#include "schedule/reduce_lowering.h"

namespace tokamak::schedule {

using kernel::Binding;

namespace {

constexpr int64_t kRun = 4096;  // elements of a long row that are a sum of their own

/// Takes one row (or one piece of it) through the sweeps.
class RowSweeps {
 public:
  RowSweeps(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan, const Phases& phases,
            std::vector<Index> kept, bool streaming = false)
      : l_(l), domain_(domain), plan_(plan), phases_(phases), streaming_(streaming), index_(domain.groups.size()) {
    for (size_t k = 0; k < domain.keptGroups.size(); ++k) index_[domain.keptGroups[k]] = kept[k];
    for (const Sweep& sweep : phases.sweeps)
      for (ValueId v : sweep.keeps)
        l.e.unbind(v), rows_[v.index] = l.w.local("row", computeType(l.graph.type(v).dtype), domain.foldedCount);
  }

  void run() {
    const Dim inner = domain_.foldedGroups.empty() ? Dim(1) : domain_.groups.back().extent;
    const int64_t line = oddLine(inner);
    for (const Sweep& sweep : phases_.sweeps) {
      VectorLoop vectors{plan_.lanes * vectorsAStep(sweep, inner), plan_.lanes, Binding::serial, 1};
      const bool byLines = line > 0 && goesByLines(sweep);
      if (goesInRuns(sweep, inner)) {
        overRuns(sweep, vectors, byLines ? line : 0, inner);
        continue;
      }
      vectors.wholeApart = byLines && storesOne(sweep);  // a line that is stored under a mask is read first
      auto folds = begin(sweep, byLines ? anyLaneCounts(vectors) : laneCounts(vectors, inner));
      overFolded(0, Index{l_.w.i64(0), 0, 0, {}}, [&](const Index& offset) {
        auto body = [&](const Index& j, const At& lanes) { element(sweep, folds, offset, j, lanes); };
        if (byLines)
          overVectors(l_.e, vectors, overHead(vectors, line, inner, body), 1, l_.w.dim(inner), body);
        else
          overVectors(l_.e, vectors, 0, inner, body);
      });
      finish(sweep, resultsOf(sweep, folds));
    }
    storeKept(l_, keptPlace());
  }

  /// Whether a row is so long that one sum a lane would lose digits.
  bool goesInRuns(const Sweep& sweep, const Dim& inner) const {
    const auto n = inner.constant();
    const bool inF64 = std::ranges::all_of(sweep.folds, [&](ValueId v) { return operandType(v) == DType::f64; });
    return addsFloats(l_.graph, sweep) && !inF64 && domain_.foldedGroups.size() == 1 && n && *n >= 2 * kRun;
  }

  /// A sweep by runs of elements, whose sums are added in f64. `line`: as of overHead, or 0.
  void overRuns(const Sweep& sweep, const VectorLoop& vectors, int64_t line, const Dim& inner) {
    Writer& w = l_.w;
    std::vector<kernel::VarId> totals;
    for (size_t k = 0; k < sweep.folds.size(); ++k)
      totals.push_back(w.declare("total", w.imm(Scalar::of(0.0), DType::f64)));
    const auto addRun = [&](const std::function<void(const VectorBody&)>& over) {
      auto folds = begin(sweep, anyLaneCounts(vectors));
      over([&](const Index& j, const At& lanes) { element(sweep, folds, Index{w.i64(0), 0, 0, {}}, j, lanes); });
      for (size_t k = 0; k < folds.size(); ++k) w.assign(totals[k], w.add(w.get(totals[k]), folds[k].combinedInF64()));
    };
    ExprId first = w.i64(0);
    if (line > 0) addRun([&](const VectorBody& body) { first = overHead(vectors, line, inner, body); });
    l_.e.loop("run", first, w.dim(inner), kRun, Binding::serial, [&](ExprId run) {
      const ExprId end = w.let("end", w.binary(BinaryKind::min, w.add(run, w.i64(kRun)), w.dim(inner)));
      addRun([&](const VectorBody& body) { overVectors(l_.e, vectors, run, line > 0 ? 1 : kRun, end, body); });
    });
    std::vector<Result> results;
    for (kernel::VarId total : totals) results.push_back({w.get(total), {}});
    finish(sweep, results);
  }

  /// Dear sweeps take one vector at a time, which keeps loads in flight all along; over short rows, which lie in a
  /// cache, an error function takes four, whose chains of arithmetic run beside each other.
  static int vectorsAStep(const Sweep& sweep, const Dim& inner) {
    constexpr int64_t kShort = 1024;
    const auto n = inner.constant();
    if (sweep.weight <= 8) return 4;
    if (sweep.weight <= 24) return 2;
    return sweep.weight <= 32 && n && *n <= kShort ? 4 : 1;
  }

  static bool storesOne(const Sweep& sweep) { return sweep.stores.size() == 1 && sweep.folds.empty(); }

  /// Elements of a cache line, if a sweep streams one result whose rows begin anywhere in a line; else 0.
  int64_t oddLine(const Dim& inner) const {
    const auto streams = std::find_if(phases_.sweeps.begin(), phases_.sweeps.end(), storesOne);
    if (!streaming_ || streams == phases_.sweeps.end() || domain_.foldedGroups.size() != 1) return 0;
    const int64_t line = 64 / byteWidth(l_.graph.type(streams->stores[0]).dtype);
    const auto n = inner.constant();
    return (n && *n % line == 0) || (n && *n < 4 * line) ? 0 : line;
  }

  /// Of a row with an odd line: the sweep that streams, and those that only fold, whose loads are whole lines then too.
  static bool goesByLines(const Sweep& sweep) {
    return storesOne(sweep) || (sweep.stores.empty() && sweep.keeps.empty());
  }

  /// What comes before the first whole line of the result, and how much that is: streaming wants whole lines.
  ExprId overHead(const VectorLoop& vectors, int64_t line, const Dim& inner, const VectorBody& body) {
    Writer& w = l_.w;
    index_[domain_.foldedGroups.back()] = {w.i64(0), 0, 0, {}};
    const At first{domainIndex(IndexMath(w, 1), l_.region.domain.size(), domain_.groups, index_), 1, {}, {}};
    const ExprId begin = l_.e.flatten(l_.region.domain, first).base, n = w.dim(inner);
    const ExprId rest = w.binary(BinaryKind::bit_and, w.sub(w.i64(0), begin), w.i64(line - 1));
    const ExprId head = w.let("head", w.binary(BinaryKind::min, rest, n));
    l_.e.loop("j", w.i64(0), head, vectors.narrow, Binding::serial, [&](ExprId j) {
      At at{{}, vectors.narrow, {}, {}};
      at.tail = w.let("head", w.binary(BinaryKind::lt, w.ramp(j, vectors.narrow), head));
      body({j, 1, 1, {}}, at);
    });
    return head;
  }

  /// Registers for the folds of a sweep.
  std::vector<FoldState> begin(const Sweep& sweep, const std::vector<LaneCount>& lanes) {
    std::vector<FoldState> folds;
    folds.reserve(sweep.folds.size());
    for (ValueId v : sweep.folds)
      folds.emplace_back(l_.w, std::get<Reduce>(l_.graph.node(v).op).kind, operandType(v), lanes, domain_.foldedCount);
    return folds;
  }

  /// One vector of a sweep: the folds take it in, the outputs are stored, dear values are put aside.
  void element(const Sweep& sweep, std::vector<FoldState>& folds, const Index& offset, const Index& j,
               const At& lanes) {
    IndexMath m(l_.w, lanes.lanes);
    At at = lanes;
    if (!domain_.foldedGroups.empty()) index_[domain_.foldedGroups.back()] = j;
    at.index = domainIndex(m, l_.region.domain.size(), domain_.groups, index_);
    const Index position = m.add(offset, j);
    for (ValueId v : sweep.keeps) {
      l_.e.storeFlat(rows_.at(v.index), position, at, l_.e.value(v, at), computeType(l_.graph.type(v).dtype));
    }
    for (size_t k = 0; k < sweep.folds.size(); ++k)
      folds[k].take(l_.e.value(l_.graph.node(sweep.folds[k]).operands[0], at), at, position);
    if (!at.tail) fetch(sweep, at);
    for (ValueId v : sweep.stores) l_.store(v, at, streaming_);
  }

  /// In front of the stores: a load or prefetch behind a store to the same place of another page waits for it.
  void fetch(const Sweep& sweep, const At& at) {
    const bool far = plan_.fetch == FoldAxes::Fetch::far;
    if (plan_.fetch != FoldAxes::Fetch::no)
      fetchAhead(l_, domain_.accesses, at, domain_.groups.back().last, plan_.aheadBytes,
                 plan_.fetch == FoldAxes::Fetch::first, far ? kLinesBroughtAlong : 1);
    else if (phases_.sweeps.size() > 1 && &sweep == &phases_.sweeps.back())
      fetchNextRow(at);
  }

  /// The first sweep of a row waits for memory while the later ones leave it idle: the last one asks for the next row's
  /// lines. Four lines further on than it is itself: where rows are a little shorter than pages, the lines below lie in
  /// their page as those just stored do in their own.
  void fetchNextRow(const At& at) {
    if (domain_.keptGroups.empty()) return;
    const size_t row = domain_.groups[domain_.keptGroups.back()].last, along = domain_.groups.back().last;
    for (const Access& access : domain_.accesses.loads) {
      if (!access.value || l_.graph.type(access.value).shape != l_.region.domain || access.opaque[along] ||
          access.masked)
        continue;
      if (!l_.isLeaf[access.value.index] || !access.stride[along].is(1) || access.stride[row].is(0)) continue;
      const Index flat = l_.e.flatten(l_.region.domain, at);
      const int64_t lines = int64_t{4} * 64 / byteWidth(l_.graph.type(access.value).dtype);
      const ExprId below = l_.w.add(flat.base, l_.w.dim(access.stride[row] + lines));
      schedule::fetch(l_, access.value, below, at.lanes);
    }
  }

  struct Result {
    ExprId folded, position;
  };
  /// A mean is taken off what it is the mean of, which brings its last digits to the front.
  std::vector<Result> resultsOf(const Sweep& sweep, std::vector<FoldState>& folds) {
    std::vector<Result> out;
    for (size_t k = 0; k < folds.size(); ++k) {
      const bool mean = std::get<Reduce>(l_.graph.node(sweep.folds[k]).op).kind == ReduceKind::mean;
      const ExprId folded = mean ? folds[k].combinedInF64() : folds[k].combined();
      out.push_back({folded, folds[k].position()});
    }
    return out;
  }

  void finish(const Sweep& sweep, const std::vector<Result>& results) {
    for (size_t k = 0; k < sweep.folds.size(); ++k)
      bindFold(l_, sweep.folds[k], results[k].folded, results[k].position, domain_.foldedCount);
    for (ValueId v : sweep.rowValues)
      if (l_.graph.type(v).shape.size() == keptPlace().index.size()) l_.e.value(v, keptPlace());
    for (ValueId v : sweep.keeps)
      l_.e.bind(v, [this, v](const At& at) {
        return l_.e.loadFlat(rows_.at(v.index), currentPosition(at), at, computeType(l_.graph.type(v).dtype));
      });
  }

  At keptPlace() {
    for (size_t g : domain_.foldedGroups) index_[g] = {l_.w.i64(0), 0, 0, {}};
    return keptAt(l_.region,
                  At{domainIndex(IndexMath(l_.w, 1), l_.region.domain.size(), domain_.groups, index_), 1, {}, {}});
  }

  /// Loops over the folded groups but the last.
  void overFolded(size_t k, const Index& offset, const std::function<void(const Index&)>& body) {
    if (k + 1 >= domain_.foldedGroups.size()) return body(offset);
    const size_t g = domain_.foldedGroups[k];
    Dim below = 1;
    for (size_t i = k + 1; i < domain_.foldedGroups.size(); ++i)
      below = below * domain_.groups[domain_.foldedGroups[i]].extent;
    l_.e.loop("f", l_.w.i64(0), l_.w.dim(domain_.groups[g].extent), 1, Binding::serial, [&](ExprId f) {
      IndexMath m(l_.w, 1);
      index_[g] = {f, 0, 1, {}};
      overFolded(k + 1, m.add(offset, m.mul(index_[g], below)), body);
    });
  }

  std::vector<Index>& index() { return index_; }

 private:
  DType operandType(ValueId fold) const { return l_.graph.type(l_.graph.node(fold).operands[0]).dtype; }

  /// Position in the row of a full-level place: its folded axes, flattened.
  Index currentPosition(const At& at) {
    IndexMath m(l_.w, at.lanes);
    Index flat = m.constant(0);
    for (Axis a : l_.region.folded) flat = m.add(m.mul(flat, l_.region.domain[a]), at.index[a]);
    return flat;
  }

  Lowering& l_;
  const FoldDomain& domain_;
  const FoldAxes::Plan& plan_;
  const Phases& phases_;
  bool streaming_;
  std::vector<Index> index_;
  std::unordered_map<uint32_t, BufferId> rows_;
};

}  // namespace

void lowerRows(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan) {
  const Phases phases = planPhases(l.graph, l.region, {.keep = plan.keep});
  const auto kept = domain.extents(domain.keptGroups);
  l.withStreaming(plan.streaming, plan.streamBytes, [&](bool streaming) {
    l.e.loop(
        "i", l.w.i64(0), l.w.dim(elementCount(kept)), 1, Binding::parallel,
        [&](ExprId i) {
          auto index = unflatten(IndexMath(l.w, 1), {i, 0, 1, {}}, kept);
          for (Index& k : index) k.base = l.w.let("i", k.base);
          RowSweeps(l, domain, plan, phases, index, streaming).run();
        },
        plan.grain);
  });
}

/// Stage one folds pieces of the outermost folded group (or of the only one) in parallel; stage two folds the pieces.
void lowerSplitRows(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan) {
  Writer& w = l.w;
  const Phases phases = planPhases(l.graph, l.region);
  const Sweep& sweep = phases.sweeps[0];
  const auto kept = domain.extents(domain.keptGroups);
  const size_t outermost = domain.foldedGroups[0];
  const bool chunked = domain.foldedGroups.size() == 1;
  const Dim extent = domain.groups[outermost].extent;
  const Dim pieces = Dim::ceilDiv(extent, plan.piece);
  struct Partial {
    BufferId value, where;
  };
  std::vector<Partial> partial;
  for (ValueId v : sweep.folds) {
    const auto kind = std::get<Reduce>(l.graph.node(v).op).kind;
    const DType type = accumulatorType(kind, l.graph.type(l.graph.node(v).operands[0]).dtype);
    partial.push_back({l.scratch("partial", type, elementCount(kept) * pieces), {}});
    if (isArg(kind)) partial.back().where = l.scratch("where", DType::i64, elementCount(kept) * pieces);
  }
  auto extents = kept;
  extents.push_back(pieces);
  VectorLoop vectors{plan.lanes * (sweep.weight <= 8 ? 4 : 2), plan.lanes, Binding::serial, 1};
  l.e.loop("p", w.i64(0), w.dim(elementCount(extents)), 1, Binding::parallel, [&](ExprId p) {
    auto index = unflatten(IndexMath(w, 1), {p, 0, 1, {}}, extents);
    const Index piece = index.back();
    index.pop_back();
    RowSweeps row(l, domain, plan, phases, index);
    std::vector<FoldState> folds;
    if (chunked) {
      folds = row.begin(sweep, {{vectors.wide, false}, {vectors.narrow, false}});
      const ExprId begin = w.let("begin", w.mul(piece.base, w.i64(plan.piece)));
      const ExprId end = w.let("end", w.binary(BinaryKind::min, w.add(begin, w.i64(plan.piece)), w.dim(extent)));
      overVectors(l.e, vectors, begin, plan.piece, end, [&](const Index& j, const At& lanes) {
        row.element(sweep, folds, Index{w.i64(0), 0, 0, {}}, j, lanes);
      });
    } else {
      const Dim inner = domain.groups.back().extent;
      folds = row.begin(sweep, laneCounts(vectors, inner));
      row.index()[outermost] = piece;
      Dim below = 1;
      for (size_t i = 1; i < domain.foldedGroups.size(); ++i)
        below = below * domain.groups[domain.foldedGroups[i]].extent;
      row.overFolded(1, IndexMath(w, 1).mul(piece, below), [&](const Index& offset) {
        overVectors(l.e, vectors, 0, inner,
                    [&](const Index& j, const At& lanes) { row.element(sweep, folds, offset, j, lanes); });
      });
    }
    for (size_t k = 0; k < folds.size(); ++k) {
      const ExprId value = folds[k].combined();
      w.store(partial[k].value, p, value);
      if (partial[k].where) w.store(partial[k].where, p, folds[k].position());
    }
  });
  l.e.loop(
      "i", w.i64(0), w.dim(elementCount(kept)), 1, Binding::parallel,
      [&](ExprId i) {
        auto index = unflatten(IndexMath(w, 1), {i, 0, 1, {}}, kept);
        RowSweeps row(l, domain, plan, phases, index);
        for (size_t k = 0; k < sweep.folds.size(); ++k)
          combinePieces(l, sweep.folds[k], partial[k].value, partial[k].where, w.mul(i, w.dim(pieces)), pieces,
                        domain.foldedCount);
        storeKept(l, row.keptPlace());
      },
      64);
}

void combinePieces(Lowering& l, ValueId fold, BufferId value, BufferId where, ExprId first, const Dim& pieces,
                   const Dim& count) {
  Writer& w = l.w;
  const auto kind = std::get<Reduce>(l.graph.node(fold).op).kind;
  const DType type = l.w.bufferType(value);
  // Sums of many pieces keep their digits in a wider type.
  const bool widen = type == DType::f32 && combinerOf(kind) == BinaryKind::add;
  FoldState state(w, kind, widen ? DType::f64 : type, {{1, false}}, count);
  kernel::VarId best;
  if (where) best = w.declare("best", w.i64(0));
  l.e.loop("p", w.i64(0), w.dim(pieces), 1, Binding::serial, [&](ExprId p) {
    const ExprId at = w.add(first, p);
    if (where) {
      const ExprId before = w.let("before", state.lanewise(1));
      const ExprId x = w.let("x", w.load(value, at));
      const ExprId isFirst = w.binary(BinaryKind::eq, p, w.i64(0));
      ExprId wins = w.binary(kind == ReduceKind::argmax ? BinaryKind::gt : BinaryKind::lt, x, before);
      if (isFloat(type))
        wins = w.binary(
            BinaryKind::bit_or, wins,
            w.binary(BinaryKind::bit_and, w.binary(BinaryKind::ne, x, x), w.binary(BinaryKind::eq, before, before)));
      wins = w.let("wins", w.binary(BinaryKind::bit_or, wins, isFirst));
      w.assign(best, w.select(wins, w.load(where, at), w.get(best)));
    }
    state.take(w.load(value, at), At{{}, 1, {}, {}}, Index{p, 0, 1, {}});
  });
  const ExprId folded = w.let("folded", state.lanewise(1));
  bindFold(l, fold, folded, where ? w.get(best) : ExprId{}, count);
}

}  // namespace tokamak::schedule
