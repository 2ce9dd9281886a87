#include "kernel/simt/run.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <numeric>

#include "kernel/writer.h"
#include "support/philox.h"

namespace tokamak::kernel {
namespace {

Array floats(std::vector<double> values, DType dtype = DType::f32) {
  Array array(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) array.setDouble(static_cast<int64_t>(i), values[i]);
  return array;
}
Array integers(std::vector<int64_t> values, DType dtype = DType::i64) {
  Array array(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) array.setInt(static_cast<int64_t>(i), values[i]);
  return array;
}
Array counting(int64_t n, double scale = 1) {
  Array array(DType::f32, {n});
  for (int64_t i = 0; i < n; ++i) array.setDouble(i, static_cast<double>(i % 97) * scale);
  return array;
}
std::vector<double> values(const Array& a) {
  std::vector<double> out;
  for (int64_t i = 0; i < a.size(); ++i) out.push_back(a.getDouble(i));
  return out;
}

Kernel parsed(std::string_view text) {
  auto kernel = parseKernel(text);
  EXPECT_TRUE(kernel.ok()) << (kernel.ok() ? "" : kernel.error().str());
  return kernel ? std::move(*kernel) : Kernel{};
}

void expectRuns(std::string_view text, std::vector<Array>& buffers, const DimBindings& symbols = {}) {
  auto status = runSimt(parsed(text), buffers, symbols);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().str());
}

TEST(Simt, SumsRows) {
  std::vector<Array> b = {counting(3 * 37), Array(DType::f32, {3})};
  expectRuns(R"(kernel @row_sum(in x: f32[M*N], out y: f32[M]; M, N) {
    for i in 0..M parallel {
      var acc: f32x8 = 0.0
      for j in 0..N step 8 {
        let m: boolx8 = ramp<8>(j) < splat<8>(N)
        acc = acc + load<8> x[i*N + j] mask m
      }
      store y[i] = fold(add, acc)
    }
  })",
             b, {{"M", 3}, {"N", 37}});
  for (int64_t i = 0; i < 3; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < 37; ++j) sum += b[0].getDouble(i * 37 + j);
    EXPECT_EQ(b[1].getDouble(i), sum);
  }
}

TEST(Simt, NormalisesRowsInLocalMemory) {
  std::vector<Array> b = {counting(4 * 10, 0.1), Array(DType::f32, {40})};
  expectRuns(R"(kernel @softmax(in x: f32[10*M], out y: f32[10*M]; M) {
    local row: f32[10]
    for i in 0..M parallel {
      var most: f32 = -inf
      for j in 0..10 {
        most = max(most, load x[i*10 + j])
      }
      var sum: f32 = 0.0
      for k in 0..10 {
        let e: f32 = exp(load x[i*10 + k] - most)
        store row[k] = e
        sum = sum + e
      }
      for l in 0..10 unroll {
        store y[i*10 + l] = load row[l]/sum streaming
      }
    }
  })",
             b, {{"M", 4}});
  for (int64_t i = 0; i < 4; ++i) {
    double sum = 0, total = 0;
    for (int64_t j = 0; j < 10; ++j) sum += std::exp(b[0].getDouble(i * 10 + j));
    for (int64_t j = 0; j < 10; ++j) {
      EXPECT_NEAR(b[1].getDouble(i * 10 + j), std::exp(b[0].getDouble(i * 10 + j)) / sum, 1e-6);
      total += b[1].getDouble(i * 10 + j);
    }
    EXPECT_NEAR(total, 1, 1e-6);
  }
}

constexpr const char* kTranspose = R"(kernel @transpose(in x: f32[M*N], out y: f32[M*N]; M, N) {
  shared tile: f32[16]
  for bx in 0..N step 4 block.x {
    for by in 0..M step 4 block.y {
      for tx in 0..4 thread.x {
        for ty in 0..4 thread.y {
          if and(by + ty < M, bx + tx < N) {
            store tile[ty*4 + tx] = load x[(by + ty)*N + bx + tx]
          }
          barrier
          if and(bx + ty < N, by + tx < M) {
            store y[(bx + ty)*M + by + tx] = load tile[tx*4 + ty]
          }
        }
      }
    }
  }
})";

