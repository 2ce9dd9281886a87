#include "sim/simulate.h"

#include <chrono>

#include "sim/hbm/run.h"
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

}  // namespace

Result<Report> simulate(const stream::Graph& graph, const stream::Inputs& inputs, const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  stream::Graph bound = graph;
  TK_RETURN_IF_ERROR(stream::bindSizes(bound, inputs));
  const bool withMemory = options.profile == Profile::comal_hbm;
  Network<Timed> network(bound, inputs, {}, withMemory ? hbmFactory(inputs) : Network<Timed>::Factory{});
  const auto pause = [&] { return !options.progress || options.progress({network.tokens(), lastClock(network)}); };
  TK_RETURN_IF_ERROR(withMemory ? runWithMemory(network, pause) : stream::runNetwork(network, pause));
  Report report;
  report.cycles = lastClock(network);
  report.tokens = network.tokens();
  report.peakMemory = network.bytes();
  for (const auto& node : network.nodes()) report.nodes.push_back({node->site().id, node->clock().t, node->steps()});
  report.outputs = std::move(network.results());
  TK_RETURN_IF_ERROR(stream::finishOutputs(bound, report.outputs));
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace tokamak::sim
