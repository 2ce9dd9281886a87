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

/// Memory of the block, of the cluster or of its first block, for `size` results like this one.
Slots slotsFor(Writer& w, const Found& found, const Dim& size, kernel::Scope scope = kernel::Scope::shared) {
  const auto buffer = [&](const char* name, ExprId like) {
    if (!like) return BufferId{};
    const DType type = w.type(like).dtype;
    return scope == kernel::Scope::shared    ? w.shared(name, type, size)
           : scope == kernel::Scope::cluster ? w.cluster(name, type, size)
                                             : w.inbox(name, type, size);
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

namespace {

constexpr int kAtOnce = 8;  // results that a thread takes in one after the other
constexpr int kAlone = 32;  // and where that spares a barrier

/// What threads found of every fold, in `rows` rows of `width` columns of shared memory.
struct Left {
  std::vector<Slots> slots;
  int rows = 1, width = 1;
};

/// `lanes` columns from `first` on of all rows from there to `rows` further down, neighbours first.
Found takeRows(Writer& w, const Slots& slots, ExprId first, int rows, int width, const Found& like, int lanes) {
  if (rows == 1) return get(w, slots, first, like, lanes);
  const int half = rows / 2;
  const Found upper = takeRows(w, slots, first, half, width, like, lanes);
  const ExprId next = w.add(first, w.i64(int64_t{half} * width));
  return better(w, upper, takeRows(w, slots, next, rows - half, width, like, lanes));
}

/// Sums of f32 as f64, so that joining them rounds nothing; and what they were found as.
std::vector<Found> widened(Writer& w, std::vector<Found> found) {
  for (Found& f : found)
    if (combinerOf(f.kind) == BinaryKind::add && w.type(f.value).dtype == DType::f32)
      f.value = w.let("wide", w.convert(f.value, DType::f64));
  return found;
}
std::vector<Found> narrowed(Writer& w, std::vector<Found> found, const std::vector<Found>& like) {
  for (size_t k = 0; k < found.size(); ++k) found[k].value = w.convert(found[k].value, w.type(like[k].value).dtype);
  return found;
}

/// Every thread leaves what it found, or the first of `together` rows of threads that found the same; after a barrier
/// all may be read.
Left leave(Writer& w, const DownThreads& threads, const std::vector<Found>& found, int together = 1) {
  const int lanes = w.lanes(found[0].value);
  Left out{{}, threads.down / together, threads.across * lanes};
  for (const Found& f : found) out.slots.push_back(slotsFor(w, f, Dim(int64_t{out.rows} * out.width)));
  const auto store = [&](ExprId thread) {
    const ExprId at = w.let("at", w.mul(thread, w.i64(lanes)));
    for (size_t k = 0; k < found.size(); ++k) put(w, out.slots[k], at, found[k]);
  };
  if (together == 1) {
    store(threads.index(w));
  } else {
    const ExprId row = w.binary(BinaryKind::div, threads.y, w.i64(together));
    w.when(w.binary(BinaryKind::eq, w.binary(BinaryKind::fmod, threads.y, w.i64(together)), w.i64(0)),
           [&] { store(w.add(w.mul(row, w.i64(threads.across)), threads.x)); });
  }
  w.barrier();
  return out;
}

/// The same, joined to `rows` rows or not many more: a thread for a column and some of its rows joins those, and again.
/// Scalars, for vectors of eight rows would take all registers.
Left leaveFew(Writer& w, const DownThreads& threads, const std::vector<Found>& found, int rows, int together = 1) {
  Left left = leave(w, threads, found, together);
  const int most = std::max(kAtOnce, w.lanes(found[0].value));
  const ExprId t = w.let("t", threads.index(w));
  while (left.rows > rows) {
    const int each = std::min(left.rows, most);
    Left few{{}, left.rows / each, left.width};
    const int busy = few.rows * few.width;
    if (busy > threads.across * threads.down) break;
    for (const Found& f : found) few.slots.push_back(slotsFor(w, f, Dim(busy)));
    const auto join = [&] {
      const ExprId part = w.binary(BinaryKind::div, t, w.i64(few.width));
      const ExprId column = w.binary(BinaryKind::fmod, t, w.i64(few.width));
      const ExprId first = w.let("first", w.add(w.mul(part, w.i64(int64_t{each} * few.width)), column));
      for (size_t k = 0; k < found.size(); ++k)
        put(w, few.slots[k], t, takeRows(w, left.slots[k], first, each, few.width, found[k], 1));
    };
    busy == threads.across* threads.down ? join() : w.when(w.binary(BinaryKind::lt, t, w.i64(busy)), join);
    w.barrier();
    left = std::move(few);
  }
  return left;
}

}  // namespace

ExprId DownThreads::index(Writer& w) const { return down == 1 ? x : w.add(w.mul(y, w.i64(across)), x); }

std::vector<Found> joinDown(Writer& w, const DownThreads& threads, const std::vector<Found>& narrow) {
  if (threads.down == 1 || narrow.empty()) return narrow;
  std::vector<Found> found = threads.exact ? widened(w, narrow) : narrow;
  const int lanes = w.lanes(found[0].value);
  const Left left = leaveFew(w, threads, found, lanes == 1 ? kAtOnce : 1);
  const ExprId first = w.let("first", w.mul(threads.x, w.i64(lanes)));
  for (size_t k = 0; k < found.size(); ++k)
    found[k] = takeRows(w, left.slots[k], first, left.rows, left.width, found[k], lanes);
  return narrowed(w, std::move(found), narrow);
}

/// How many rows of threads share a warp, each of which gets what all of them found; 1 where that is not joined there.
static int joinInWarp(Writer& w, const DownThreads& threads, std::vector<Found>& found) {
  const int together = std::min(kWarp / threads.across, threads.down);
  if (together <= 1 || kWarp % threads.across != 0 || threads.across * threads.down % kWarp != 0) return 1;
  if (std::any_of(found.begin(), found.end(), [](const Found& f) { return f.position || f.sum; })) return 1;
  for (Found& f : found) f.value = w.warpFold(combinerOf(f.kind), f.value, together, threads.across);
  return together;
}

void joinCluster(Writer& w, const DownThreads& threads, int blocks, ExprId rank, const std::vector<Found>& narrow,
                 const std::function<void(ExprId column, const std::vector<Found>&)>& body) {
  std::vector<Found> found = threads.exact ? widened(w, narrow) : narrow;
  const int together = joinInWarp(w, threads, found);
  const Left left = leaveFew(w, threads, found, kAlone, together);
  // Inboxes are quicker, but have no elements of less than four bytes.
  const bool narrowOnes =
      std::any_of(found.begin(), found.end(), [&](const Found& f) { return byteWidth(w.type(f.value).dtype) < 4; });
  std::vector<Slots> slots;
  for (const Found& f : found)
    slots.push_back(
        slotsFor(w, f, Dim(int64_t{blocks} * left.width), narrowOnes ? kernel::Scope::cluster : kernel::Scope::inbox));
  const ExprId t = w.let("t", threads.index(w)), here = w.binary(BinaryKind::lt, t, w.i64(left.width));
  w.when(here, [&] {
    for (size_t k = 0; k < found.size(); ++k)
      put(w, slots[k], w.add(w.mul(rank, w.i64(left.width)), t),
          takeRows(w, left.slots[k], t, left.rows, left.width, found[k], 1));
  });
  w.barrier(narrowOnes ? kernel::Barrier::Of::cluster : kernel::Barrier::Of::inbox);
  w.when(w.both(w.binary(BinaryKind::eq, rank, w.i64(0)), here), [&] {
    std::vector<Found> joined;
    for (size_t k = 0; k < found.size(); ++k)
      joined.push_back(takeRows(w, slots[k], t, blocks, left.width, found[k], 1));
    body(t, narrowed(w, std::move(joined), narrow));
  });
}

void joinSideBySide(Writer& w, const DownThreads& threads, int columns, const std::vector<Found>& narrow,
                    const std::function<void(ExprId column, const std::vector<Found>&)>& body) {
  const std::vector<Found> found = threads.exact ? widened(w, narrow) : narrow;
  const Left left = leave(w, threads, found);
  const ExprId t = w.let("t", threads.index(w));
  w.when(w.binary(BinaryKind::lt, t, w.i64(columns)), [&] {
    std::vector<Found> joined;
    for (size_t k = 0; k < found.size(); ++k)
      joined.push_back(takeRows(w, left.slots[k], t, left.rows * left.width / columns, columns, found[k], 1));
    body(t, narrowed(w, std::move(joined), narrow));
  });
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
  for (const Found& f : found) slots.push_back(slotsFor(w, f, Dim(row.cluster), kernel::Scope::cluster));
  w.when(w.binary(BinaryKind::eq, row.thread, w.i64(0)), [&] {
    for (size_t k = 0; k < found.size(); ++k) put(w, slots[k], row.rank, found[k]);
  });
  w.barrier(kernel::Barrier::Of::cluster);
  for (size_t k = 0; k < found.size(); ++k) found[k] = joinSlots(w, slots[k], w.i64(0), found[k], row.cluster);
  return found;
}

}  // namespace

std::vector<Found> joinThreads(Writer& w, const RowThreads& row, const std::vector<Found>& narrow) {
  if (narrow.empty()) return narrow;
  std::vector<Found> found = row.exact ? widened(w, narrow) : narrow;
  for (Found& f : found) f = joinWarp(w, f, std::min(row.threads, kWarp));
  found = joinWarps(w, row, std::move(found));
  if (row.cluster > 1) found = joinBlocks(w, row, std::move(found));
  return narrowed(w, std::move(found), narrow);
}

}  // namespace tokamak::schedule::gpu