TEST(Simt, TransposesTilesThroughSharedMemory) {
  std::vector<Array> b = {counting(6 * 9), Array(DType::f32, {54})};
  expectRuns(kTranspose, b, {{"M", 6}, {"N", 9}});
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 9; ++j) EXPECT_EQ(b[1].getDouble(j * 6 + i), b[0].getDouble(i * 9 + j));
}

TEST(Simt, ReducesInTwoStages) {
  std::vector<Array> b = {counting(100), Array(DType::f32, {8}), Array(DType::f32, {1})};
  expectRuns(R"(kernel @two_stage(in x: f32[N], scratch part: f32[8], out y: f32[1]; N) {
    for p in 0..8 parallel {
      var sum: f32 = 0.0
      for i in floordiv(p*N, 8)..floordiv((p + 1)*N, 8) {
        sum = sum + load x[i]
      }
      store part[p] = sum
    }
    var total: f32 = 0.0
    for q in 0..8 {
      total = total + load part[q]
    }
    store y[0] = total
  })",
             b, {{"N", 100}});
  const auto all = values(b[0]);
  EXPECT_EQ(b[2].getDouble(0), std::accumulate(all.begin(), all.end(), 0.0));
}

TEST(Simt, MasksTailsGathersAndScatters) {
  std::vector<Array> b = {floats({10, 11, 12, 13, 14}), integers({4, 0, -1, 2, 3}, DType::i32), Array(DType::f32, {5})};
  expectRuns(R"(kernel @gather(in x: f32[5], in at: i32[5], out y: f32[5]) {
    for j in 0..5 step 4 {
      let lane: i64x4 = ramp(j)
      let m: boolx4 = lane < 5
      let i: i32x4 = load at[j] mask m
      let v: f32x4 = load x[i] mask and(m, i >= 0)
      store y[4 - lane] mask m = v
    }
  })",
             b);
  EXPECT_EQ(values(b[2]), (std::vector<double>{13, 12, 0, 10, 14}));
}

TEST(Simt, PromisesAboutIndicesAreKept) {
  constexpr const char* kText = R"(kernel @pick(in x: f32[5], in at: i64[6], out y: f32[6]) {
    for j in 0..6 step 4 {
      let lane: i64x4 = ramp(j)
      let m: boolx4 = lane < 6
      let i: i64x4 = within(load<4> at[j] mask m, 5, m)
      store y[j] mask m = load<4> x[i] mask m
    }
  })";
  const auto with = [&](std::vector<int64_t> at) {
    return std::vector<Array>{floats({10, 11, 12, 13, 14}), integers(std::move(at)), Array(DType::f32, {6})};
  };
  std::vector<Array> b = with({4, 0, 1, 2, 3, 4});
  expectRuns(kText, b);
  EXPECT_EQ(values(b[2]), (std::vector<double>{14, 10, 11, 12, 13, 14}));
  for (const int64_t wrong : {int64_t{5}, int64_t{-1}, int64_t{1} << 32}) {
    b = with({4, 0, 1, 2, 3, wrong});
    const auto status = runSimt(parsed(kText), b, {});
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, "T0408");
    EXPECT_NE(status.error().message.find(std::to_string(wrong) + ", where the program promises one from 0 to below 5"),
              std::string::npos)
        << status.error().message;
  }
}

TEST(Simt, LanesFoldAndRun) {
  std::vector<Array> b = {integers({3, 1, 4, 1}), Array(DType::i64, {4}), Array(DType::i64, {4}),
                          Array(DType::i64, {4})};
  expectRuns(R"(kernel @lanes(in x: i64[4], out sums: i64[4], out most: i64[4], out s: i64[4]) {
    let v: i64x4 = load x[0]
    store sums[0] = prefix(add, v)
    store most[0] = prefix(max, v)
    store s[0] = fold(mul, v)
    store s[1] = fold(min, v)
    store s[2] = extract(v, 2)
    store s[3] = cast<i64>(fold(and, v >= 1))
  })",
             b);
  EXPECT_EQ(values(b[1]), (std::vector<double>{3, 4, 8, 9}));
  EXPECT_EQ(values(b[2]), (std::vector<double>{3, 3, 4, 4}));
  EXPECT_EQ(values(b[3]), (std::vector<double>{12, 1, 4, 1}));
}

