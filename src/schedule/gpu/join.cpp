#include "schedule/gpu/join.h"

#include <algorithm>

#include "schedule/gpu/grid.h"
#include "schedule/identity.h"

namespace tokamak::schedule::gpu {

namespace {

/// Where `value` (scalar or lanes) is the best one, its position; elsewhere the largest number.
ExprId candidates(Writer& w, ExprId value, ExprId best, ExprId position) {
  const int lanes = w.lanes(value);
  ExprId same = w.binary(BinaryKind::eq, value, best);
  if (isFloat(w.type(value).dtype)) {
    const ExprId nan = w.binary(BinaryKind::bit_and, w.binary(BinaryKind::ne, value, value),
                                w.splat(w.binary(BinaryKind::ne, best, best), lanes));
    same = w.binary(BinaryKind::bit_or, same, nan);
  }
  const DType type = w.type(position).dtype;
  return w.select(same, position, w.imm(identityOf(BinaryKind::min, type), type, lanes));
}

Found joinWarp(Writer& w, const Found& found, int width) {
  const ExprId best = w.warpFold(combinerOf(found.kind), found.value, width);
  if (!isArg(found.kind) || width == 1) return {found.kind, best, found.position};
  return {found.kind, best, w.warpFold(BinaryKind::min, candidates(w, found.value, best, found.position), width)};
}

/// The results of a row's warps, which stand one after another from `first` on.
Found joinWarps(Writer& w, ReduceKind kind, BufferId values, BufferId positions, ExprId first, int warps) {
  const ExprId all = w.let("warps", w.load(values, first, warps));
  const ExprId best = w.let("joined", w.fold(combinerOf(kind), all));
  if (!isArg(kind)) return {kind, best, {}};
  return {kind, best,
          w.let("first", w.fold(BinaryKind::min, candidates(w, all, best, w.load(positions, first, warps))))};
}

/// The better of two results, lane by lane. Of equals the one that comes first; positions that are none lose.
Found better(Writer& w, const Found& a, const Found& b) {
  if (!isArg(a.kind)) return {a.kind, w.binary(combinerOf(a.kind), a.value, b.value), {}};
  const DType type = w.type(a.value).dtype;
  const auto over = [&](ExprId x, ExprId y) {  // NaN beats all else
    ExprId wins = w.binary(a.kind == ReduceKind::argmax ? BinaryKind::gt : BinaryKind::lt, x, y);
    if (isFloat(type))
      wins = w.binary(BinaryKind::bit_or, wins,
                      w.binary(BinaryKind::bit_and, w.binary(BinaryKind::ne, x, x), w.binary(BinaryKind::eq, y, y)));
    return wins;
  };
  // As unsigned numbers, positions that are none come last; the order of i64 does once they are made the largest.
  const ExprId far = w.imm(identityOf(BinaryKind::min, DType::i64), DType::i64, w.lanes(a.position));
  const auto orFar = [&](ExprId p) { return w.select(w.binary(BinaryKind::lt, p, w.i64(0)), far, p); };
  const ExprId p = w.let("p", orFar(a.position)), q = w.let("q", orFar(b.position));
  const ExprId none = w.binary(BinaryKind::eq, p, far), otherNone = w.binary(BinaryKind::eq, q, far);
  const ExprId worse = over(a.value, b.value);
  const ExprId tie =
      w.binary(BinaryKind::bit_and, w.unary(UnaryKind::logical_not, worse), w.binary(BinaryKind::lt, q, p));
  ExprId wins = w.binary(BinaryKind::bit_or, over(b.value, a.value), tie);
  wins = w.binary(BinaryKind::bit_and, w.binary(BinaryKind::bit_or, wins, none),
                  w.unary(UnaryKind::logical_not, otherNone));
  wins = w.let("wins", wins);
  return {a.kind, w.let("best", w.select(wins, b.value, a.value)), w.let("first", w.select(wins, q, p))};
}

struct Slots {
  BufferId value, where;
};

void put(Writer& w, const Slots& slots, ExprId at, const Found& found) {
  w.store(slots.value, at, found.value);
  if (found.position) w.store(slots.where, at, found.position);
}
Found get(Writer& w, const Slots& slots, ExprId at, const Found& like) {
  const int lanes = w.lanes(like.value);
  return {like.kind, w.let("other", w.load(slots.value, at, lanes)),
          like.position ? w.let("other", w.load(slots.where, at, lanes)) : ExprId{}};
}

}  // namespace

std::vector<Found> joinDown(Writer& w, const DownThreads& threads, std::vector<Found> found) {
  if (threads.down == 1) return found;
  std::vector<Slots> slots;
  std::vector<kernel::VarId> values, positions;
  for (const Found& f : found) {
    const Dim size(int64_t{threads.across} * threads.down * w.lanes(f.value));
    slots.push_back({w.shared("partial", w.type(f.value).dtype, size), {}});
    if (f.position) slots.back().where = w.shared("where", DType::i64, size);
    values.push_back(w.declare("joined", f.value));
    positions.push_back(f.position ? w.declare("first", f.position) : kernel::VarId{});
  }
  const auto now = [&](size_t k) {
    return Found{found[k].kind, w.get(values[k]), found[k].position ? w.get(positions[k]) : ExprId{}};
  };
  const auto set = [&](size_t k, const Found& f) {
    w.assign(values[k], f.value);
    if (f.position) w.assign(positions[k], f.position);
  };
  const auto at = [&](size_t k, ExprId y) {
    return w.mul(w.add(w.mul(y, w.i64(threads.across)), threads.x), w.i64(w.lanes(found[k].value)));
  };
  // The lower half of the threads takes in what the upper half found, again and again; then all read the first row.
  for (int half = threads.down / 2; half >= 1; half /= 2) {
    const ExprId upper =
        w.both(w.binary(BinaryKind::ge, threads.y, w.i64(half)), w.binary(BinaryKind::lt, threads.y, w.i64(2 * half)));
    w.when(upper, [&] {
      for (size_t k = 0; k < found.size(); ++k) put(w, slots[k], at(k, threads.y), now(k));
    });
    w.barrier();
    w.when(w.binary(BinaryKind::lt, threads.y, w.i64(half)), [&] {
      for (size_t k = 0; k < found.size(); ++k)
        set(k, better(w, now(k), get(w, slots[k], at(k, w.add(threads.y, w.i64(half))), found[k])));
    });
  }
  w.when(w.binary(BinaryKind::eq, threads.y, w.i64(0)), [&] {
    for (size_t k = 0; k < found.size(); ++k) put(w, slots[k], at(k, w.i64(0)), now(k));
  });
  w.barrier();
  for (size_t k = 0; k < found.size(); ++k) found[k] = get(w, slots[k], at(k, w.i64(0)), found[k]);
  return found;
}

PieceFold::PieceFold(Writer& w, ReduceKind kind, DType type, int lanes) : w_(w), kind_(kind) {
  value_ = w.declare("acc", w.imm(identityOf(combinerOf(kind), type), type, lanes));
  if (isArg(kind)) where_ = w.declare("where", w.imm(Scalar::of(int64_t{-1}), DType::i64, lanes));
}

void PieceFold::take(ExprId value, ExprId position) {
  const Found next = better(w_, found(), {kind_, w_.let("x", value), position ? w_.let("at", position) : position});
  w_.assign(value_, next.value);
  if (position) w_.assign(where_, next.position);
}

Found PieceFold::found() const { return {kind_, w_.get(value_), where_ ? w_.get(where_) : ExprId{}}; }

std::vector<Found> joinThreads(Writer& w, const RowThreads& row, std::vector<Found> found) {
  for (Found& f : found) f = joinWarp(w, f, std::min(row.threads, kWarp));
  const int warps = row.threads / kWarp;
  if (warps <= 1 || found.empty()) return found;
  std::vector<std::pair<BufferId, BufferId>> slots;
  for (const Found& f : found) {
    const Dim size(int64_t{warps} * row.rows);
    slots.push_back({w.shared("partial", w.type(f.value).dtype, size), {}});
    if (f.position) slots.back().second = w.shared("where", w.type(f.position).dtype, size);
  }
  const ExprId warp = w.let("warp", w.binary(BinaryKind::div, row.thread, w.i64(kWarp)));
  const ExprId isFirst = w.binary(BinaryKind::eq, w.binary(BinaryKind::fmod, row.thread, w.i64(kWarp)), w.i64(0));
  w.when(isFirst, [&] {
    for (size_t k = 0; k < found.size(); ++k) {
      w.store(slots[k].first, warp, found[k].value);
      if (found[k].position) w.store(slots[k].second, warp, found[k].position);
    }
  });
  w.barrier();
  ExprId first = w.i64(0);
  if (row.rows > 1)
    first = w.let("first", w.mul(w.binary(BinaryKind::div, row.thread, w.i64(row.threads)), w.i64(warps)));
  for (size_t k = 0; k < found.size(); ++k)
    found[k] = joinWarps(w, found[k].kind, slots[k].first, slots[k].second, first, warps);
  return found;
}

}  // namespace tokamak::schedule::gpu
