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
  if (width == 1) return found;
  if (found.sum)
    return {found.kind, best, {}, w.warpFold(BinaryKind::add, rescaled(w, found.sum, found.value, best), width)};
  if (!isArg(found.kind)) return {found.kind, best, {}, {}};
  return {found.kind, best, w.warpFold(BinaryKind::min, candidates(w, found.value, best, found.position), width), {}};
}

struct Slots {
  BufferId value, where, sum;
};

/// Memory of the block, or of the cluster, for `size` results like this one.
Slots slotsFor(Writer& w, const Found& found, const Dim& size, bool ofCluster = false) {
  const auto buffer = [&](const char* name, ExprId like) {
    if (!like) return BufferId{};
    return ofCluster ? w.cluster(name, w.type(like).dtype, size) : w.shared(name, w.type(like).dtype, size);
  };
  return {buffer("partial", found.value), buffer("where", found.position), buffer("sums", found.sum)};
}
void put(Writer& w, const Slots& slots, ExprId at, const Found& found) {
  w.store(slots.value, at, found.value);
  if (found.position) w.store(slots.where, at, found.position);
  if (found.sum) w.store(slots.sum, at, found.sum);
}
Found get(Writer& w, const Slots& slots, ExprId at, const Found& like, int lanes) {
  return {like.kind, w.let("other", w.load(slots.value, at, lanes)),
          like.position ? w.let("other", w.load(slots.where, at, lanes)) : ExprId{},
          like.sum ? w.let("other", w.load(slots.sum, at, lanes)) : ExprId{}};
}

/// The better of two results, lane by lane. Of equals the one that comes first; positions that are none lose.
Found better(Writer& w, const Found& a, const Found& b) {
  if (a.sum) {
    const ExprId most = w.let("most", w.binary(BinaryKind::max, a.value, b.value));
    return {
        a.kind, most, {}, w.let("sum", w.add(rescaled(w, a.sum, a.value, most), rescaled(w, b.sum, b.value, most)))};
  }
  if (!isArg(a.kind)) return {a.kind, w.binary(combinerOf(a.kind), a.value, b.value), {}, {}};
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
  return {a.kind, w.let("best", w.select(wins, b.value, a.value)), w.let("first", w.select(wins, q, p)), {}};
}

}  // namespace

ExprId rescaled(Writer& w, ExprId sum, ExprId from, ExprId to) {
  const ExprId one = w.imm(Scalar::of(1.0), w.type(to).dtype, w.lanes(to));
  const ExprId factor =
      w.select(w.binary(BinaryKind::eq, from, to), one, w.unary(UnaryKind::exp, w.binary(BinaryKind::sub, from, to)));
  return sum == one ? factor : w.mul(sum, factor);
}

Found overLanes(Writer& w, const Found& found) {
  const ExprId best = w.let("best", w.fold(combinerOf(found.kind), found.value));
  if (!found.sum) return {found.kind, best, {}, {}};
  const ExprId sums = rescaled(w, found.sum, found.value, w.splat(best, w.lanes(found.value)));
  return {found.kind, best, {}, w.let("sum", w.fold(BinaryKind::add, sums))};
}

std::vector<Found> joinDown(Writer& w, const DownThreads& threads, std::vector<Found> found) {
  if (threads.down == 1) return found;
  struct Running {
    kernel::VarId value, position, sum;
  };
  std::vector<Slots> slots;
  std::vector<Running> running;
  for (const Found& f : found) {
    slots.push_back(slotsFor(w, f, Dim(int64_t{threads.across} * threads.down * w.lanes(f.value))));
    running.push_back({w.declare("joined", f.value), f.position ? w.declare("first", f.position) : kernel::VarId{},
                       f.sum ? w.declare("sums", f.sum) : kernel::VarId{}});
  }
  const auto now = [&](size_t k) {
    const Running& r = running[k];
    return Found{found[k].kind, w.get(r.value), r.position ? w.get(r.position) : ExprId{},
                 r.sum ? w.get(r.sum) : ExprId{}};
  };
  const auto set = [&](size_t k, const Found& f) {
    w.assign(running[k].value, f.value);
    if (f.position) w.assign(running[k].position, f.position);
    if (f.sum) w.assign(running[k].sum, f.sum);
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
        set(k, better(w, now(k),
                      get(w, slots[k], at(k, w.add(threads.y, w.i64(half))), found[k], w.lanes(found[k].value))));
    });
  }
  w.when(w.binary(BinaryKind::eq, threads.y, w.i64(0)), [&] {
    for (size_t k = 0; k < found.size(); ++k) put(w, slots[k], at(k, w.i64(0)), now(k));
  });
  w.barrier();
  for (size_t k = 0; k < found.size(); ++k)
    found[k] = get(w, slots[k], at(k, w.i64(0)), found[k], w.lanes(found[k].value));
  return found;
}

