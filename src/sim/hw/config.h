#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "support/enum_names.h"
#include "support/result.h"

namespace tokamak::sim {

/// What becomes of a workspace that outgrows its scratchpad: its further entries live in DRAM, or the run is refused.
enum class Overflow : uint8_t { spill, refuse };

/// The machine that the `hw` profile simulates. A configuration file is a JSON object with these names; what it leaves
/// out is as in the preset that `"preset"` names, or as here. docs/simulator.md explains every field.
struct HwConfig {
  std::string name = "small-cgra";
  int64_t fifoDepth = 16;                     // tokens; 0 for no bound
  std::map<std::string, int64_t> fifoDepths;  // by stream name, instead of fifoDepth
  int64_t computeUnits = 16;                  // nodes that may compute in one cycle; 0 for no bound

  /// Cycles from an operation's step to its result; a division starts every `divideInterval` cycles, all else every
  /// one.
  struct Latencies {
    int64_t add = 1, multiply = 2, divide = 8, divideInterval = 4, function = 6;
  } latency;

  /// Accumulators take one scratchpad each; the rest holds tensors that fit as a whole.
  struct Scratchpads {
    int64_t count = 16, bytes = 32768, banks = 8, bankBusy = 2;
    Overflow overflow = Overflow::spill;
  } scratchpad;

  struct Dram {
    int64_t channels = 2, banks = 8, rowBytes = 2048, burstBytes = 64;
    int64_t burstCycles = 4;   // that a burst occupies its channel
    int64_t hitCycles = 14;    // from an open row
    int64_t missCycles = 42;   // close the row, open another
    int64_t fixedCycles = 20;  // on the way there and back
  } dram;

  /// Of each node that goes to memory.
  struct Ports {
    int64_t outstanding = 16;  // requests in flight
    int64_t lines = 4;         // bursts kept, the least recently used goes first
    int64_t lookahead = 8;     // references of a scan whose segments are fetched early
  } port;

  struct Sizes {
    int64_t position = 4, coordinate = 4, value = 4;  // bytes
  } size;

  bool operator==(const HwConfig& other) const;
};

/// `small-cgra`, or `rda`: a reconfigurable dataflow accelerator with some hundred units and eight channels of HBM.
Result<HwConfig> hwPreset(std::string_view name);
/// T0980 names the field: unknown, of the wrong type or out of range.
Result<HwConfig> parseHwConfig(std::string_view json, std::string_view file);
/// All fields, in the form that `parseHwConfig` reads.
std::string printHwConfig(const HwConfig& config);

}  // namespace tokamak::sim

template <>
struct tokamak::EnumNames<tokamak::sim::Overflow> {
  static constexpr std::array<std::string_view, 2> names = {"spill", "refuse"};
};
