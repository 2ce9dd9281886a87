#pragma once

#include <vector>

#include "sim/hw/dram.h"

namespace tokamak::sim {

/// Banked memory on the chip, as an accumulator's workspace: an entry is read and written, which keeps its bank busy
/// for some cycles; the next entry in that bank waits. Entries that do not fit live in DRAM, if the machine spills.
class Scratchpad {
 public:
  Scratchpad(const HwConfig& config, int64_t bytes, uint64_t address, Dram* dram)
      : banks_(static_cast<size_t>(config.scratchpad.banks), 0),
        busy_(static_cast<Stamp>(config.scratchpad.bankBusy)),
        entryBytes_(static_cast<uint64_t>(config.size.coordinate + config.size.value)),
        capacity_(static_cast<uint64_t>(bytes) / entryBytes_),
        spills_(config.scratchpad.overflow == Overflow::spill),
        address_(address),
        dram_(dram) {}

  /// Moves `t` on to where the access is done; false where the workspace does not fit and may not spill.
  bool touch(uint64_t at, size_t entries, Stamp& t) {
    if (entries > capacity_) return spills_ && spill(at, t);
    Stamp& bank = banks_[at % banks_.size()];
    if (bank > t) {
      conflicts_ += bank - t;
      t = bank;
    }
    bank = t + busy_;
    return true;
  }

  uint64_t conflictCycles() const { return conflicts_; }
  uint64_t spilled() const { return spilled_; }
  uint64_t capacity() const { return capacity_; }

 private:
  bool spill(uint64_t at, Stamp& t) {
    const uint64_t address = address_ + at * entryBytes_;
    const Stamp read = dram_->access(address, t, false);
    dram_->access(address, t, true);
    t = read;
    ++spilled_;
    return true;
  }

  std::vector<Stamp> banks_;  // free again
  Stamp busy_;
  uint64_t entryBytes_, capacity_;
  bool spills_;
  uint64_t address_;
  Dram* dram_;
  uint64_t conflicts_ = 0, spilled_ = 0;
};

}  // namespace tokamak::sim
