#pragma once

#include <string>
#include <vector>

#include "sim/report.h"

namespace tokamak::sim {

/// One graph's run. The graphs of a program run one after another.
struct Part {
  stream::Graph graph;
  Report report;
};

/// A simulated program, or a single graph, and what its values were compared with.
struct Summary {
  std::string name, profile;
  std::string against;  // `dense program`, `functional runner`, or a file
  bool valuesAgree = true;
  double worst = 0;           // difference from `against`, relative to the largest value
  uint64_t peakMemory = 0;    // of the process, bytes
  uint64_t baseMemory = 0;    // of the process before it read anything: its code and its libraries
  uint64_t tensorMemory = 0;  // of inputs and results
  std::vector<Part> parts;

  uint64_t cycles() const;
  uint64_t tokens() const;
  uint64_t operations() const;
  uint64_t bytesRead() const;
  uint64_t bytesWritten() const;
  uint64_t bufferBytes() const;
  double seconds() const;
};

/// A table for people.
std::string reportTable(const Summary& summary);
/// One JSON object: `cycles`, `tokens`, `seconds`, `values_checked`, `peak_memory` and the rest of what is known.
std::string reportJson(const Summary& summary);

}  // namespace tokamak::sim
