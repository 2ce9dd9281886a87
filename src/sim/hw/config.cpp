#include "sim/hw/config.h"

#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>

namespace tokamak::sim {

namespace {

using nlohmann::json;

/// One number of the configuration: its section and name in the file, its place, the range it may have.
struct Field {
  std::string_view section, name;
  std::function<int64_t&(HwConfig&)> at;
  int64_t least = 1, most = INT64_C(1) << 40;
};

const std::vector<Field>& fields() {
  static const std::vector<Field> all = {
      {"", "fifo_depth", [](HwConfig& c) -> int64_t& { return c.fifoDepth; }, 0},
      {"", "compute_units", [](HwConfig& c) -> int64_t& { return c.computeUnits; }, 0},
      {"latency", "add", [](HwConfig& c) -> int64_t& { return c.latency.add; }},
      {"latency", "multiply", [](HwConfig& c) -> int64_t& { return c.latency.multiply; }},
      {"latency", "divide", [](HwConfig& c) -> int64_t& { return c.latency.divide; }},
      {"latency", "divide_interval", [](HwConfig& c) -> int64_t& { return c.latency.divideInterval; }},
      {"latency", "function", [](HwConfig& c) -> int64_t& { return c.latency.function; }},
      {"scratchpad", "count", [](HwConfig& c) -> int64_t& { return c.scratchpad.count; }, 0},
      {"scratchpad", "bytes", [](HwConfig& c) -> int64_t& { return c.scratchpad.bytes; }, 0},
      {"scratchpad", "banks", [](HwConfig& c) -> int64_t& { return c.scratchpad.banks; }, 1, 4096},
      {"scratchpad", "bank_busy", [](HwConfig& c) -> int64_t& { return c.scratchpad.bankBusy; }},
      {"dram", "channels", [](HwConfig& c) -> int64_t& { return c.dram.channels; }, 1, 4096},
      {"dram", "banks", [](HwConfig& c) -> int64_t& { return c.dram.banks; }, 1, 4096},
      {"dram", "row_bytes", [](HwConfig& c) -> int64_t& { return c.dram.rowBytes; }, 64},
      {"dram", "burst_bytes", [](HwConfig& c) -> int64_t& { return c.dram.burstBytes; }, 8},
      {"dram", "burst_cycles", [](HwConfig& c) -> int64_t& { return c.dram.burstCycles; }},
      {"dram", "hit_cycles", [](HwConfig& c) -> int64_t& { return c.dram.hitCycles; }},
      {"dram", "miss_cycles", [](HwConfig& c) -> int64_t& { return c.dram.missCycles; }},
      {"dram", "fixed_cycles", [](HwConfig& c) -> int64_t& { return c.dram.fixedCycles; }, 0},
      {"port", "outstanding", [](HwConfig& c) -> int64_t& { return c.port.outstanding; }},
      {"port", "lines", [](HwConfig& c) -> int64_t& { return c.port.lines; }, 1, 1 << 20},
      {"port", "lookahead", [](HwConfig& c) -> int64_t& { return c.port.lookahead; }, 1, 1 << 20},
      {"size", "position", [](HwConfig& c) -> int64_t& { return c.size.position; }, 1, 64},
      {"size", "coordinate", [](HwConfig& c) -> int64_t& { return c.size.coordinate; }, 1, 64},
      {"size", "value", [](HwConfig& c) -> int64_t& { return c.size.value; }, 1, 64},
  };
  return all;
}

class Reader {
 public:
  Reader(std::string_view file, HwConfig& config) : file_(file), config_(config) {}

  Result<> object(const json& value, const std::string& section) {
    for (const auto& [key, member] : value.items()) TK_RETURN_IF_ERROR(one(section, key, member));
    return Unit{};
  }

 private:
  Diagnostic fail(const std::string& name, std::string_view what, std::string hint) const {
    return {"T0980", {std::string(file_), 0, 0}, fmt::format("{}: {}", name, what), std::move(hint)};
  }

