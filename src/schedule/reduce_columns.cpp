#include <algorithm>
#include <unordered_set>

#include "schedule/identity.h"
#include "schedule/prefetch.h"
#include "schedule/reduce_lowering.h"

namespace tokamak::schedule {

using kernel::Binding;

namespace {

constexpr int64_t kFarApart = 1024;        // bytes from row to row from which on strips of columns are put aside
constexpr int64_t kStripBytes = 1 << 20;   // the largest strip that is
constexpr int64_t kRowsAhead = 16;         // asked for while they are
constexpr int64_t kRun = 16;               // rows that one sum takes in before it is added to the sum of all
constexpr int64_t kLong = 4096;            // rows from which on that sum is f64
constexpr int64_t kRowsBytes = 256 << 10;  // rows of up to so much together are asked for while those before are folded
constexpr int64_t kAlongBytes = 1024;      // else each row that far ahead

/// Whether every load of `v` is of the element that the place in the domain names.
bool isLoadedInPlace(const Lowering& l, const FoldDomain& domain, ValueId v) {
  const Shape& shape = l.region.domain;
  if (l.graph.type(v).shape != shape || !isFloat(l.graph.type(v).dtype)) return false;
  for (const Access& access : domain.accesses.loads) {
    if (access.value != v) continue;
    Dim dense = 1;
    if (access.masked || !access.offset.is(0)) return false;
    for (size_t i = shape.size(); i-- > 0;) {
      if (access.opaque[i] || (!shape[i].is(1) && access.stride[i] != dense)) return false;
      dense = dense * shape[i];
    }
  }
  return true;
}

/// What a sweep loads, not looking through what was put aside before.
void collectLoads(const Lowering& l, ValueId v, const std::unordered_set<uint32_t>& kept,
                  std::unordered_set<uint32_t>& seen, std::vector<ValueId>& loads) {
  if (kept.contains(v.index) || !seen.insert(v.index).second) return;
  if (l.isLeaf[v.index]) return loads.push_back(v);
  if (std::holds_alternative<Reduce>(l.graph.node(v).op)) return;
  for (ValueId operand : l.graph.node(v).operands) collectLoads(l, operand, kept, seen, loads);
}

/// Rows of a strip lie a power of two apart as often as not, so that few sets of the caches have to hold all of them:
/// what more than one sweep loads is put aside by the first of them, one row after another.
void keepFarLoads(const Lowering& l, const FoldDomain& domain, int wide, Phases& phases) {
  const auto rows = domain.foldedCount.constant(), columns = domain.groups.back().extent.constant();
  if (!rows || !columns || *rows * 4 * wide > kStripBytes || *columns * 4 < kFarApart) return;
  std::unordered_set<uint32_t> kept;
  std::unordered_map<uint32_t, size_t> first;  // sweep that loads a value
  for (size_t s = 0; s < phases.sweeps.size(); ++s) {
    std::unordered_set<uint32_t> seen;
    std::vector<ValueId> loads;
    for (ValueId v : phases.sweeps[s].folds) collectLoads(l, l.graph.node(v).operands[0], kept, seen, loads);
    for (ValueId v : phases.sweeps[s].stores) collectLoads(l, v, kept, seen, loads);
    for (ValueId v : phases.sweeps[s].keeps) collectLoads(l, v, kept, seen, loads), kept.insert(v.index);
    for (ValueId v : loads) {
      const auto [it, isNew] = first.try_emplace(v.index, s);
      if (isNew || !isLoadedInPlace(l, domain, v)) continue;
      phases.sweeps[it->second].keeps.push_back(v);
      kept.insert(v.index);
    }
  }
}

/// Takes one vector of columns through the sweeps: every lane folds its own column.
class ColumnSweeps {
 public:
  ColumnSweeps(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan, const Phases& phases,
               std::vector<Index> index, At lanes)
      : l_(l), domain_(domain), plan_(plan), phases_(phases), index_(std::move(index)), lanes_(std::move(lanes)) {
    for (const Sweep& sweep : phases.sweeps)
      for (ValueId v : sweep.keeps)
        l.e.unbind(v), columns_[v.index] = l.w.local("columns", computeType(l.graph.type(v).dtype),
                                                     domain.foldedCount * Dim(lanes_.lanes));
  }

  void run() {
    for (const Sweep& sweep : phases_.sweeps) {
      std::vector<FoldState> folds = begin(sweep, isLong(sweep));
      overFolded(0, Index{l_.w.i64(0), 0, 0, {}}, sweep, folds);
      finish(sweep, folds);
    }
    storeKept(l_, keptPlace());
  }