TEST(Simt, DrawsPhilox) {
  std::vector<Array> b = {Array(DType::i64, {20})};
  expectRuns(R"(kernel @random(out y: i64[20]; seed, offset) {
    for i in 0..20 step 4 parallel {
      store y[i] = philox(seed, offset, ramp<4>(i))
    }
  })",
             b, {{"seed", -12345678901234}, {"offset", int64_t{1} << 40}});
  for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(b[0].getInt(i), philoxWord(-12345678901234, int64_t{1} << 40, i));
}

TEST(Simt, ComputesInTheTypesOfItsValues) {
  std::vector<Array> b = {floats({16777216, 1}), integers({200, 100}, DType::u8), integers({100, -128}, DType::i8),
                          Array(DType::f64, {8})};
  expectRuns(R"(kernel @types(in f: f32[2], in u: u8[2], in i: i8[2], out y: f64[8]) {
    store y[0] = cast<f64>(load f[0] + load f[1])
    store y[1] = cast<f64>(load u[0] + load u[1])
    store y[2] = cast<f64>(load i[0] + load i[0])
    store y[3] = cast<f64>(abs(load i[1]))
    store y[4] = cast<f64>(floordiv(load i[1], 3))
    store y[5] = cast<f64>(cast<f16>(65519.0))
    store y[6] = cast<f64>(cast<i64>(nan))
    store y[7] = cast<f64>(exp(1.0))
  })",
             b);
  const auto y = values(b[3]);
  EXPECT_EQ(y, (std::vector<double>{16777216, 44, -56, -128, -43, 65504, 0, static_cast<float>(std::exp(1.0))}));
}

TEST(Simt, HalvesAreStoredAndLoaded) {
  std::vector<Array> b = {floats({1.5, -65504, INFINITY, NAN}, DType::f16), Array(DType::bf16, {4})};
  expectRuns(R"(kernel @halves(in x: f16[4], out y: bf16[4]) {
    let v: f16x4 = load x[0]
    store y[0] = cast<bf16>(cast<f32>(v)*2.0)
  })",
             b);
  EXPECT_EQ(b[1].getDouble(0), 3);
  EXPECT_EQ(b[1].getDouble(1), -131072);
  EXPECT_EQ(b[1].getDouble(2), INFINITY);
  EXPECT_TRUE(std::isnan(b[1].getDouble(3)));
}

TEST(Simt, RunsOnNothing) {
  std::vector<Array> b = {Array(DType::f32, {0}), Array(DType::f32, {0})};
  expectRuns(R"(kernel @copy(in x: f32[N], out y: f32[N]; N) {
    for i in 0..N parallel {
      store y[i] = load x[i]
    }
  })",
             b, {{"N", 0}});
  expectRuns(kTranspose, b, {{"M", 0}, {"N", 0}});
}

TEST(Simt, OrdersParallelLoopsAndBarriers) {
  std::vector<Array> b = {counting(8), Array(DType::f32, {8}), Array(DType::f32, {8})};
  expectRuns(R"(kernel @phases(in x: f32[8], scratch s: f32[8], out y: f32[8]) {
    for i in 0..8 parallel {
      store s[i] = load x[i]
    }
    for j in 0..8 parallel {
      store y[j] = load s[7 - j] + load s[0]
    }
    for k in 0..8 parallel {
      store s[k] = 0.0
    }
  })",
             b);
  EXPECT_EQ(values(b[2]), (std::vector<double>{7, 6, 5, 4, 3, 2, 1, 0}));
  // A tree over shared memory: reads and writes of one buffer, a barrier between every step.
  std::vector<Array> g = {counting(32), Array(DType::f32, {2})};
  expectRuns(R"(kernel @tree(in x: f32[32], out y: f32[2]) {
    shared s: f32[16]
    for b in 0..2 block.x {
      for t in 0..16 thread.x {
        store s[t] = load x[b*16 + t]
        for d in 0..4 {
          barrier
          if t < shr(8, d) {
            store s[t] = load s[t] + load s[t + shr(8, d)]
          }
        }
        if t == 0 {
          store y[b] = load s[0]
        }
      }
    }
  })",
             g);
  EXPECT_EQ(values(g[1]), (std::vector<double>{120, 376}));
}

