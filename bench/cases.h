#pragma once

#include <string>
#include <vector>

namespace tokamak::bench {

/// One graph to time against a limit of the machine.
struct Case {
  std::string name;
  std::string text;   // of the graph
  double bytes = 0;   // compulsory traffic; the limit moves as many
  bool read = false;  // the limit is a read rather than a copy
  double target = 0;  // fraction of the limit; 0: none
  double flops = 0;   // of a product: the limit is then not bytes
  double targetGflops = 0;
  bool constantWeights = false;  // inputs after the first are constants, packed once
};

std::vector<Case> allCases();

}  // namespace tokamak::bench