 private:
  DType operandType(ValueId fold) const { return l_.graph.type(l_.graph.node(fold).operands[0]).dtype; }

  std::vector<FoldState> begin(const Sweep& sweep, bool wide = false) {
    std::vector<FoldState> folds;
    folds.reserve(sweep.folds.size());
    for (ValueId v : sweep.folds)
      folds.emplace_back(l_.w, std::get<Reduce>(l_.graph.node(v).op).kind, wide ? DType::f64 : operandType(v),
                         std::vector<LaneCount>{{lanes_.lanes, true}}, domain_.foldedCount);
    return folds;
  }

  /// Whether rows of the innermost folded axis go in runs, each a sum of its own.
  bool goesInRuns(const Sweep& sweep) const {
    const auto rows = domain_.groups[domain_.foldedGroups.back()].extent.constant();
    const bool inF64 = std::ranges::all_of(sweep.folds, [&](ValueId v) { return operandType(v) == DType::f64; });
    return addsFloats(l_.graph, sweep) && !inF64 && !(rows && *rows <= kRun);
  }
  bool isLong(const Sweep& sweep) const {
    const auto rows = domain_.foldedCount.constant();
    return goesInRuns(sweep) && !(rows && *rows < kLong);
  }

  void element(const Sweep& sweep, std::vector<FoldState>& folds, const Index& position) {
    At at = place();
    const At whole{at.index, at.lanes, at.mask, {}};
    for (ValueId v : sweep.keeps) {
      l_.e.storeFlat(columns_.at(v.index), slot(position), whole, l_.e.value(v, at),
                     computeType(l_.graph.type(v).dtype));
      if (l_.isLeaf[v.index] && domain_.foldedGroups.size() == 1) fetchRowAhead(v, at);
    }
    for (size_t k = 0; k < sweep.folds.size(); ++k)
      folds[k].take(l_.e.value(l_.graph.node(sweep.folds[k]).operands[0], at), whole, position);
    for (ValueId v : sweep.stores) l_.store(v, at, plan_.streaming == Streaming::yes);
  }

  void fetchRowAhead(ValueId v, const At& at) {
    const Dim pitch = domain_.groups.back().extent * Dim(kRowsAhead);
    fetch(l_, v, l_.w.add(l_.e.flatten(l_.region.domain, at).base, l_.w.dim(pitch)), at.lanes);
  }

  void finish(const Sweep& sweep, std::vector<FoldState>& folds) {
    for (size_t k = 0; k < sweep.folds.size(); ++k) {
      const bool arg = isArg(std::get<Reduce>(l_.graph.node(sweep.folds[k]).op).kind);
      const ExprId where = arg ? folds[k].lanewisePosition(lanes_.lanes) : ExprId{};
      bindFold(l_, sweep.folds[k], folds[k].lanewise(lanes_.lanes), where, domain_.foldedCount);
    }
    for (ValueId v : sweep.rowValues)
      if (l_.graph.type(v).shape.size() == keptPlace().index.size()) l_.e.value(v, keptPlace());
    for (ValueId v : sweep.keeps)
      l_.e.bind(v, [this, v](const At& at) {
        IndexMath m(l_.w, at.lanes);
        Index flat = m.constant(0);
        for (Axis a : l_.region.folded) flat = m.add(m.mul(flat, l_.region.domain[a]), at.index[a]);
        return l_.e.loadFlat(columns_.at(v.index), slot(flat), At{at.index, at.lanes, {}, {}},
                             computeType(l_.graph.type(v).dtype));
      });
  }

  Index slot(const Index& position) {
    IndexMath m(l_.w, lanes_.lanes);
    Index out = m.mul(position, Dim(lanes_.lanes));
    out.stride = 1;
    return out;
  }

  At place() {
    At at = lanes_;
    at.index = domainIndex(IndexMath(l_.w, lanes_.lanes), l_.region.domain.size(), domain_.groups, index_);
    return at;
  }
  At keptPlace() {
    for (size_t g : domain_.foldedGroups) index_[g] = {l_.w.i64(0), 0, 0, {}};
    return keptAt(l_.region, place());
  }

  /// Takes rows `from` to `to` of the k-th folded axis in.
  void overRows(size_t k, ExprId from, ExprId to, const Index& position, const Sweep& sweep,
                std::vector<FoldState>& folds) {
    const size_t g = domain_.foldedGroups[k];
    l_.e.loop("f", from, to, 1, Binding::serial, [&](ExprId f) {
      IndexMath m(l_.w, 1);
      index_[g] = {f, 0, 1, {}};
      overFolded(k + 1, m.add(m.mul(position, domain_.groups[g].extent), index_[g]), sweep, folds);
    });
  }

