#include <nlohmann/json.hpp>

#include "sim/report/critical_path.h"
#include "sim/report/summary.h"

namespace tokamak::sim {

namespace {

using Json = nlohmann::ordered_json;

/// Waits by cause: the stream for inputs and outputs.
Json waitsOf(const stream::Graph& graph, const NodeReport& node) {
  Json out = Json::object();
  const stream::Node& from = graph.node(node.node);
  for (size_t i = 0; i < node.waitInput.size(); ++i)
    if (node.waitInput[i] > 0) out["input"]["%" + graph.stream(from.inputs[i]).name] = node.waitInput[i];
  for (size_t i = 0; i < node.waitOutput.size(); ++i)
    if (node.waitOutput[i] > 0 && from.outputs[i])
      out["output"]["%" + graph.stream(from.outputs[i]).name] = node.waitOutput[i];
  if (node.waitMemory > 0) out["memory"] = node.waitMemory;
  if (node.waitCompute > 0) out["compute"] = node.waitCompute;
  return out;
}

Json nodesOf(const Part& part) {
  Json out = Json::array();
  for (const NodeReport& node : part.report.nodes) {
    const double cycles = static_cast<double>(std::max<uint64_t>(part.report.cycles, 1));
    out.push_back({{"node", node.node.index},
                   {"block", stream::describe(part.graph.node(node.node).block)},
                   {"last_cycle", node.cycles},
                   {"busy", node.busy},
                   {"utilisation", static_cast<double>(node.busy) / cycles},
                   {"operations", node.operations},
                   {"peak_workspace", node.workspace},
                   {"stalls", waitsOf(part.graph, node)}});
  }
  return out;
}

Json memoryOf(const MemoryReport& memory) {
  return {{"bursts", memory.bursts},
          {"row_hits", memory.rowHits},
          {"row_misses", memory.rowMisses},
          {"bank_conflict_cycles", memory.bankConflictCycles},
          {"spilled_accesses", memory.spilledAccesses},
          {"bandwidth_used", memory.bandwidthUsed}};
}

Json partOf(const Part& part) {
  const Report& report = part.report;
  Json out = {{"graph", part.graph.name},
              {"cycles", report.cycles},
              {"tokens", report.tokens},
              {"seconds", report.seconds},
              {"operations", report.operations()},
              {"bytes_read", report.bytesRead()},
              {"bytes_written", report.bytesWritten()},
              {"buffer_bytes", report.bufferBytes}};
  out["nodes"] = nodesOf(part);
  out["streams"] = Json::array();
  for (const StreamReport& one : report.streams)
    out["streams"].push_back(
        {{"stream", "%" + part.graph.stream(one.stream).name}, {"tokens", one.tokens}, {"peak", one.peak}});
  out["tensors"] = Json::array();
  for (const TensorReport& tensor : report.tensors)
    out["tensors"].push_back(
        {{"tensor", tensor.tensor}, {"bytes_read", tensor.bytesRead}, {"bytes_written", tensor.bytesWritten}});
  if (report.memory.bursts > 0) out["memory"] = memoryOf(report.memory);
  out["critical_path"] = Json::array();
  for (const PathStep& step : criticalPath(part.graph, report))
    out["critical_path"].push_back({{"node", step.node.index},
                                    {"waits_for", describe(part.graph, step.node, step.wait)},
                                    {"cycles", step.wait.cycles}});
  return out;
}

}  // namespace

std::string reportJson(const Summary& summary) {
  Json out = {{"name", summary.name},
              {"profile", summary.profile},
              {"cycles", summary.cycles()},
              {"tokens", summary.tokens()},
              {"seconds", summary.seconds()},
              {"values_checked", summary.valuesAgree},
              {"values_against", summary.against},
              {"worst_difference", summary.worst},
              {"peak_memory", summary.peakMemory},
              {"base_memory", summary.baseMemory},
              {"tensor_memory", summary.tensorMemory},
              {"buffer_bytes", summary.bufferBytes()},
              {"operations", summary.operations()},
              {"bytes_read", summary.bytesRead()},
              {"bytes_written", summary.bytesWritten()}};
  out["graphs"] = Json::array();
  for (const Part& part : summary.parts) out["graphs"].push_back(partOf(part));
  return out.dump();
}

}  // namespace tokamak::sim
