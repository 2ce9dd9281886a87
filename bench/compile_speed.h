#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "driver/engine.h"

namespace tokamak::bench {

/// Compile times, cache loads, cost of a call and of symbolic dimensions; appended to `report["compile"]`.
void compileSpeed(const Engine& engine, const std::string& filter, nlohmann::json& report);

}  // namespace tokamak::bench
