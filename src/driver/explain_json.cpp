#include <nlohmann/json.hpp>

#include "driver/explain.h"

namespace tokamak {

namespace {

using Json = nlohmann::ordered_json;

Json labels(const Graph& graph, const std::vector<ValueId>& values) {
  Json out = Json::array();
  for (ValueId v : values) out.push_back(graph.label(v));
  return out;
}

Json regionJson(const Explanation& explanation, size_t index) {
  const LedgerRegion& region = explanation.ledger.regions[index];
  Json out = {{"id", region.id.index},
              {"name", region.name},
              {"kind", region.kind},
              {"schedule", region.schedule},
              {"ops", labels(explanation.graph, region.nodes)},
              {"inputs", labels(explanation.graph, region.inputs)},
              {"outputs", labels(explanation.graph, region.outputs)},
              {"bytes_read", region.bytesRead},
              {"bytes_written", region.bytesWritten},
              {"predicted_us", region.microseconds}};
  if (region.measuredMicroseconds >= 0) out["measured_us"] = region.measuredMicroseconds;
  if (index < explanation.kernels.size() && !explanation.kernels[index].empty())
    out["kernel"] = explanation.kernels[index];
  return out;
}

Json edgeJson(const Graph& graph, const LedgerEdge& edge) {
  return {{"producer", graph.label(edge.producer)},
          {"producer_op", mnemonic(graph.node(edge.producer).op)},
          {"consumer", graph.label(edge.consumer)},
          {"consumer_op", mnemonic(graph.node(edge.consumer).op)},
          {"decision", nameOf(edge.decision)},
          {"rule", edge.rule},
          {"reason", edge.reason},
          {"bytes", edge.bytes},
          {"us", edge.microseconds}};
}

}  // namespace

std::string explainJson(const Explanation& explanation) {
  const Ledger& ledger = explanation.ledger;
  Json out = {{"graph", explanation.graph.name}, {"dims", Json::object()}};
  for (const auto& [name, value] : explanation.dims) out["dims"][name] = value;
  out["summary"] = {{"ops_written", explanation.writtenOps}, {"ops_planned", computingOps(explanation.graph)},
                    {"kernels", ledger.regions.size()},      {"unfused_bytes", ledger.unfusedBytes},
                    {"fused_bytes", ledger.fusedBytes},      {"unfused_us", ledger.unfusedMicroseconds},
                    {"fused_us", ledger.fusedMicroseconds}};
  out["kernels"] = Json::array();
  for (size_t i = 0; i < ledger.regions.size(); ++i) out["kernels"].push_back(regionJson(explanation, i));
  out["edges"] = Json::array();
  for (const LedgerEdge& edge : ledger.edges) out["edges"].push_back(edgeJson(explanation.graph, edge));
  out["notes"] = ledger.notes;
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tokamak