// ---- what must be found ----

struct Wrong {
  const char* name;
  const char* code;
  const char* says;  // in the message
  const char* body;
};

/// Kernels over in x: f32[8], out y: f32[8], scratch s: f32[8].
const Wrong kWrong[] = {
    {"PastTheEnd", "T0401", "reads x[8], but x has 8 elements\n  in `store y[i] = load x[i + 1]` with i = 7",
     "for i in 0..8 parallel {\n store y[i] = load x[i + 1]\n}"},
    {"BeforeTheStart", "T0401", "writes y[-1]", "store y[-1] = 0.0"},
    {"LastLaneOnly", "T0401", "reads x[8]", "let v: f32x4 = load x[5]"},
    {"GatherLane", "T0401", "reads x[9]", "let v: f32x4 = load x[ramp<4>(0)*3]"},
    {"FarAway", "T0401", "reads x[9223372036854775807]", "let v: f32x2 = load x[9223372036854775807]"},
    {"UnwrittenOutput", "T0402", "reads y[0], which nobody has written\n  in `let v: f32 = load y[0]`",
     "let v: f32 = load y[0]"},
    {"UnwrittenScratch", "T0402", "reads s[4]", "store s[3] = 1.0\n let v: f32 = load s[4]"},
    {"MaskedStoreWritesNothing", "T0402", "reads s[1]",
     "store s[0] mask (ramp<2>(0) < 1) = 1.0:f32x2\n let v: f32 = load s[1]"},
    {"LocalDiesWithItsIteration", "T0402", "reads l[0]",
     "for i in 0..2 parallel {\n if i == 0 {\n store l[0] = 1.0\n }\n store y[i] = load l[0]\n}"},
    {"LocalDiesWithTheLoop", "T0402", "reads l[0]",
     "for i in 0..1 parallel {\n store l[0] = 1.0\n}\n let v: f32 = load l[0]"},
    {"TwoWriters", "T0403", "writes y[0], which iteration 0 of the loop wrote",
     "for i in 0..2 parallel {\n store y[0] = 1.0\n}"},
    {"ReadOfANeighboursWrite", "T0403", "reads s[0], which iteration 0 of the loop wrote",
     "for i in 0..8 parallel {\n store s[i] = 1.0\n if i > 0 {\n store y[i] = load s[i - 1]\n }\n}"},
    {"WriteOfWhatANeighbourRead", "T0403", "writes s[1], which iteration 0 of the loop read",
     "for j in 0..8 {\n store s[j] = 0.0\n}\n for i in 0..7 parallel {\n store y[i] = load s[i + 1]\n store s[i] = "
     "1.0\n}"},
    {"OneOfManyReaders", "T0403", "writes s[0], which other threads read",
     "for j in 0..8 {\n store s[j] = 0.0\n}\n for i in 0..8 parallel {\n store y[i] = load s[0]\n if i == 7 {\n store "
     "s[0] = 1.0\n }\n}"},
    {"TwoLanesOneElement", "T0403", "two lanes write y[0]", "store y[floordiv(ramp<4>(0), 2)] = 1.0:f32x4"},
    {"NoBarrier", "T0403", "reads t[0], which thread 0 of the block wrote",
     "for b in 0..1 block.x {\n for i in 0..2 thread.x {\n store t[i] = 0.0\n barrier\n if i == 0 {\n store t[0] = "
     "1.0\n }\n"
     "store y[i] = load t[0]\n }\n}"},
    {"NoBarrierBetweenThreadLoops", "T0403", "reads t[0], which thread 0 of the block wrote",
     "for b in 0..1 block.x {\n for i in 0..2 thread.x {\n store t[i] = 0.0\n }\n for j in 0..2 thread.x {\n"
     "store y[j] = load t[0]\n }\n}"},
    {"BlocksNeverMeet", "T0403", "a thread of another block wrote",
     "for b in 0..2 block.x {\n for i in 0..2 thread.x {\n store s[b*2 + i] = 1.0\n barrier\n if b == 1 {\n store y[i] "
     "= load s[i]\n }\n }\n}"},
    {"BarrierUnderACondition", "T0404",
     "thread (0, 0, 0) waits at a barrier that thread (1, 0, 0) never reaches: it has ended\n  in `barrier`",
     "for b in 0..1 block.x {\n for i in 0..2 thread.x {\n if i == 0 {\n barrier\n }\n }\n}"},
    {"TwoBarriers", "T0404", "it waits at another",
     "for b in 0..1 block.x {\n for i in 0..2 thread.x {\n if i == 0 {\n barrier\n } else {\n barrier\n }\n }\n}"},
    {"BarrierInAnUnevenLoop", "T0404", "has ended",
     "for b in 0..1 block.x {\n for i in 0..3 thread.x {\n for k in 0..i {\n barrier\n }\n }\n}"},
    {"SharedIsFreshInEveryBlock", "T0402", "reads t[0]",
     "for b in 0..2 block.x {\n if b == 0 {\n store t[0] = 1.0\n }\n store y[b] = load t[0]\n}"},
};

