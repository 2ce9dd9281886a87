#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "kernel/kernel.h"

/// The kernels of docs/ir.md parse, verify and print as they stand there.
namespace tokamak::kernel {
namespace {

TEST(IrPage, KernelsPrintAsTheyStand) {
  std::ifstream in(TOKAMAK_SOURCE_DIR "/docs/ir.md");
  std::stringstream page;
  page << in.rdbuf();
  const std::string text = page.str(), open = "```kernel\n";
  size_t kernels = 0;
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at), ++kernels) {
    const size_t begin = at + open.size(), end = text.find("```", begin);
    const std::string written = text.substr(begin, end - begin);
    const auto kernel = parseKernel(written, "ir.md");
    ASSERT_TRUE(kernel.ok()) << kernel.error().str();
    EXPECT_TRUE(verify(*kernel).ok());
    EXPECT_EQ(print(*kernel), written);
    at = end;
  }
  EXPECT_GE(kernels, 1u);
}

}  // namespace
}  // namespace tokamak::kernel
