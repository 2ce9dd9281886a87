#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "driver/compile.h"

namespace tokamak {
namespace {

namespace fs = std::filesystem;

std::string readFile(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// A machine that is the same wherever the test runs: wide registers, two threads, no library.
Engine goldenEngine() {
  Engine engine({.threads = 2, .diskCache = false});
  engine.target.vectorBytes = 64;
  engine.target.cpu = "sapphirerapids";
  return engine;
}

constexpr std::string_view kGpu = "gpu_";

/// Every kernel of an example, under the ledger's line for it; for a GPU where the name says so: `gpu_softmax`.
std::string kernelsOf(const std::string& name) {
  const bool gpu = name.starts_with(kGpu);
  const fs::path program = fs::path(TOKAMAK_SOURCE_DIR) / "examples" / (name.substr(gpu ? kGpu.size() : 0) + ".tk");
  auto graph = parseGraph(readFile(program), program.filename().string());
  if (!graph) return graph.error().str();
  CompileOptions options{.library = false};
  if (gpu) options.gpu.emplace();
  auto lowered = lower(*graph, goldenEngine(), options);
  if (!lowered) return lowered.error().str();
  std::string out;
  for (size_t i = 0; i < lowered->kernels.size(); ++i) {
    out += "// " + lowered->plan.ledger.regions[i].schedule + "\n";
    for (const auto& launch : lowered->kernels[i]->launches) out += kernel::print(launch.kernel) + "\n";
  }
  return out;
}

/// The kernels of each stand in tests/golden/NAME.kernels; `make golden` writes them anew.
class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, KernelsAreTheSame) {
  const fs::path root = TOKAMAK_SOURCE_DIR, file = root / "tests/golden" / (GetParam() + ".kernels");
  const std::string now = kernelsOf(GetParam());
  if (std::getenv("TOKAMAK_UPDATE_GOLDEN")) {
    std::ofstream(file) << now;
    return;
  }
  ASSERT_TRUE(fs::exists(file)) << file << " is missing: run make golden";
  EXPECT_EQ(readFile(file), now) << "run make golden and look at the difference";
}

/// What is printed can be read back and is a valid kernel.
TEST_P(Golden, KernelsParseBack) {
  std::istringstream text(kernelsOf(GetParam()));
  std::string line, one;
  int kernels = 0;
  while (std::getline(text, line)) {
    if (line.empty() || line.starts_with("//")) continue;
    one += line + "\n";
    if (line != "}") continue;
    auto parsed = kernel::parseKernel(one);
    ASSERT_TRUE(parsed) << parsed.error().str() << "\n" << one;
    EXPECT_EQ(kernel::print(*parsed), one);
    one.clear();
    ++kernels;
  }
  EXPECT_GT(kernels, 0);
}

INSTANTIATE_TEST_SUITE_P(Examples, Golden,
                         testing::Values("transformer_block", "layer_norm", "softmax", "mlp", "resnet_block",
                                         "attention", "gpu_layer_norm", "gpu_softmax", "gpu_transformer_block"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tokamak
