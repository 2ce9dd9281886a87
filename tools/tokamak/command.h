#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "support/result.h"

namespace tokamak::tool {

/// How a command ends.
enum class Outcome : int {
  done = 0,
  differs = 1,   // the work was done and a comparison failed
  badInput = 2,  // a diagnostic was given
};

/// One command of the command line: its options live in the closure that runs it.
struct Command {
  CLI::App* app = nullptr;
  std::function<Result<Outcome>()> run;
};

Command addRun(CLI::App& parent);
Command addRepro(CLI::App& parent);
Command addExplain(CLI::App& parent);
Command addOpt(CLI::App& parent);
Command addBench(CLI::App& parent);
Command addCache(CLI::App& parent);
Command addSparse(CLI::App& parent);
Command addSim(CLI::App& parent);
Command addSweep(CLI::App& parent);

}  // namespace tokamak::tool