  Result<> one(const std::string& section, const std::string& key, const json& value) {
    const std::string name = section.empty() ? key : section + "." + key;
    for (const Field& field : fields())
      if (field.section == section && field.name == key) return number(field, name, value);
    const bool isSection =
        std::ranges::any_of(fields(), [&](const Field& f) { return section.empty() && f.section == key; });
    if (isSection && value.is_object()) return object(value, key);
    if (name == "name" && value.is_string()) {
      config_.name = value.get<std::string>();
      return Unit{};
    }
    if (name == "preset") return Unit{};
    if (name == "scratchpad.overflow") return overflow(value);
    if (name == "fifo_depths" && value.is_object()) return depths(value);
    return fail(name, "is no field of a machine",
                "docs/simulator.md lists the fields; `tokamak sim --print-config` prints one");
  }

  Result<> number(const Field& field, const std::string& name, const json& value) {
    if (!value.is_number_integer() || value.get<double>() < static_cast<double>(field.least) ||
        value.get<double>() > static_cast<double>(field.most))
      return fail(name, fmt::format("{} is out of range", value.dump()),
                  fmt::format("an integer from {} to {}", field.least, field.most));
    field.at(config_) = value.get<int64_t>();
    return Unit{};
  }
  Result<> overflow(const json& value) {
    const auto chosen = value.is_string() ? fromName<Overflow>(value.get<std::string>()) : std::nullopt;
    if (!chosen) return fail("scratchpad.overflow", value.dump() + " is no choice", "spill or refuse");
    config_.scratchpad.overflow = *chosen;
    return Unit{};
  }
  Result<> depths(const json& value) {
    for (const auto& [stream, depth] : value.items()) {
      if (!depth.is_number_integer() || depth.get<double>() < 0 || depth.get<double>() > 1e12)
        return fail("fifo_depths." + stream, depth.dump() + " is no depth", "tokens; 0 for no bound");
      config_.fifoDepths[stream.starts_with('%') ? stream.substr(1) : stream] = depth.get<int64_t>();
    }
    return Unit{};
  }

  std::string_view file_;
  HwConfig& config_;
};

HwConfig rda() {
  HwConfig config;
  config.name = "rda";
  config.fifoDepth = 64;
  config.computeUnits = 128;
  config.scratchpad = {128, 262144, 16, 2, Overflow::spill};
  config.dram = {8, 16, 1024, 64, 2, 14, 42, 20};
  config.port = {64, 8, 32};
  return config;
}

}  // namespace

bool HwConfig::operator==(const HwConfig& other) const { return printHwConfig(*this) == printHwConfig(other); }

Result<HwConfig> hwPreset(std::string_view name) {
  if (name == "small-cgra") return HwConfig{};
  if (name == "rda") return rda();
  return Diagnostic{
      "T0980", {}, fmt::format("there is no preset {}", name), "small-cgra or rda, or a file with --config"};
}

Result<HwConfig> parseHwConfig(std::string_view text, std::string_view file) {
  const json value = json::parse(text, nullptr, false, true);
  if (!value.is_object())
    return Diagnostic{
        "T0980", {std::string(file), 0, 0}, "not a JSON object", "begin with { \"preset\": \"small-cgra\" }"};
  HwConfig config;
  if (value.contains("preset")) {
    if (!value["preset"].is_string())
      return Diagnostic{"T0980", {std::string(file), 0, 0}, "preset: no name", "small-cgra or rda"};
    TK_TRY(config, hwPreset(value["preset"].get<std::string>()));
  }
  TK_RETURN_IF_ERROR(Reader(file, config).object(value, ""));
  return config;
}

std::string printHwConfig(const HwConfig& config) {
  HwConfig copy = config;
  nlohmann::ordered_json out;
  out["name"] = config.name;
  for (const Field& field : fields())
    (field.section.empty() ? out : out[std::string(field.section)])[std::string(field.name)] = field.at(copy);
  out["scratchpad"]["overflow"] = nameOf(config.scratchpad.overflow);
  if (!config.fifoDepths.empty()) out["fifo_depths"] = config.fifoDepths;
  return out.dump(2) + "\n";
}

}  // namespace tokamak::sim
