#include <gtest/gtest.h>

#include "kernel/simt/run.h"

/// Blocks that run at the same time and share memory.
namespace tokamak::kernel {
namespace {

Array counting(int64_t n) {
  Array array(DType::f32, {n});
  for (int64_t i = 0; i < n; ++i) array.setDouble(i, static_cast<double>(i));
  return array;
}

Result<> run(std::string_view text, std::vector<Array>& buffers, int64_t blocks = 8) {
  TK_TRY(const Kernel kernel, parseKernel(text));
  return runSimt(kernel, buffers, {{"N", blocks}});
}

void expectFails(std::string_view text, std::string_view code, std::string_view says, int64_t blocks = 8) {
  std::vector<Array> buffers = {counting(32 * blocks), Array(DType::f32, {32 * blocks})};
  const auto status = run(text, buffers, blocks);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, code);
  EXPECT_NE(status.error().message.find(says), std::string::npos) << status.error().message;
}

/// Every block leaves its sum where all blocks of its cluster read it. `between` stands before they do.
std::string sums(std::string_view between) {
  return R"(kernel @k(in x: f32[32*N], out y: f32[32*N]; N) cluster 4 {
    cluster found: f32[4]
    shared own: f32[1]
    for b in 0..N block.x {
      for t in 0..32 thread.x {
        let sum: f32 = warpfold(add, load x[b*32 + t], 32)
        if t == 0 {
          store own[0] = sum
          store found[fmod(b, 4)] = sum
        }
        )" +
         std::string(between) + R"(
        let all: f32x4 = load found[0]
        store y[b*32 + t] = fold(add, all) - load own[0]
      }
    }
  })";
}

TEST(SimtCluster, BlocksReadWhatTheOthersFound) {
  std::vector<Array> b = {counting(256), Array(DType::f32, {256})};
  const auto status = run(sums("barrier cluster"), b);
  ASSERT_TRUE(status.ok()) << status.error().str();
  const auto sumOf = [](int64_t block) { return 32.0 * 32.0 * static_cast<double>(block) + 31.0 * 16.0; };
  for (int64_t i = 0; i < 256; ++i) {
    const int64_t first = i / 128 * 4;
    const double all = sumOf(first) + sumOf(first + 1) + sumOf(first + 2) + sumOf(first + 3);
    EXPECT_EQ(b[1].getDouble(i), all - sumOf(i / 32)) << i;
  }
}

TEST(SimtCluster, ABarrierOfTheBlockOrdersNoClusterMemory) {
  // The first block finds nothing of the others yet; it is the one that is told.
  expectFails(sums("barrier"), "T0402", "reads found[1], which nobody has written");
  expectFails(R"(kernel @k(in x: f32[32*N], out y: f32[32*N]; N) cluster 2 {
    cluster found: f32[2]
    for b in 0..N block.x {
      for t in 0..32 thread.x {
        if t == 0 {
          store found[fmod(b, 2)] = load x[b]
        }
        barrier cluster
        let seen: f32 = load found[1 - fmod(b, 2)]
        barrier
        if t == 0 {
          store found[fmod(b, 2)] = seen
        }
      }
    }
  })",
              "T0403", "found[");
}

TEST(SimtCluster, GlobalMemoryIsNotOrderedBetweenBlocks) {
  expectFails(R"(kernel @k(in x: f32[32*N], out y: f32[32*N]; N) cluster 2 {
    for b in 0..N block.x {
      for t in 0..32 thread.x {
        if fmod(b, 2) == 0 {
          store y[b*32 + t] = 1.0
        }
        barrier cluster
        if fmod(b, 2) == 1 {
          store y[b*32 - 32 + t] = 2.0
        }
      }
    }
  })",
              "T0403", "a thread of another block");
}

TEST(SimtCluster, EveryBlockMeets) {
  expectFails(R"(kernel @k(in x: f32[32*N], out y: f32[32*N]; N) cluster 2 {
    for b in 0..N block.x {
      for t in 0..32 thread.x {
        if fmod(b, 2) == 0 {
          barrier cluster
        }
      }
    }
  })",
              "T0404", "has ended");
}

TEST(SimtCluster, TheGridIsWholeClusters) {
  expectFails(sums("barrier cluster"), "T0405", "6 blocks in clusters of 4", 6);
}

}  // namespace
}  // namespace tokamak::kernel
