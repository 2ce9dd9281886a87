#include "schedule/scan_runner.h"

#include "schedule/identity.h"

namespace tokamak::schedule {

BinaryKind combinerOf(ScanKind kind) {
  switch (kind) {
    case ScanKind::sum: return BinaryKind::add;
    case ScanKind::prod: return BinaryKind::mul;
    case ScanKind::max:
    case ScanKind::argmax: return BinaryKind::max;
    case ScanKind::min:
    case ScanKind::argmin: return BinaryKind::min;
  }
  return BinaryKind::add;
}

std::vector<ValueId> scansOf(const Graph& graph, const Region& region) {
  std::vector<ValueId> out;
  for (ValueId v : region.nodes)
    if (opAs<Scan>(graph, v)) out.push_back(v);
  return out;
}

DType scanType(const Graph& graph, ValueId scan) {
  const DType from = graph.type(graph.node(scan).operands[0]).dtype;
  const auto kind = std::get<Scan>(graph.node(scan).op).kind;
  const bool adds = kind == ScanKind::sum || kind == ScanKind::prod;
  return adds && !isFloat(from) ? DType::i64 : computeType(from);
}

void bindScan(Lowering& l, ValueId scan, ExprId result) {
  const ExprId held = l.w.let("s", l.w.convert(result, computeType(l.graph.type(scan).dtype)));
  l.e.bind(scan, [held](const At&) { return held; });
}

ScanRunner::ScanRunner(Lowering& l, int lanes, bool wide) : l_(l), w_(l.w) {
  for (ValueId v : scansOf(l.graph, l.region)) {
    const auto& op = std::get<Scan>(l.graph.node(v).op);
    const bool rounds = op.kind == ScanKind::sum || op.kind == ScanKind::prod;
    const bool widens = wide && rounds && l.graph.type(v).dtype == DType::f32;
    const DType type = widens ? DType::f64 : scanType(l.graph, v);
    Carry carry{type, w_.declare("carry", w_.imm(identityOf(combinerOf(op.kind), type), type, lanes)), {}};
    if (isArg(op.kind)) carry.where = w_.declare("where", w_.imm(Scalar::of(int64_t{0}), DType::i64, lanes));
    carries_.push_back({v, carry});
  }
}

void ScanRunner::stepLanes(const At& at, ExprId position) {
  for (auto& [v, carry] : carries_) {
    const auto& op = std::get<Scan>(l_.graph.node(v).op);
    const ExprId x = w_.splat(w_.convert(l_.e.value(l_.graph.node(v).operands[0], at), carry.type), at.lanes);
    const ExprId old = w_.get(carry.value);
    if (isArg(op.kind)) {
      // The latest of equals wins; a NaN wins over all but stays where a later NaN comes.
      ExprId wins = w_.binary(op.kind == ScanKind::argmax ? BinaryKind::ge : BinaryKind::le, x, old);
      if (isFloat(w_.type(x).dtype)) wins = w_.binary(BinaryKind::bit_or, wins, w_.binary(BinaryKind::ne, x, x));
      wins = w_.let("wins", wins);
      w_.assign(carry.value, w_.select(wins, x, old));
      w_.assign(carry.where, w_.select(wins, w_.splat(position, at.lanes), w_.get(carry.where)));
      bindScan(l_, v, w_.get(carry.where));
      continue;
    }
    const ExprId next = w_.let("run", w_.binary(combinerOf(op.kind), old, x));
    w_.assign(carry.value, next);
    bindScan(l_, v, next);
  }
}

void ScanRunner::stepAlong(const At& at) {
  for (auto& [v, carry] : carries_) {
    const auto kind = combinerOf(std::get<Scan>(l_.graph.node(v).op).kind);
    ExprId x = w_.splat(w_.convert(l_.e.value(l_.graph.node(v).operands[0], at), carry.type), at.lanes);
    if (at.tail) x = w_.select(at.tail, x, w_.imm(identityOf(kind, carry.type), carry.type, at.lanes));
    const ExprId prefix = w_.let("prefix", w_.prefix(kind, x)), old = w_.let("old", w_.get(carry.value));
    // Not by way of the lanes: the next vector waits for this alone.
    w_.assign(carry.value, w_.binary(kind, old, w_.extract(prefix, at.lanes - 1)));
    bindScan(l_, v, w_.let("run", w_.binary(kind, prefix, w_.splat(old, at.lanes))));
  }
}

}  // namespace tokamak::schedule
