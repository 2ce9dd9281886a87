#include "codegen/llvm/host_target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/TargetParser/Host.h>

#include <map>

namespace tokamak::codegen {

namespace {

using Features = std::map<std::string, bool>;

Features hostFeatures() {
#if LLVM_VERSION_MAJOR >= 19
  const auto detected = llvm::sys::getHostCPUFeatures();
#else
  llvm::StringMap<bool> detected;
  llvm::sys::getHostCPUFeatures(detected);
#endif
  Features features;
  for (const auto& entry : detected) features[entry.getKey().str()] = entry.getValue();
  return features;
}

bool has(const Features& features, const std::string& name) {
  auto found = features.find(name);
  return found != features.end() && found->second;
}

int widestVector(const Features& features) {
  const bool hasAvx512 =
      has(features, "avx512f") && has(features, "avx512bw") && has(features, "avx512dq") && has(features, "avx512vl");
  if (hasAvx512) return 64;
  return has(features, "avx2") ? 32 : 16;
}

/// Turns off what needs registers wider than `bytes`. LLVM turns off what depends on these.
void narrow(Features& features, int bytes) {
  auto startsWith = [](const std::string& name, const char* prefix) { return name.rfind(prefix, 0) == 0; };
  for (auto& [name, enabled] : features) {
    if (bytes < 64 && (startsWith(name, "avx512") || startsWith(name, "avx10") || startsWith(name, "amx")))
      enabled = false;
    const bool needsAvx = startsWith(name, "avx") || name == "fma" || name == "f16c" || name == "fma4" ||
                          name == "xop" || name == "vaes" || name == "vpclmulqdq" || name == "sha512" ||
                          name == "sm3" || name == "sm4";
    if (bytes < 32 && needsAvx) enabled = false;
  }
}

}  // namespace

HostTarget HostTarget::detect() { return detectUpTo(64); }

HostTarget HostTarget::detectUpTo(int bytes) {
  Features features = hostFeatures();
  // Halves are computed in f32, so nothing is lost without it; with it LLVM 19 takes `a < b` and `a > b` of the same
  // halves for one comparison, and argmax beside argmin goes wrong.
  if (auto halves = features.find("avx512fp16"); halves != features.end()) halves->second = false;
  narrow(features, bytes);
  HostTarget target{llvm::sys::getHostCPUName().str(), {}, widestVector(features)};
  for (const auto& [name, enabled] : features)
    target.features += (target.features.empty() ? "" : ",") + std::string(enabled ? "+" : "-") + name;
  return target;
}

}  // namespace tokamak::codegen