  void overFolded(size_t k, const Index& position, const Sweep& sweep, std::vector<FoldState>& folds) {
    if (k == domain_.foldedGroups.size()) return element(sweep, folds, position);
    Writer& w = l_.w;
    const Dim& extent = domain_.groups[domain_.foldedGroups[k]].extent;
    if (k + 1 < domain_.foldedGroups.size() || !goesInRuns(sweep))
      return overRows(k, w.i64(0), w.dim(extent), position, sweep, folds);
    l_.e.loop("run", w.i64(0), w.dim(extent), kRun, Binding::serial, [&](ExprId run) {
      const ExprId end = w.let("end", w.binary(BinaryKind::min, w.add(run, w.i64(kRun)), w.dim(extent)));
      std::vector<FoldState> sums = begin(sweep);
      overRows(k, run, end, position, sweep, sums);
      for (size_t i = 0; i < folds.size(); ++i) {
        const ExprId sum = sums[i].lanewise(lanes_.lanes);
        folds[i].take(isLong(sweep) ? w.convert(sum, DType::f64) : sum, lanes_, position);
      }
    });
  }

  Lowering& l_;
  const FoldDomain& domain_;
  const FoldAxes::Plan& plan_;
  const Phases& phases_;
  std::vector<Index> index_;
  At lanes_;
  std::unordered_map<uint32_t, BufferId> columns_;
};

}  // namespace

void lowerColumns(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan) {
  Writer& w = l.w;
  Phases phases = planPhases(l.graph, l.region, {.keep = plan.keep});
  int64_t weight = 0;
  for (const Sweep& sweep : phases.sweeps) weight = std::max(weight, sweep.weight);
  const int wide = plan.lanes * (weight <= 8 ? 4 : weight <= 24 ? 2 : 1);
  if (plan.keep) keepFarLoads(l, domain, wide, phases);
  const Dim columns = domain.groups.back().extent;
  const Dim strips = Dim::ceilDiv(columns, wide);
  std::vector<Dim> extents;
  for (size_t k = 0; k + 1 < domain.keptGroups.size(); ++k)
    extents.push_back(domain.groups[domain.keptGroups[k]].extent);
  extents.push_back(strips);
  l.e.loop(
      "i", w.i64(0), w.dim(elementCount(extents)), 1, Binding::parallel,
      [&](ExprId i) {
        auto kept = unflatten(IndexMath(w, 1), {i, 0, 1, {}}, extents);
        std::vector<Index> index(domain.groups.size());
        for (size_t k = 0; k + 1 < domain.keptGroups.size(); ++k) {
          index[domain.keptGroups[k]] = kept[k];
          index[domain.keptGroups[k]].base = w.let("i", kept[k].base);
        }
        const ExprId begin = w.let("begin", w.mul(kept.back().base, w.i64(wide)));
        const ExprId end = w.let("end", w.binary(BinaryKind::min, w.add(begin, w.i64(wide)), w.dim(columns)));
        overVectors(l.e, {wide, plan.lanes, Binding::serial, 1}, begin, wide, end,
                    [&](const Index& j, const At& lanes) {
                      index.back() = j;
                      ColumnSweeps(l, domain, plan, phases, index, lanes).run();
                    });
      },
      plan.grain);
}

void lowerSplitColumns(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan) {
  Writer& w = l.w;
  const Phases phases = planPhases(l.graph, l.region);
  const Sweep& sweep = phases.sweeps[0];
  const Dim rows = domain.groups[0].extent, columns = domain.groups[1].extent;
  const Dim pieces = Dim::ceilDiv(rows, plan.piece);
  constexpr int kRows = 8;  // folded together before the running result is touched
  std::vector<BufferId> partial;
  std::vector<BinaryKind> combine;
  for (ValueId v : sweep.folds) {
    const auto kind = std::get<Reduce>(l.graph.node(v).op).kind;
    partial.push_back(
        l.scratch("partial", accumulatorType(kind, l.graph.type(l.graph.node(v).operands[0]).dtype), pieces * columns));
    combine.push_back(combinerOf(kind));
  }
  const int wide = plan.lanes * (sweep.weight <= 4 ? 2 : 1);
  const VectorLoop vectors{wide, plan.lanes, Binding::serial, 1};
  auto placeAt = [&](ExprId row, const Index& j, const At& lanes) {
    At at = lanes;
    at.index = domainIndex(IndexMath(w, lanes.lanes), l.region.domain.size(), domain.groups, {Index{row, 0, 1, {}}, j});
    return at;
  };
  auto valueAt = [&](size_t k, ExprId row, const Index& j, const At& lanes) {
    return w.splat(w.convert(l.e.value(l.graph.node(sweep.folds[k]).operands[0], placeAt(row, j, lanes)),
                             w.bufferType(partial[k])),
                   lanes.lanes);
  };
  // As many streams as rows are folded together: too many for the processor to follow, and too short where rows are.
  const bool rowsAhead = columns.constant() && *columns.constant() * kRows * 4 <= kRowsBytes;
  auto fetchRow = [&](ExprId row, const Index& j, const At& lanes) {
    fetchAhead(l, domain.accesses, placeAt(rowsAhead ? w.add(row, w.i64(kRows)) : row, j, lanes),
               domain.groups.back().last, rowsAhead ? 0 : kAlongBytes, false);
  };
  l.e.loop("p", w.i64(0), w.dim(pieces), 1, Binding::parallel, [&](ExprId p) {
    const ExprId begin = w.let("begin", w.mul(p, w.i64(plan.piece)));
    const ExprId end = w.let("end", w.binary(BinaryKind::min, w.add(begin, w.i64(plan.piece)), w.dim(rows)));
    const ExprId base = w.let("base", w.mul(p, w.dim(columns)));
    auto slot = [&](const Index& j) { return w.add(base, j.base); };
    overVectors(l.e, vectors, 0, columns, [&](const Index& j, const At& lanes) {
      for (size_t k = 0; k < partial.size(); ++k) {
        const DType type = w.bufferType(partial[k]);
        w.store(partial[k], slot(j), w.imm(identityOf(combine[k], type), type, lanes.lanes), lanes.tail);
      }
    });
    auto takeRows = [&](ExprId row, int count) {
      overVectors(l.e, vectors, 0, columns, [&](const Index& j, const At& lanes) {
        for (size_t k = 0; k < partial.size(); ++k) {
          std::vector<ExprId> x(count);
          for (int q = 0; q < count; ++q) x[q] = valueAt(k, w.add(row, w.i64(q)), j, lanes);
          for (; x.size() > 1; x.resize((x.size() + 1) / 2))
            for (size_t a = 0; 2 * a + 1 < x.size(); ++a) x[a] = w.binary(combine[k], x[2 * a], x[2 * a + 1]);
          w.store(partial[k], slot(j), w.binary(combine[k], w.load(partial[k], slot(j), lanes.lanes, lanes.tail), x[0]),
                  lanes.tail);
        }
        if (plan.fetch == FoldAxes::Fetch::no || count < kRows || lanes.tail) return;
        for (int q = 0; q < count; ++q) fetchRow(w.add(row, w.i64(q)), j, lanes);
      });
    };
    const ExprId whole =
        w.let("whole", w.add(begin, w.mul(w.binary(BinaryKind::div, w.sub(end, begin), w.i64(kRows)), w.i64(kRows))));
    l.e.loop("r", begin, whole, kRows, Binding::serial, [&](ExprId r) { takeRows(r, kRows); });
    l.e.loop("r", whole, end, 1, Binding::serial, [&](ExprId r) { takeRows(r, 1); });
  });
  VectorLoop second{plan.lanes, plan.lanes, Binding::parallel, 64};
  overVectors(l.e, second, 0, columns, [&](const Index& j, const At& lanes) {
    for (size_t k = 0; k < partial.size(); ++k) {
      // Sums of many pieces keep their digits in a wider type.
      const DType narrow = w.bufferType(partial[k]);
      const DType type = narrow == DType::f32 && combine[k] == BinaryKind::add ? DType::f64 : narrow;
      const kernel::VarId acc = w.declare("acc", w.imm(identityOf(combine[k], type), type, lanes.lanes));
      l.e.loop("p", w.i64(0), w.dim(pieces), 1, Binding::serial, [&](ExprId p) {
        const ExprId x = w.load(partial[k], w.add(w.mul(p, w.dim(columns)), j.base), lanes.lanes, lanes.tail);
        w.assign(acc, w.binary(combine[k], w.get(acc), w.convert(x, type)));
      });
      bindFold(l, sweep.folds[k], w.get(acc), {}, domain.foldedCount);
    }
    storeKept(l, keptAt(l.region, placeAt(w.i64(0), j, lanes)));
  });
}

}  // namespace tokamak::schedule
