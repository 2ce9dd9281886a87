#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "sim/simulate.h"

namespace tokamak::tool {

/// The timing to simulate with, as asked for on the command line.
struct SimArguments {
  std::string profile = "comal", config;

  /// Adds --profile and --config.
  void addTo(CLI::App& app);
};

/// The machine of hw: a preset by its name, or a file.
Result<sim::HwConfig> chooseMachine(const SimArguments& arguments);

/// Profile and machine; the rest as it is by default.
Result<sim::Options> simOptionsOf(const SimArguments& arguments);

}  // namespace tokamak::tool
