#include <gtest/gtest.h>

#include "kernel/simt/run.h"

/// What only GPUs have: warp operations, aligned accesses, a reach.
namespace tokamak::kernel {
namespace {

Array counting(DType dtype, int64_t n) {
  Array array(dtype, {n});
  for (int64_t i = 0; i < n; ++i) isFloat(dtype) ? array.setDouble(i, static_cast<double>(i)) : array.setInt(i, i);
  return array;
}

Result<> run(std::string_view text, std::vector<Array>& buffers, const DimBindings& symbols = {}) {
  TK_TRY(const Kernel kernel, parseKernel(text));
  return runSimt(kernel, buffers, symbols);
}
void expectRuns(std::string_view text, std::vector<Array>& buffers) {
  const auto status = run(text, buffers);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().str());
}
void expectFails(std::string_view text, std::vector<Array> buffers, std::string_view code, std::string_view says) {
  const auto status = run(text, buffers, {{"N", 64}});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, code);
  EXPECT_NE(status.error().message.find(says), std::string::npos) << status.error().message;
}

TEST(SimtWarp, FoldsGroupsOfThreads) {
  std::vector<Array> b = {counting(DType::f32, 64), Array(DType::f32, {64}), Array(DType::i64, {64})};
  expectRuns(R"(kernel @k(in x: f32[64], out y: f32[64], out z: i64[64]) {
    for b in 0..1 block.x {
      for t in 0..64 thread.x {
        let sum: f32 = warpfold(add, load x[t], 8)
        store y[t] = sum
        var most: i64 = t
        most = warpfold(max, most, 32)
        store z[t] = most
      }
    }
  })",
             b);
  for (int64_t t = 0; t < 64; ++t) {
    EXPECT_EQ(b[1].getDouble(t), static_cast<double>(t / 8 * 64 + 28)) << t;
    EXPECT_EQ(b[2].getInt(t), t < 32 ? 31 : 63) << t;
  }
}

TEST(SimtWarp, FoldsLanesOfThreadsThatAreApart) {
  std::vector<Array> b = {counting(DType::f32, 128), Array(DType::f32, {128})};
  expectRuns(R"(kernel @k(in x: f32[128], out y: f32[128]) {
    for b in 0..1 block.x {
      for t in 0..64 thread.x {
        let sum: f32x2 = warpfold(add, load<2> x[t*2], 4, 8)
        store y[t*2] = sum
      }
    }
  })",
             b);
  for (int64_t i = 0; i < 128; ++i) EXPECT_EQ(b[1].getDouble(i), i / 64 * 256 + i % 16 * 4 + 96) << i;
}

TEST(SimtWarp, JoinsFarNeighboursFirst) {
  // 1e8 + 1 is 1e8 in f32: only an order that joins the two large numbers first keeps the ones.
  std::vector<Array> b = {Array(DType::f32, {32}), Array(DType::f32, {32})};
  for (int64_t t = 0; t < 32; ++t) b[0].setDouble(t, t == 0 ? 1e8 : t == 16 ? -1e8 : 1.0);
  expectRuns(R"(kernel @k(in x: f32[32], out y: f32[32]) {
    for b in 0..1 block.x {
      for t in 0..32 thread.x {
        let sum: f32 = warpfold(add, load x[t], 32)
        store y[t] = sum
      }
    }
  })",
             b);
  for (int64_t t = 0; t < 32; ++t) EXPECT_EQ(b[1].getDouble(t), 30.0);
}

TEST(SimtWarp, PrefixesRunOverTheThreadsOfAGroup) {
  std::vector<Array> b = {counting(DType::i64, 32), Array(DType::i64, {32})};
  expectRuns(R"(kernel @k(in x: i64[32], out y: i64[32]) {
    for b in 0..1 block.x {
      for t in 0..32 thread.x {
        let sum: i64 = warpprefix(add, load x[t], 8)
        store y[t] = sum
      }
    }
  })",
             b);
  for (int64_t t = 0, sum = 0; t < 32; ++t) {
    sum = t % 8 == 0 ? t : sum + t;
    EXPECT_EQ(b[1].getInt(t), sum) << t;
  }
}

