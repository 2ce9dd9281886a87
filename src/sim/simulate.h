#pragma once

#include <functional>

#include "sparse/stream/run/data.h"

namespace tokamak::sim {

/// `comal`: the timing of the Comal simulator without its memory model, to the cycle. `comal-hbm`: with it.
enum class Profile : uint8_t { comal, comal_hbm };

struct NodeReport {
  stream::NodeId node;
  uint64_t cycles = 0;  // its clock at the end
  uint64_t steps = 0;
};

struct Report {
  uint64_t cycles = 0;  // the largest final clock of any node
  uint64_t tokens = 0;  // put into streams; a broadcast counts once for each reader, a repeat its signals too
  double seconds = 0;
  uint64_t peakMemory = 0;  // bytes of channels at the end, which is when they are largest
  std::vector<NodeReport> nodes;
  stream::Storages outputs;
};

struct Progress {
  uint64_t tokens = 0, cycles = 0;
};

struct Options {
  Profile profile = Profile::comal;
  std::function<bool(const Progress&)> progress;  // called now and then; false ends the run
};

/// Runs a graph and counts its cycles; values are computed all along, as `stream::run` does.
///
/// Requires a verified graph. The same diagnostics as `stream::run`.
Result<Report> simulate(const stream::Graph& graph, const stream::Inputs& inputs, const Options& options = {});

}  // namespace tokamak::sim

template <>
struct tokamak::EnumNames<tokamak::sim::Profile> {
  static constexpr std::array<std::string_view, 2> names = {"comal", "comal-hbm"};
};
