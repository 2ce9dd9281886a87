#include "schedule/fold_state.h"

#include "schedule/identity.h"

namespace tokamak::schedule {

BinaryKind combinerOf(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::mean: return BinaryKind::add;
    case ReduceKind::prod: return BinaryKind::mul;
    case ReduceKind::max:
    case ReduceKind::argmax: return BinaryKind::max;
    case ReduceKind::min:
    case ReduceKind::argmin: return BinaryKind::min;
    case ReduceKind::any: return BinaryKind::bit_or;
    case ReduceKind::all: return BinaryKind::bit_and;
    case ReduceKind::var: break;
  }
  TK_CHECK(false, "variance is decomposed before scheduling");
  return BinaryKind::add;
}

DType accumulatorType(ReduceKind kind, DType operand) {
  if (kind == ReduceKind::any || kind == ReduceKind::all) return DType::boolean;
  const bool adds = kind == ReduceKind::sum || kind == ReduceKind::prod || kind == ReduceKind::mean;
  if (adds && !isFloat(operand)) return DType::i64;
  return computeType(operand);
}

std::vector<LaneCount> anyLaneCounts(const VectorLoop& loop) {
  if (loop.wide == loop.narrow) return {{loop.wide, false}};
  return {{loop.wide, false}, {loop.narrow, false}};
}

std::vector<LaneCount> laneCounts(const VectorLoop& loop, const Dim& extent) {
  const auto n = extent.constant();
  if (!n) return anyLaneCounts(loop);
  int narrow = loop.narrow;
  while (narrow > 1 && narrow / 2 >= *n) narrow /= 2;
  const int wide = std::max(loop.wide, narrow);
  const bool main = *n >= wide, rest = *n % wide != 0;
  if (wide == narrow) return {{wide, !rest && main}};
  std::vector<LaneCount> out;
  if (main) out.push_back({wide, true});
  if (rest || !main) out.push_back({narrow, false});
  return out;
}

FoldState::FoldState(Writer& w, ReduceKind kind, DType operand, const std::vector<LaneCount>& laneCounts,
                     const Dim& count)
    : w_(w), kind_(kind), type_(accumulatorType(kind, operand)), combine_(combinerOf(kind)) {
  if (const auto n = count.constant(); n && *n < (int64_t{1} << 31)) positionType_ = DType::i32;
  for (auto [lanes, visited] : laneCounts) {
    Part part{lanes, visited, w.declare("acc", w.imm(identityOf(combine_, type_), type_, lanes)), {}};
    if (isArg(kind))
      part.where = w.declare("where", w.imm(Scalar::of(int64_t{visited ? 0 : -1}), positionType_, lanes));
    parts_.push_back(part);
  }
}

ExprId FoldState::positionImm(int64_t value) { return w_.imm(Scalar::of(value), positionType_); }

FoldState::Part& FoldState::part(int lanes) {
  for (Part& part : parts_)
    if (part.lanes == lanes) return part;
  TK_CHECK(false, "a fold has no registers for this lane count");
  return parts_[0];
}

/// Whether x takes the place of `old` (which came earlier): NaN beats all but an earlier NaN.
ExprId FoldState::better(ExprId x, ExprId old) {
  if (!isFloat(type_)) return w_.binary(kind_ == ReduceKind::argmax ? BinaryKind::gt : BinaryKind::lt, x, old);
  const ExprId stays = w_.binary(kind_ == ReduceKind::argmax ? BinaryKind::le : BinaryKind::ge, x, old);
  return w_.binary(BinaryKind::bit_and, w_.unary(UnaryKind::logical_not, stays), w_.binary(BinaryKind::eq, old, old));
}

