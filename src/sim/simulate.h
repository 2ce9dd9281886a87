#pragma once

#include <functional>

#include "sim/hw/config.h"
#include "sim/report.h"

namespace tokamak::sim {

/// `comal`: the timing of the Comal simulator without its memory model, to the cycle. `comal-hbm`: with it. `hw`: a
/// machine with bounds, given by an HwConfig.
enum class Profile : uint8_t { comal, comal_hbm, hw };

struct Progress {
  uint64_t tokens = 0, cycles = 0;
};

struct Options {
  Profile profile = Profile::comal;
  HwConfig machine;                               // of hw
  std::function<bool(const Progress&)> progress;  // called now and then; false ends the run
  bool watch = false;     // also timelines, and peaks of streams where the profile has no FIFOs; takes longer
  stream::Window window;  // of which every slice is kept; with `watch`
  unsigned threads = 1;   // for `comal`, where the run is long enough to pay; the results are the same
};

/// Runs a graph and counts its cycles; values are computed all along, as `stream::run` does.
///
/// Requires a verified graph. The same diagnostics as `stream::run`; of `hw` also T0981, nodes that wait for each other
/// because streams are too shallow, and T0982, a workspace that does not fit where the machine may not spill.
Result<Report> simulate(const stream::Graph& graph, const stream::Inputs& inputs, const Options& options = {});

}  // namespace tokamak::sim

template <>
struct tokamak::EnumNames<tokamak::sim::Profile> {
  static constexpr std::array<std::string_view, 3> names = {"comal", "comal-hbm", "hw"};
};
