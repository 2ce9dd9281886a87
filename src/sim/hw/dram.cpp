#include "sim/hw/dram.h"

#include <algorithm>

namespace tokamak::sim {

Dram::Dram(const HwConfig::Dram& config)
    : config_(config),
      banks_(static_cast<size_t>(config.channels * config.banks)),
      wires_(static_cast<size_t>(config.channels), 0) {}

Stamp Dram::access(uint64_t address, Stamp now, bool write) {
  const auto burst = static_cast<int64_t>(address) / config_.burstBytes;
  const int64_t channel = burst % config_.channels;
  const int64_t inChannel =
      burst / config_.channels;  // consecutive bursts of a channel fill a row, then the next bank's
  const int64_t row = inChannel / std::max<int64_t>(config_.rowBytes / config_.burstBytes, 1);
  Bank& bank = banks_[static_cast<size_t>(channel * config_.banks + row % config_.banks)];
  const Stamp start = std::max<Stamp>(now + static_cast<Stamp>(config_.fixedCycles) / 2, bank.free);
  const bool hit = bank.row == row;
  const Stamp ready = start + static_cast<Stamp>(hit ? config_.hitCycles : config_.missCycles);
  Stamp& wires = wires_[static_cast<size_t>(channel)];
  const Stamp from = std::max(ready, wires);
  wires = from + static_cast<Stamp>(config_.burstCycles);
  bank.row = row;
  bank.free = hit ? start + static_cast<Stamp>(config_.burstCycles) : ready;
  ++counts_.bursts;
  counts_.written += write ? 1 : 0;
  ++(hit ? counts_.hits : counts_.misses);
  counts_.busyCycles += static_cast<uint64_t>(config_.burstCycles);
  return wires + (static_cast<Stamp>(config_.fixedCycles) + 1) / 2;
}

}  // namespace tokamak::sim
