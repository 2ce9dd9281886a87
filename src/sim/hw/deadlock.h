#pragma once

#include "sim/hw/machine.h"

namespace tokamak::sim {

/// A node's neighbours, by port.
struct Links {
  std::vector<size_t> producers, consumers;
};
std::vector<Links> linksOf(stream::Network<Hw>& network);

/// T0981: who waits for whom, and which stream is full. Requires that no node can move.
Diagnostic explainDeadlock(stream::Network<Hw>& network, const std::vector<Links>& links);

}  // namespace tokamak::sim