std::vector<Found> joinCluster(Writer& w, const DownThreads& threads, int blocks, ExprId rank,
                               std::vector<Found> found) {
  std::vector<Slots> slots;
  for (const Found& f : found)
    slots.push_back(slotsFor(w, f, Dim(int64_t{blocks} * threads.across * w.lanes(f.value)), true));
  const auto at = [&](size_t k, ExprId block) {
    return w.mul(w.add(w.mul(block, w.i64(threads.across)), threads.x), w.i64(w.lanes(found[k].value)));
  };
  w.when(w.binary(BinaryKind::eq, threads.y, w.i64(0)), [&] {
    for (size_t k = 0; k < found.size(); ++k) put(w, slots[k], at(k, rank), found[k]);
  });
  w.barrier(true);
  for (size_t k = 0; k < found.size(); ++k) {
    const Found like = found[k];
    for (int block = 0; block < blocks; ++block) {
      const Found other = get(w, slots[k], at(k, w.i64(block)), like, w.lanes(like.value));
      found[k] = block == 0 ? other : better(w, found[k], other);
    }
  }
  return found;
}

void storePiece(Writer& w, const PartialBuffers& to, ExprId at, const Found& found, ExprId mask) {
  const auto put = [&](BufferId buffer, ExprId value) {
    if (buffer) w.store(buffer, at, value, mask);
  };
  put(to.value, found.value);
  put(to.where, found.position);
  put(to.sum, found.sum);
}

Found loadPiece(Writer& w, const PartialBuffers& from, ReduceKind kind, ExprId at, int lanes, ExprId mask) {
  const auto get = [&](BufferId buffer) { return buffer ? w.let("piece", w.load(buffer, at, lanes, mask)) : ExprId{}; };
  return {kind, get(from.value), get(from.where), get(from.sum)};
}

PieceFold::PieceFold(Writer& w, ReduceKind kind, const PartialBuffers& from, int lanes) : w_(w), kind_(kind) {
  const DType type = w.bufferType(from.value);
  value_ = w.declare("acc", w.imm(identityOf(combinerOf(kind), type), type, lanes));
  if (from.where) where_ = w.declare("where", w.imm(Scalar::of(int64_t{-1}), DType::i64, lanes));
  if (from.sum) sum_ = w.declare("sum", w.imm(identityOf(BinaryKind::add, type), type, lanes));
}

void PieceFold::take(const Found& x) {
  const Found next = better(w_, found(), x);
  w_.assign(value_, next.value);
  if (next.position) w_.assign(where_, next.position);
  if (next.sum) w_.assign(sum_, next.sum);
}

Found PieceFold::found() const {
  return {kind_, w_.get(value_), where_ ? w_.get(where_) : ExprId{}, sum_ ? w_.get(sum_) : ExprId{}};
}

namespace {

/// All of `count` results from `first` on as one.
Found joinSlots(Writer& w, const Slots& slots, ExprId first, const Found& like, int count) {
  const Found all = get(w, slots, first, like, count);
  Found joined = overLanes(w, all);
  if (all.position)
    joined.position = w.let("first", w.fold(BinaryKind::min, candidates(w, all.value, joined.value, all.position)));
  return joined;
}

/// What the warps of a block found.
std::vector<Found> joinWarps(Writer& w, const RowThreads& row, std::vector<Found> found) {
  const int warps = row.threads / kWarp;
  if (warps <= 1) return found;
  std::vector<Slots> slots;
  const int64_t all = int64_t{warps} * row.rows;
  for (const Found& f : found) slots.push_back(slotsFor(w, f, Dim(row.turn ? 2 * all : all)));
  const ExprId begin = row.turn ? w.let("begin", w.mul(row.turn, w.i64(all))) : w.i64(0);
  const ExprId warp = w.let("warp", w.add(begin, w.binary(BinaryKind::div, row.thread, w.i64(kWarp))));
  w.when(w.binary(BinaryKind::eq, w.binary(BinaryKind::fmod, row.thread, w.i64(kWarp)), w.i64(0)), [&] {
    for (size_t k = 0; k < found.size(); ++k) put(w, slots[k], warp, found[k]);
  });
  w.barrier();
  ExprId first = begin;
  if (row.rows > 1)
    first =
        w.let("first", w.add(begin, w.mul(w.binary(BinaryKind::div, row.thread, w.i64(row.threads)), w.i64(warps))));
  for (size_t k = 0; k < found.size(); ++k) found[k] = joinSlots(w, slots[k], first, found[k], warps);
  return found;
}

/// What the blocks of a cluster found.
std::vector<Found> joinBlocks(Writer& w, const RowThreads& row, std::vector<Found> found) {
  std::vector<Slots> slots;
  for (const Found& f : found) slots.push_back(slotsFor(w, f, Dim(row.cluster), true));
  w.when(w.binary(BinaryKind::eq, row.thread, w.i64(0)), [&] {
    for (size_t k = 0; k < found.size(); ++k) put(w, slots[k], row.rank, found[k]);
  });
  w.barrier(true);
  for (size_t k = 0; k < found.size(); ++k) found[k] = joinSlots(w, slots[k], w.i64(0), found[k], row.cluster);
  return found;
}

}  // namespace

std::vector<Found> joinThreads(Writer& w, const RowThreads& row, std::vector<Found> found) {
  if (found.empty()) return found;
  for (Found& f : found) f = joinWarp(w, f, std::min(row.threads, kWarp));
  found = joinWarps(w, row, std::move(found));
  return row.cluster > 1 ? joinBlocks(w, row, std::move(found)) : found;
}

}  // namespace tokamak::schedule::gpu
