#include "sim/simulate.h"

#include <chrono>

#include "sim/hbm/run.h"
#include "sim/hw/run.h"
#include "sparse/stream/run/engine.h"
#include "sparse/stream/run/run.h"

namespace tokamak::sim {

namespace {

using stream::Network;
using stream::Timed;

uint64_t lastClock(const Network<Timed>& network) {
  uint64_t last = 0;
  for (const auto& node : network.nodes()) last = std::max(last, node->clock().t);
  return last;
}

/// `comal` and `comal-hbm`: tokens carry their times.
Result<Report> simulateComal(const stream::Graph& graph, const stream::Inputs& inputs, const Options& options) {
  const bool withMemory = options.profile == Profile::comal_hbm;
  Network<Timed> network(graph, inputs, {}, withMemory ? hbmFactory(inputs) : Network<Timed>::Factory{});
  const auto pause = [&] { return !options.progress || options.progress({network.tokens(), lastClock(network)}); };
  TK_RETURN_IF_ERROR(withMemory ? runWithMemory(network, pause) : stream::runNetwork(network, pause));
  Report report;
  report.cycles = lastClock(network);
  report.tokens = network.tokens();
  report.bufferBytes = network.bytes();
  for (const auto& node : network.nodes()) {
    NodeReport one;
    one.node = node->site().id;
    one.cycles = node->clock().t;
    one.busy = node->steps();
    report.nodes.push_back(std::move(one));
  }
  report.outputs = std::move(network.results());
  return report;
}

Result<Report> simulateHw(const stream::Graph& graph, const stream::Inputs& inputs, const Options& options) {
  Machine machine(graph, inputs, options.machine);
  const auto pause = [&] { return !options.progress || options.progress({machine.network().tokens(), machine.now}); };
  Report report;
  TK_RETURN_IF_ERROR(runMachine(machine, options.machine, report, pause));
  machine.report(report);
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
