#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "e2e/sweep.h"
#include "gpu/device.h"

/// The op sweep of tests/e2e and the tests of this folder on a real GPU. Without one it says so and succeeds, unless
/// TOKAMAK_GPU_REQUIRED is set.
namespace tokamak::gpu {

const Engine& engine() {
  static const Engine instance({.diskCache = false});
  return instance;
}

Result<std::vector<Array>> run(const Graph& graph, const std::vector<Array>& inputs, const CompileOptions& options) {
  TK_TRY(const CompiledCuda compiled, compileCuda(graph, engine(), 0, options));
  return runOnDevice(compiled, inputs);
}

bool isYetToCome(const Diagnostic& error) { return error.code == "T0510"; }

}  // namespace tokamak::gpu

int main(int argc, char** argv) {
  using namespace tokamak;
  testing::InitGoogleTest(&argc, argv);
  const auto device = gpu::engine().cuda->device(0);
  if (!device) {
    std::fprintf(stderr, "%s\nno GPU: nothing is tested\n", device.error().str().c_str());
    return std::getenv("TOKAMAK_GPU_REQUIRED") ? 1 : 0;
  }
  const auto& info = device->device->info();
  fmt::print("cuda:0 is {} ({}), {} multiprocessors, {:.1f} GB, driver {}\n", info.name, device->device->arch(),
             info.multiprocessors, static_cast<double>(info.totalBytes) / 1e9, device->device->driver().version);
  std::fflush(stdout);
  sweep::runners() = {{"CUDA", gpu::run, false, gpu::isYetToCome}};
  return RUN_ALL_TESTS();
}
