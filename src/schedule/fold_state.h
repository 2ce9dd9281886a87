#pragma once

#include "graph/ops/reduce.h"
#include "schedule/lowering.h"

namespace tokamak::schedule {

/// How a reduction combines two partial results.
BinaryKind combinerOf(ReduceKind kind);
/// The type a reduction accumulates in, for an operand of this dtype.
DType accumulatorType(ReduceKind kind, DType operand);
constexpr bool isArg(ReduceKind kind) { return kind == ReduceKind::argmax || kind == ReduceKind::argmin; }

/// A lane count that a loop uses; `visited`: each of its lanes is sure to meet an element, and none is ever cut off.
struct LaneCount {
  int lanes;
  bool visited;
};
/// The lane counts of `overVectors`: between any bounds, and from 0 to `extent`.
std::vector<LaneCount> anyLaneCounts(const VectorLoop& loop);
std::vector<LaneCount> laneCounts(const VectorLoop& loop, const Dim& extent);

/// The running result of one reduction in registers: one partial a lane, for each of the lane counts a loop uses.
/// argmax and argmin also keep where it was found.
class FoldState {
 public:
  /// Declares registers for the given lane counts (in the open block). `count`: how many elements a fold takes in;
  /// positions are kept in 32 bits where that is known to do.
  FoldState(Writer& w, ReduceKind kind, DType operand, const std::vector<LaneCount>& laneCounts, const Dim& count);

  /// Takes x (as many lanes as `at`) in. `position`: flat index over the folded axes of lane 0 and its step a lane.
  void take(ExprId x, const At& at, const Index& position);
  /// One result a lane.
  ExprId lanewise(int lanes);
  ExprId lanewisePosition(int lanes);
  /// One result of all lanes and lane counts; afterwards `position` is the winner's.
  ExprId combined();
  /// The same of a sum of floats, whose lanes are added in f64.
  ExprId combinedInF64();
  ExprId position() const { return position_; }

 private:
  struct Part {
    int lanes;
    bool visited;
    kernel::VarId value, where;
  };
  Part& part(int lanes);
  ExprId positionImm(int64_t value);
  ExprId better(ExprId x, ExprId old);
  std::pair<ExprId, ExprId> overLanes(const Part& part);

  Writer& w_;
  ReduceKind kind_;
  DType type_, positionType_ = DType::i64;
  BinaryKind combine_;
  std::vector<Part> parts_;
  ExprId position_;
};

/// What a reduction gives when all is taken in: the fold itself, divided by `count` for a mean, the position for arg
/// kinds.
ExprId finishFold(Writer& w, ReduceKind kind, DType result, ExprId folded, ExprId position, const Dim& count);

}  // namespace tokamak::schedule
