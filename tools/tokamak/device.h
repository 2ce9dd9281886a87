#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "support/result.h"

namespace tokamak::tool {

/// Where a graph runs, as asked for by --device.
struct DeviceChoice {
  enum class Kind { interp, cpu, cuda } kind = Kind::cpu;
  int ordinal = 0;  // of cuda
};

/// `interp`, `cpu`, `cuda`, `cuda:1`; T0801 for anything else.
Result<DeviceChoice> parseDevice(const std::string& text);

/// The same for a command that wants a machine: `interp` is refused.
Result<DeviceChoice> parseMachine(const std::string& text, std::string_view command);

/// Whether there is a driver for it, asked before arrays are made that a GPU is to have.
Result<> checkDriver(const DeviceChoice& device);

}  // namespace tokamak::tool
