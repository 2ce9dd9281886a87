#pragma once

#include <gtest/gtest.h>

#include "codegen/cuda/emit.h"
#include "codegen/cuda/nvrtc.h"
#include "support/nvidia_folders.h"

/// For tests of this folder and of those above it.
namespace tokamak::codegen::cuda::testing {

/// NVRTC of the tests' Python environment or of the system; null, with the reason, where there is none.
inline std::shared_ptr<const Nvrtc> openNvrtc(std::string& reason) {
  auto nvrtc = Nvrtc::open({.folders = nvidiaFolders({TOKAMAK_SOURCE_DIR "/.venv"}, {})});
  if (nvrtc) return *nvrtc;
  reason = nvrtc.error().str();
  return nullptr;
}

/// Compiles, unless told otherwise for the oldest and the newest architecture that matter.
inline void expectCompiles(const Nvrtc& nvrtc, const kernel::Kernel& kernel, const Assumptions& assumptions = {},
                           const std::vector<std::string>& architectures = {"sm_80", "sm_90a"}) {
  auto source = emitCuda(kernel, assumptions);
  ASSERT_TRUE(source) << source.error().str() << kernel::print(kernel);
  for (const std::string& arch : architectures) {
    if (kernel.clusterBlocks > 1 && arch < "sm_90") continue;  // has no clusters
    auto cubin = nvrtc.compile(source->text, arch, kernel.name);
    ASSERT_TRUE(cubin) << cubin.error().str() << "\n" << source->text << kernel::print(kernel);
    EXPECT_GT(cubin->size(), 1000u);
  }
}

}  // namespace tokamak::codegen::cuda::testing

#define TK_NEEDS_NVRTC(nvrtc)                                             \
  std::string noNvrtc;                                                    \
  const auto nvrtc = tokamak::codegen::cuda::testing::openNvrtc(noNvrtc); \
  if (!nvrtc) GTEST_SKIP() << "NVRTC is absent, nothing is compiled: " << noNvrtc