TEST(SimtWarp, ShiftsByOneThread) {
  std::vector<Array> b = {Array(DType::i64, {32})};
  expectRuns(R"(kernel @k(out y: i64[32]) {
    for b in 0..1 block.x {
      for t in 0..32 thread.x {
        let before: i64 = warpshift(t, t - 100, 16)
        store y[t] = before
      }
    }
  })",
             b);
  for (int64_t t = 0; t < 32; ++t) EXPECT_EQ(b[0].getInt(t), t % 16 == 0 ? t - 100 : t - 1) << t;
}

TEST(SimtWarp, WarpsGoTheirOwnWaysBetweenBarriers) {
  std::vector<Array> b = {Array(DType::i64, {96})};
  expectRuns(R"(kernel @k(out y: i64[96]) {
    shared s: i64[3]
    for b in 0..1 block.x {
      for t in 0..96 thread.x {
        var sum: i64 = 0
        for k in 0..1 + t/32 {
          sum = warpfold(add, sum + 1, 32)
        }
        if fmod(t, 32) == 0 {
          store s[t/32] = sum
        }
        barrier
        store y[t] = load s[t/32]
      }
    }
  })",
             b);
  EXPECT_EQ(b[0].getInt(0), 32);
  EXPECT_EQ(b[0].getInt(40), 32 * 33);
  EXPECT_EQ(b[0].getInt(95), 32 * (1 + 32 * 33));
}

TEST(SimtWarp, OrdersNoMemoryAccesses) {
  expectFails(R"(kernel @k(out y: i64[32]) {
    shared s: i64[32]
    for b in 0..1 block.x {
      for t in 0..32 thread.x {
        store s[t] = t
        let sum: i64 = warpfold(add, t, 32)
        store y[t] = load s[31 - t] + sum
      }
    }
  })",
              {Array(DType::i64, {32})}, "T0403", "reads s[31], which thread 31 of the block wrote");
}

TEST(SimtWarp, ReportsThreadsThatDoNotMeet) {
  expectFails(R"(kernel @k(out y: i64[32]) {
    for b in 0..1 block.x {
      for t in 0..32 thread.x {
        if t < 16 {
          let sum: i64 = warpfold(add, t, 16)
          store y[t] = sum
        }
      }
    }
  })",
              {Array(DType::i64, {32})}, "T0404",
              "thread (0, 0, 0) waits at a warp operation that thread (16, 0, 0) never reaches: it has ended");
}

TEST(SimtWarp, ChecksAlignment) {
  constexpr const char* kText = R"(kernel @k(in x: bf16[64], out y: f32[64]; N) {{
    for b in 0..1 block.x {{
      for t in 0..4 thread.x {{
        store y[t*8] aligned = cast<f32>(load<8> x[t*8 + {}] mask splat<8>(t < 3) aligned)
      }}
    }}
  }})";
  const auto text = [&](std::string_view offset) {
    std::string out = kText;
    out.replace(out.find("{}"), 2, offset);
    for (std::string_view pair : {"{{", "}}"})
      for (size_t at; (at = out.find(pair)) != std::string::npos;) out.erase(at, 1);
    return out;
  };
  std::vector<Array> b = {counting(DType::bf16, 64), Array(DType::f32, {64})};
  const auto status = run(text("8"), b, {{"N", 64}});
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().str());
  expectFails(text("4"), {counting(DType::bf16, 64), Array(DType::f32, {64})}, "T0406",
              "reads 8 lanes from x[4] on, which is not aligned");
}

TEST(SimtWarp, ChecksTheReach) {
  constexpr const char* kText = R"(kernel @k(in x: i64[N], out y: i64[N]; N) reach [2*N] {
    for b in 0..N block.x {
      let far: i64 = load x[b]
      store y[b] = (b*3 - b*2)*100000 + far
    }
  })";
  expectFails(kText, {counting(DType::i64, 64), Array(DType::i64, {64})}, "T0407",
              "an index of 100000, beyond the kernel's reach of 128");
  std::vector<Array> b = {counting(DType::i64, 64), Array(DType::i64, {64})};
  for (int64_t i = 0; i < 64; ++i) b[0].setInt(i, 1 << 20);
  const auto status = run(R"(kernel @k(in x: i64[N], out y: i64[N]; N) reach [2*N] {
    for b in 0..N block.x {
      let far: i64 = load x[b]
      store y[b] = (b + b)*far + 9223372036854775807
    }
  })",
                          b, {{"N", 64}});
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().str());
}

}  // namespace
}  // namespace tokamak::kernel
