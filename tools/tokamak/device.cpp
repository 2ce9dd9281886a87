#include "device.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/cuda/device.h"

namespace tokamak::tool {

Result<DeviceChoice> parseDevice(const std::string& text) {
  using Kind = DeviceChoice::Kind;
  if (text == "interp") return DeviceChoice{Kind::interp, 0};
  if (text == "cpu") return DeviceChoice{Kind::cpu, 0};
  if (text == "cuda") return DeviceChoice{Kind::cuda, 0};
  const std::string number = text.starts_with("cuda:") ? text.substr(5) : "";
  const bool digits = std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!number.empty() && digits && number.size() < 4) return DeviceChoice{Kind::cuda, std::stoi(number)};
  return Diagnostic{"T0801",
                    {},
                    fmt::format("there is no device '{}'", text),
                    "devices are cpu, cuda, cuda:1, ...; run has interp too"};
}

Result<DeviceChoice> parseMachine(const std::string& text, std::string_view command) {
  TK_TRY(const DeviceChoice device, parseDevice(text));
  if (device.kind == DeviceChoice::Kind::interp)
    return Diagnostic{"T0801",
                      {},
                      fmt::format("{} is about compiled kernels; interp is the reference evaluator", command),
                      "use --device cpu or cuda, or tokamak run --device interp"};
  return device;
}

Result<> checkDriver(const DeviceChoice& device) {
  if (device.kind == DeviceChoice::Kind::cuda) TK_RETURN_IF_ERROR(runtime::cuda::Driver::open({}));
  return Unit{};
}

}  // namespace tokamak::tool
