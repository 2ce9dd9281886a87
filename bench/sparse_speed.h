#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tokamak::bench {

/// How long sparse programs take to compile, how that grows with their length, and how fast streams run; appended to
/// `report["sparse"]`.
void sparseSpeed(const std::string& filter, nlohmann::json& report);

}  // namespace tokamak::bench
