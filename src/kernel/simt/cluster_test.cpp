#include <fmt/format.h>
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

/// Every thread of every block sends what it has to the first block of its cluster, which adds them up. `send` stands
/// in every thread, `before` the barrier and `after` it.
std::string inbox(std::string_view send, std::string_view before, std::string_view after) {
  return R"(kernel @k(in x: f32[32*N], out y: f32[32*N]; N) cluster 4 {
    inbox came: f32[128]
    for b in 0..N block.x {
      for t in 0..32 thread.x {
        let rank: i64 = fmod(b, 4)
        )" +
         std::string(send) + "\n" + std::string(before) + "\nbarrier inbox\n" + std::string(after) + "\n}\n}\n}";
}
constexpr const char* kSend = "store came[rank*32 + t] = load x[b*32 + t]";
constexpr const char* kAdd = R"(if rank == 0 {
  store y[b*8 + t] = load came[t] + load came[t + 32] + (load came[t + 64] + load came[t + 96])
})";

TEST(SimtInbox, TheFirstBlockReadsWhatAllSent) {
  std::vector<Array> b = {counting(256), Array(DType::f32, {256})};
  const auto status = run(inbox(kSend, "", kAdd), b);
  ASSERT_TRUE(status.ok()) << status.error().str();
  for (int64_t i = 0; i < 64; ++i) {
    const auto first = static_cast<double>(i / 32 * 128 + i % 32);
    EXPECT_EQ(b[1].getDouble(i), 4 * first + 32 + 64 + 96) << i;
  }
}

TEST(SimtInbox, WhatNeverComesIsReported) {
  expectFails(inbox("if t < 31 {\nstore came[rank*32 + t] = 1.0\n}", "", kAdd), "T0402", "waits for came[31]");
}

TEST(SimtInbox, ElementsAreStoredOnce) {
  expectFails(inbox("store came[rank*32 + t] = 1.0\nif t == 0 {\nstore came[rank*32] = 2.0\n}", "", kAdd), "T0403",
              "writes came[0]");
  expectFails(inbox(kSend, "", "if and(rank == 1, t == 0) {\nstore came[0] = 2.0\n}"), "T0403", "writes came[0]");
}

TEST(SimtInbox, NobodyReadsEarlyAndNoOtherBlockLater) {
  expectFails(inbox(kSend, "let early: f32 = load came[0]", ""), "T0403", "reads came[0]");
  expectFails(inbox(kSend, "", "let mine: f32 = load came[0]"), "T0402", "reads came[0]");
}

TEST(SimtInbox, IsForgottenBetweenClusters) {
  expectFails(inbox("if b < 4 {\nstore came[rank*32 + t] = 1.0\n}", "", kAdd), "T0402", "waits for came[0]");
}

TEST(SimtInbox, ItsBarrierIsMetOnce) {
  const auto code = [](std::string_view body) {
    const auto kernel = parseKernel(inbox(kSend, body, kAdd));
    return kernel ? verify(*kernel).ok() ? "" : verify(*kernel).error().code : kernel.error().code;
  };
  EXPECT_EQ(code(""), "");
  EXPECT_EQ(code("barrier inbox"), "T0423");
  EXPECT_EQ(code("if rank == 0 {\nbarrier inbox\n}"), "T0423");
  for (const char* body : {"inbox alone: f32[4]", "for b in 0..4 block.x {\nbarrier inbox\n}"}) {
    const auto half = parseKernel(fmt::format("kernel @k(in x: f32[4]) cluster 2 {{\n{}\n}}", body));
    ASSERT_TRUE(half) << half.error().str();
    EXPECT_EQ(verify(*half).error().code, "T0423") << body;
  }
  const auto small = parseKernel("kernel @k(in x: f32[N], out y: f32[N]; N) cluster 2 {\ninbox few: bf16[4]\n}");
  ASSERT_TRUE(small);
  EXPECT_EQ(verify(*small).error().code, "T0424");
}

TEST(SimtCluster, TheGridIsWholeClusters) {
  expectFails(sums("barrier cluster"), "T0405", "6 blocks in clusters of 4", 6);
}

}  // namespace
}  // namespace tokamak::kernel
