#pragma once

#include "schedule/lowering.h"

namespace tokamak::schedule {

/// How a scan combines what it has with the next element.
BinaryKind combinerOf(ScanKind kind);
constexpr bool isArg(ScanKind kind) { return kind == ScanKind::argmax || kind == ScanKind::argmin; }
std::vector<ValueId> scansOf(const Graph& graph, const Region& region);
/// The type a scan accumulates in.
DType scanType(const Graph& graph, ValueId scan);

/// The scans of a region as they run: what has been folded so far, a scalar or a lane each, in registers. `wide`: sums
/// and products of f32 are carried in f64, as eager does on a CPU.
class ScanRunner {
 public:
  ScanRunner(Lowering& l, int lanes, bool wide);

  /// One step: every lane carries its own column (or there is one lane).
  void stepLanes(const At& at, ExprId position);
  /// One vector along the scanned axis: a prefix over the lanes, on top of the scalar carried so far.
  void stepAlong(const At& at);

 private:
  struct Carry {
    DType type;
    kernel::VarId value, where;
  };

  Lowering& l_;
  Writer& w_;
  std::vector<std::pair<ValueId, Carry>> carries_;
};

/// Lets readers of a scan have `result` until it is bound anew.
void bindScan(Lowering& l, ValueId scan, ExprId result);

}  // namespace tokamak::schedule
