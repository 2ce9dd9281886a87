#include "fusion/account.h"

#include <fmt/format.h>

#include <map>

#include "fusion/cost.h"
#include "fusion/weight.h"

namespace tokamak {

namespace {

double bytesOf(const Graph& graph, ValueId v, const FusionOptions& options) {
  return likely(graph.type(v).bytes(), options.hints);
}

/// Operations of a product: two a multiply-add.
double productOps(const Graph& graph, ValueId v, const FusionOptions& options) {
  const Node& node = graph.node(v);
  const double out = likely(node.type.elements(), options.hints);
  if (auto* op = std::get_if<MatMul>(&node.op)) {
    const Shape& a = graph.type(node.operands[0]).shape;
    return 2 * out * likely(op->transposeA ? a[a.size() - 2] : a.back(), options.hints);
  }
  if (std::holds_alternative<Conv>(node.op)) {
    const Shape& w = graph.type(node.operands[1]).shape;
    double taps = 1;
    for (size_t i = 1; i < w.size(); ++i) taps *= likely(w[i], options.hints);
    return 2 * out * taps;
  }
  return 0;
}

double timeOf(double bytes, double ops, const MachineModel& m) {
  return std::max(bytes / m.bytesPerMicrosecond, ops / m.opsPerMicrosecond) + m.launchMicroseconds;
}

LedgerRegion accountRegion(const Graph& graph, const FusionOptions& options, const Region& region) {
  LedgerRegion out;
  out.id = region.id;
  out.kind = region.kind == RegionKind::contract && region.tier == Tier::library ? "library"
                                                                                 : std::string(nameOf(region.kind));
  out.nodes = region.nodes;
  out.inputs = region.inputs;
  out.outputs = region.outputs;
  double ops = 0;
  for (ValueId v : region.nodes) {
    const double product = productOps(graph, v, options);
    ops += product > 0 ? product / 8
                       : static_cast<double>(opWeight(graph.node(v))) * likely(graph.type(v).elements(), options.hints);
  }
  for (ValueId v : region.inputs) {
    double bytes = bytesOf(graph, v, options);
    // A gather reads the rows it picks, not the table.
    for (ValueId n : region.nodes) {
      const Node& node = graph.node(n);
      if ((std::holds_alternative<IndexSelect>(node.op) || std::holds_alternative<Gather>(node.op)) &&
          node.operands[0] == v)
        bytes = std::min(
            bytes, likely(node.type.elements(), options.hints) * static_cast<double>(byteWidth(graph.type(v).dtype)));
    }
    out.bytesRead += bytes;
  }
  for (ValueId v : region.outputs) out.bytesWritten += bytesOf(graph, v, options);
  out.microseconds = timeOf(out.bytesRead + out.bytesWritten, ops, options.machine);
  return out;
}

}  // namespace

Ledger writeLedger(const Graph& graph, const FusionOptions& options, const FusionPlan& plan,
                   const std::vector<LedgerEdge>& decided, const std::vector<bool>& isView) {
  Ledger ledger;
  std::map<std::pair<uint32_t, uint32_t>, const LedgerEdge*> byEnds;
  for (const LedgerEdge& edge : decided) byEnds[{edge.producer.index, edge.consumer.index}] = &edge;

  // The value a view shows, where it shows one.
  std::vector<ValueId> shown(graph.size());
  for (size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node(ValueId(i));
    shown[i] = isView[i] && !node.operands.empty() ? shown[node.operands[0].index] : ValueId(i);
  }
  for (size_t i = 0; i < graph.size(); ++i) {
    const ValueId consumer(i);
    for (ValueId producer : graph.node(consumer).operands) {
      const Op& from = graph.node(producer).op;
      if (std::holds_alternative<Input>(from) || std::holds_alternative<Constant>(from)) continue;
      LedgerEdge edge{producer, consumer, EdgeDecision::fused, {}, {}, 0, 0};
      const double bytes = bytesOf(graph, producer, options);
      if (plan.aliasOf[i]) {
        edge.decision = EdgeDecision::aliased, edge.rule = "reshape-in-place";
        edge.reason = "the same bytes in the same order";
      } else if (isView[i]) {
        edge.decision = EdgeDecision::replicated, edge.rule = "view";
        edge.reason = "a view costs nothing: each reader looks through it";
      } else if (auto it = byEnds.find({shown[producer.index].index, consumer.index}); it != byEnds.end()) {
        edge.decision = it->second->decision;
        edge.rule = it->second->rule;
        edge.reason = it->second->reason;
      } else {
        edge.decision = EdgeDecision::replicated, edge.rule = "view";
        edge.reason = "nothing to load: each reader computes it";
      }
      edge.bytes = (edge.decision == EdgeDecision::cut ? 1 : 2) * bytes;
      edge.microseconds = edge.bytes / options.machine.bytesPerMicrosecond;
      ledger.edges.push_back(std::move(edge));
    }
    const Node& node = graph.node(consumer);
    if (std::holds_alternative<Input>(node.op) || std::holds_alternative<Constant>(node.op) || isView[i]) continue;
    double moved = bytesOf(graph, consumer, options);
    for (ValueId operand : node.operands) moved += bytesOf(graph, shown[operand.index], options);
    const double product = productOps(graph, consumer, options);
    const double ops =
        product > 0 ? product / 8 : static_cast<double>(opWeight(node)) * likely(node.type.elements(), options.hints);
    ledger.unfusedBytes += moved;
    ledger.unfusedMicroseconds += timeOf(moved, ops, options.machine);
  }
  for (const Region& region : plan.regions) {
    ledger.regions.push_back(accountRegion(graph, options, region));
    ledger.fusedBytes += ledger.regions.back().bytesRead + ledger.regions.back().bytesWritten;
    ledger.fusedMicroseconds += ledger.regions.back().microseconds;
  }
  return ledger;
}

}  // namespace tokamak