class SimtFinds : public testing::TestWithParam<Wrong> {};

TEST_P(SimtFinds, TheFault) {
  const Wrong& wrong = GetParam();
  const Kernel kernel =
      parsed("kernel @wrong(in x: f32[8], out y: f32[8], scratch s: f32[8]) {\nshared t: f32[8]\nlocal l: f32[4]\n" +
             std::string(wrong.body) + "\n}");
  std::vector<Array> b = {counting(8), Array(DType::f32, {8}), Array(DType::f32, {8})};
  auto status = runSimt(kernel, b, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, wrong.code) << status.error().str();
  EXPECT_NE(status.error().message.find(wrong.says), std::string::npos) << status.error().str();
  EXPECT_FALSE(status.error().hint.empty());
}

INSTANTIATE_TEST_SUITE_P(Simt, SimtFinds, testing::ValuesIn(kWrong),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(SimtGpu, WriteOfWhatAnotherBlockRead) {
  const Kernel kernel = parsed(R"(kernel @k(inout x: f32[8]) {
    for b in 0..4 block.x {
      var v: f32 = load x[0]
      if b == 3 {
        store x[0] = v
      }
    }
  })");
  std::vector<Array> b = {counting(8)};
  auto status = runSimt(kernel, b, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, "T0403");
  EXPECT_NE(status.error().message.find("a thread of another block read"), std::string::npos) << status.error().str();
}

TEST(Simt, ArgumentsMustFit) {
  const Kernel kernel = parsed("kernel @k(in x: f32[N], out y: f32[N]; N) {\n}");
  const auto code = [&](std::vector<Array> b, const DimBindings& symbols) {
    auto status = runSimt(kernel, b, symbols);
    return status.ok() ? "" : status.error().code;
  };
  const Array f(DType::f32, {4}), d(DType::f64, {4});
  EXPECT_EQ(code({f, f}, {{"N", 4}}), "");
  EXPECT_EQ(code({f, f}, {{"N", 4}, {"K", 1}}), "");
  EXPECT_EQ(code({f}, {{"N", 4}}), "T0405");
  EXPECT_EQ(code({f, f, f}, {{"N", 4}}), "T0405");
  EXPECT_EQ(code({f, d}, {{"N", 4}}), "T0405");
  EXPECT_EQ(code({f, f}, {{"N", 5}}), "T0405");
  EXPECT_EQ(code({f, f}, {{"N", -1}}), "T0405");
  EXPECT_EQ(code({f, f}, {}), "T0405");
}

TEST(Simt, IsFastEnoughToFuzzWith) {
  const Kernel kernel = parsed(R"(kernel @gelu(in x: f32[N], out y: f32[N]; N) {
    for i in 0..N step 8 parallel {
      let v: f32x8 = load x[i]
      let t: f32x8 = v*0.5 + v*v*v*0.1
      store y[i] = t*max(v, 0.0) + t*t
    }
  })");
  const int64_t n = 1 << 18;
  std::vector<Array> b = {counting(n), Array(DType::f32, {n})};
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(runSimt(kernel, b, {{"N", n}}).ok());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RecordProperty("evaluations_per_second", std::to_string(12.0 * n / seconds));
  EXPECT_LT(seconds, 12.0 * n / 1e6);  // a million a second even on a busy machine
  std::printf("  %.0f million evaluations a second\n", 12.0 * n / seconds / 1e6);
}

}  // namespace
}  // namespace tokamak::kernel
