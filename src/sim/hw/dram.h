#pragma once

#include <vector>

#include "sim/hw/config.h"
#include "sparse/stream/run/token.h"

namespace tokamak::sim {

using stream::Stamp;

/// Main memory: bursts are spread over the channels, then over the banks; each bank has one row open. A burst waits for
/// its bank and for the channel's wires, which carry one burst at a time: that is the bandwidth.
class Dram {
 public:
  explicit Dram(const HwConfig::Dram& config);

  /// A burst at `address`, asked for in cycle `now`; when its data are there, or written. Calls come in order of time.
  Stamp access(uint64_t address, Stamp now, bool write);

  struct Counts {
    uint64_t bursts = 0, written = 0, hits = 0, misses = 0, busyCycles = 0;
  };
  const Counts& counts() const { return counts_; }
  int64_t burstBytes() const { return config_.burstBytes; }
  int64_t channels() const { return config_.channels; }

 private:
  struct Bank {
    int64_t row = -1;
    Stamp free = 0;
  };
  HwConfig::Dram config_;
  std::vector<Bank> banks_;   // channel by channel
  std::vector<Stamp> wires_;  // free again, by channel
  Counts counts_;
};

}  // namespace tokamak::sim
