#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace tokamak::bench {

/// Tokens a second of the simulator under each profile, on one thread: products, sampled products, softmax over a
/// pattern and a layer of a graph network, of 1,024 to 2,048 rows. Adds to `report["sim"]`.
void simulatorSpeed(const std::string& filter, nlohmann::json& report);

}  // namespace tokamak::bench