void FoldState::take(ExprId x, const At& at, const Index& position) {
  const Part& p = part(at.lanes);
  x = w_.convert(x, type_);
  if (kind_ == ReduceKind::any || kind_ == ReduceKind::all) x = w_.convert(x, DType::boolean);
  x = w_.splat(x, at.lanes);
  const ExprId old = w_.get(p.value);
  const ExprId tail = at.tail ? w_.splat(at.tail, at.lanes) : at.tail;
  if (isArg(kind_)) {
    // Lanes remember where their vector began; the lane's own step is added when all is done.
    ExprId wins = better(x, old);
    if (!p.visited)
      wins = w_.binary(BinaryKind::bit_or, wins, w_.binary(BinaryKind::lt, w_.get(p.where), positionImm(0)));
    if (tail) wins = w_.binary(BinaryKind::bit_and, wins, tail);
    wins = w_.let("wins", wins);
    w_.assign(p.value, w_.select(wins, x, old));
    w_.assign(p.where, w_.select(wins, w_.splat(w_.convert(position.base, positionType_), at.lanes), w_.get(p.where)));
    return;
  }
  const ExprId next = w_.binary(combine_, old, x);
  w_.assign(p.value, tail ? w_.select(tail, next, old) : next);
}

ExprId FoldState::lanewise(int lanes) { return w_.get(part(lanes).value); }
ExprId FoldState::lanewisePosition(int lanes) { return w_.convert(w_.get(part(lanes).where), DType::i64); }

/// Best value of a part and, for arg kinds, the first position that has it.
std::pair<ExprId, ExprId> FoldState::overLanes(const Part& p) {
  const ExprId all = w_.get(p.value);
  if (!isArg(kind_)) return {w_.fold(combine_, all), {}};
  const ExprId at = w_.add(w_.get(p.where), p.lanes > 1 ? w_.ramp(positionImm(0), p.lanes) : positionImm(0));
  // Lanes that never saw an element hold the identity and no position: they lose to every other.
  const ExprId filled = w_.binary(BinaryKind::ge, w_.get(p.where), positionImm(0));
  const ExprId best = w_.let("best", w_.fold(combine_, all));
  ExprId same = w_.binary(BinaryKind::eq, all, w_.splat(best, p.lanes));
  if (isFloat(type_)) {
    const ExprId nan = w_.splat(w_.binary(BinaryKind::ne, best, best), p.lanes);
    same =
        w_.binary(BinaryKind::bit_or, same, w_.binary(BinaryKind::bit_and, nan, w_.binary(BinaryKind::ne, all, all)));
  }
  same = w_.binary(BinaryKind::bit_and, same, filled);
  const ExprId far = w_.imm(identityOf(BinaryKind::min, positionType_), positionType_, p.lanes);
  return {best, w_.let("first", w_.convert(w_.fold(BinaryKind::min, w_.select(same, at, far)), DType::i64))};
}

ExprId FoldState::combined() {
  auto [value, where] = overLanes(parts_[0]);
  for (size_t i = 1; i < parts_.size(); ++i) {
    auto [other, otherWhere] = overLanes(parts_[i]);
    if (!isArg(kind_)) {
      value = w_.binary(combine_, value, other);
      continue;
    }
    const ExprId far = w_.imm(identityOf(BinaryKind::min, positionType_), DType::i64);
    const ExprId has = w_.binary(BinaryKind::ne, otherWhere, far);
    const ExprId none = w_.binary(BinaryKind::eq, where, far);
    const ExprId worse = better(value, other);
    const ExprId earlier = w_.binary(BinaryKind::bit_and, w_.unary(UnaryKind::logical_not, worse),
                                     w_.binary(BinaryKind::lt, otherWhere, where));
    const ExprId wins = w_.let(
        "wins",
        w_.binary(BinaryKind::bit_and, has,
                  w_.binary(BinaryKind::bit_or, w_.binary(BinaryKind::bit_or, better(other, value), none), earlier)));
    value = w_.let("best", w_.select(wins, other, value));
    where = w_.let("first", w_.select(wins, otherWhere, where));
  }
  position_ = where;
  return w_.let("folded", value);
}

ExprId FoldState::combinedInF64() {
  ExprId sum;
  for (const Part& p : parts_) {
    const ExprId folded = w_.fold(combine_, w_.convert(w_.get(p.value), DType::f64));
    sum = sum ? w_.add(sum, folded) : folded;
  }
  return w_.let("folded", sum);
}

ExprId finishFold(Writer& w, ReduceKind kind, DType result, ExprId folded, ExprId position, const Dim& count) {
  if (isArg(kind)) return position;
  if (kind == ReduceKind::mean)
    folded = w.binary(BinaryKind::div, folded, w.convert(w.dim(count), w.type(folded).dtype));
  return w.convert(folded, computeType(result));
}

}  // namespace tokamak::schedule
