#include "sim/simulate.h"

#include <chrono>

#include "sim/hbm/nodes.h"
#include "sim/hbm/run.h"
#include "sim/hw/run.h"
#include "sim/parallel.h"
#include "sparse/stream/run/run.h"

namespace tokamak::sim {

namespace {

using stream::Network;
using stream::Recorder;
using stream::Timed;

std::vector<Recorder> recordersFor(size_t nodes, const Options& options) {
  return std::vector<Recorder>(options.watch ? nodes : 0, Recorder(options.window));
}

void watch(Network<Timed>& network, std::vector<Recorder>& recorders) {
  for (const auto& channel : network.channels()) channel->watch();
  for (size_t n = 0; n < network.nodes().size(); ++n) network.nodes()[n]->clock().recorder = &recorders[n];
}

/// Timelines with stretches of one length, and slices. Requires the nodes of the report to be in the network's order.
void reportTimes(std::vector<Recorder>& recorders, Report& report) {
  for (const Recorder& recorder : recorders) report.stretch = std::max(report.stretch, recorder.timeline().width());
  for (size_t n = 0; n < recorders.size(); ++n) {
    stream::Timeline line = recorders[n].timeline();
    while (line.width() < report.stretch) line.widen();
    const size_t used = static_cast<size_t>(report.cycles / report.stretch) + 1;
    report.nodes[n].timeline.assign(line.busy().begin(),
                                    line.busy().begin() + static_cast<ptrdiff_t>(std::min(used, line.busy().size())));
    report.nodes[n].slices = recorders[n].slices();
  }
}

/// Tokens and the largest backlog of every stream that a node reads; a broadcast's input is read by its outputs.
void reportStreams(const Network<Timed>& network, Report& report) {
  for (const auto& node : network.nodes()) {
    const stream::Node& from = network.graph().node(node->site().id);
    for (size_t i = 0; i < from.inputs.size(); ++i) {
      const stream::Channel::Reader* reader = node->site().inputs[i];
      report.streams.push_back({from.inputs[i], reader->channel->put(), reader->watch->peak()});
    }
  }
}

uint64_t lastClock(const Network<Timed>& network) {
  uint64_t last = 0;
  for (const auto& node : network.nodes()) last = std::max(last, node->clock().t);
  return last;
}

/// Four bytes for each position, coordinate and value that nodes touched.
std::vector<TensorReport> wordsTouched(const Network<Timed>& network, const stream::Inputs& inputs,
                                       const stream::Storages& outputs) {
  constexpr uint64_t kWord = 4;
  std::map<std::string, TensorReport> tensors;
  for (const stream::Tensor& tensor : network.graph().tensors()) tensors[tensor.name].tensor = tensor.name;
  for (const auto& node : network.nodes()) {
    const stream::Block& block = network.graph().node(node->site().id).block;
    if (const auto* array = std::get_if<stream::Array>(&block))
      tensors[array->tensor].bytesRead += kWord * node->work();
    const auto* scan = std::get_if<stream::Scan>(&block);
    if (scan == nullptr) continue;
    const stream::LevelFormat format = inputs.at(scan->tensor).levels[static_cast<size_t>(scan->level)].format;
    if (format == stream::LevelFormat::dense) continue;
    const uint64_t segments = format == stream::LevelFormat::compressed ? 2 * node->fibers() : 0;
    tensors[scan->tensor].bytesRead += kWord * (segments + node->work());
  }
  for (const auto& [name, output] : outputs) {
    uint64_t words = output.values.size();
    for (const stream::LevelStorage& level : output.levels) words += level.crd.size() + level.pos.size();
    tensors[name].bytesWritten = kWord * words;
  }
  std::vector<TensorReport> out;
  for (auto& [name, tensor] : tensors) out.push_back(std::move(tensor));
  return out;
}

template <class P>
NodeReport reportOf(const stream::RunNode<P>& node, NodeReport one = {}) {
  const stream::Block& block = node.site().graph->node(node.site().id).block;
  const bool computes = std::holds_alternative<stream::Alu>(block) || std::holds_alternative<stream::Reduce>(block) ||
                        std::holds_alternative<stream::Spacc>(block);
  one.operations = computes ? node.work() : 0;
  one.workspace = node.peak();
  return one;
}

/// `comal` and `comal-hbm`: tokens carry their times.
Result<Report> simulateComal(const stream::Graph& graph, const stream::Inputs& inputs, const Options& options) {
  const bool withMemory = options.profile == Profile::comal_hbm;
  Network<Timed> network(graph, inputs, {}, withMemory ? hbmFactory(inputs) : Network<Timed>::Factory{});
  std::vector<Recorder> recorders = recordersFor(network.nodes().size(), options);
  if (options.watch) watch(network, recorders);
  const auto pause = [&] { return !options.progress || options.progress({network.tokens(), lastClock(network)}); };
  TK_RETURN_IF_ERROR(withMemory ? runWithMemory(network, pause)
                                : runOnThreads(network, options.watch ? 1 : options.threads, pause));
  Report report;
  report.cycles = lastClock(network);
  report.tokens = network.tokens();
  report.bufferBytes = network.bytes();
  for (const auto& node : network.nodes()) {
    NodeReport one = reportOf(*node);
    one.node = node->site().id;
    one.cycles = node->clock().t;
    for (const stream::Channel::Reader* reader : node->site().inputs) one.waitInput.push_back(reader->waited);
    if (const auto* client = dynamic_cast<const MemoryNode*>(node.get())) one.waitMemory = client->waitedForMemory();
    uint64_t waits = one.waitMemory;
    for (const uint64_t cycles : one.waitInput) waits += cycles;
    one.busy = one.cycles - std::min(one.cycles, waits);
    report.nodes.push_back(std::move(one));
  }
  reportTimes(recorders, report);
  if (options.watch) reportStreams(network, report);
  report.tensors = wordsTouched(network, inputs, network.results());
  report.outputs = std::move(network.results());
  return report;
}

Result<Report> simulateHw(const stream::Graph& graph, const stream::Inputs& inputs, const Options& options) {
  Machine machine(graph, inputs, options.machine);
  const auto pause = [&] { return !options.progress || options.progress({machine.network().tokens(), machine.now}); };
  Report report;
  std::vector<Recorder> recorders = recordersFor(machine.network().nodes().size(), options);
  TK_RETURN_IF_ERROR(runMachine(machine, options.machine, report, recorders, pause));
  reportTimes(recorders, report);
  machine.report(report);
  for (size_t n = 0; n < report.nodes.size(); ++n)
    report.nodes[n] = reportOf(*machine.network().nodes()[n], std::move(report.nodes[n]));
  report.outputs = std::move(machine.network().results());
  return report;
}

}  // namespace

Result<Report> simulate(const stream::Graph& graph, const stream::Inputs& inputs, const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  stream::Graph bound = graph;
  TK_RETURN_IF_ERROR(stream::bindSizes(bound, inputs));
  TK_TRY(Report report,
         options.profile == Profile::hw ? simulateHw(bound, inputs, options) : simulateComal(bound, inputs, options));
  TK_RETURN_IF_ERROR(stream::finishOutputs(bound, report.outputs));
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace tokamak::sim
