#pragma once

#include <optional>
#include <string>

#include "support/result.h"

namespace tokamak::tool {

/// Where a graph runs, as asked for by --device.
struct DeviceChoice {
  enum class Kind { interp, cpu, cuda } kind = Kind::cpu;
  int ordinal = 0;  // of cuda
};

/// `interp`, `cpu`, `cuda`, `cuda:1`; T0801 for anything else.
Result<DeviceChoice> parseDevice(const std::string& text);

}  // namespace tokamak::tool
