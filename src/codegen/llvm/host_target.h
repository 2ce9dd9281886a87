#pragma once

#include <string>

namespace tokamak::codegen {

/// The processor that kernels are compiled for.
///
///   HostTarget target = HostTarget::detect();
///   int lanes = target.vectorBytes / 4;  // of f32: 16 with AVX-512
struct HostTarget {
  std::string cpu;       // LLVM's name: `sapphirerapids`
  std::string features;  // LLVM's list, sorted: `+avx,+avx2,-avx512f`
  int vectorBytes = 16;  // widest register: 64 with AVX-512 (F, BW, DQ, VL), 32 with AVX2, else 16

  /// Names the target in cache keys: equal keys, equal object code.
  std::string key() const { return cpu + "/" + std::to_string(vectorBytes) + "/" + features; }
  bool hasFeature(const std::string& name) const {  // `avx512bw`
    return ("," + features + ",").find(",+" + name + ",") != std::string::npos;
  }

  /// The machine this process runs on.
  static HostTarget detect();
  /// This machine with its registers narrowed to `bytes` (16, 32 or 64), so that a wide machine can test narrow code.
  static HostTarget detectUpTo(int bytes);

  bool operator==(const HostTarget&) const = default;
};

}  // namespace tokamak::codegen
