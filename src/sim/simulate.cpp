#include "sim/simulate.h"

#include <chrono>

#include "sparse/stream/run/engine.h"
#include "sparse/stream/run/run.h"

namespace tokamak::sim {

namespace {

using stream::Engine;
using stream::Timed;

uint64_t lastClock(const Engine<Timed>& engine) {
  uint64_t last = 0;
  for (const auto& node : engine.nodes()) last = std::max(last, node->clock().t);
  return last;
}

}  // namespace

Result<Report> simulate(const stream::Graph& graph, const stream::Inputs& inputs, const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  stream::Graph bound = graph;
  TK_RETURN_IF_ERROR(stream::bindSizes(bound, inputs));
  Engine<Timed> engine(bound, inputs);
  TK_RETURN_IF_ERROR(
      engine.run([&] { return !options.progress || options.progress({engine.tokens(), lastClock(engine)}); }));
  Report report;
  report.cycles = lastClock(engine);
  report.tokens = engine.tokens();
  report.peakMemory = engine.bytes();
  for (const auto& node : engine.nodes()) report.nodes.push_back({node->site().id, node->clock().t, node->steps()});
  report.outputs = std::move(engine.results());
  TK_RETURN_IF_ERROR(stream::finishOutputs(bound, report.outputs));
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace tokamak::sim
