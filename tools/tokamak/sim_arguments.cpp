#include "sim_arguments.h"

#include <fmt/format.h>

#include <filesystem>

#include "console.h"

namespace tokamak::tool {

void SimArguments::addTo(CLI::App& app) {
  app.add_option("--profile", profile, "Timing: comal (no memory model), comal-hbm, or hw (a machine)")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--config", config, "Machine of hw: small-cgra, rda, or a JSON file")->type_name("NAME|FILE");
}

Result<sim::HwConfig> chooseMachine(const SimArguments& arguments) {
  const std::string& config = arguments.config;
  const bool isFile = std::filesystem::exists(config) || config.find_first_of("./") != std::string::npos;
  if (!isFile) return sim::hwPreset(config.empty() ? "small-cgra" : config);
  TK_TRY(const std::string text, readFile(config));
  return sim::parseHwConfig(text, config);
}

Result<sim::Options> simOptionsOf(const SimArguments& arguments) {
  const auto profile = fromName<sim::Profile>(arguments.profile);
  if (!profile)
    return Diagnostic{
        "T0801", {}, fmt::format("there is no profile {}", arguments.profile), "use comal, comal-hbm or hw"};
  if (!arguments.config.empty() && *profile != sim::Profile::hw)
    return Diagnostic{"T0801", {}, "--config is of the hw profile", "add --profile hw"};
  sim::Options out;
  out.profile = *profile;
  if (*profile == sim::Profile::hw) { TK_TRY(out.machine, chooseMachine(arguments)); }
  return out;
}

}  // namespace tokamak::tool
