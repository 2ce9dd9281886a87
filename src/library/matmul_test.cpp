#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <thread>

#include "library/naive_test.h"
#include "library/panel_product.h"

namespace tokamak::library {
namespace {

std::shared_ptr<const Library> library() {
  static const std::shared_ptr<const Library> opened = Library::open();
  return opened;
}

int64_t operandSize(const MatMulDims& d, Broadcast broadcast) {
  switch (broadcast) {
    case Broadcast::none: return d.batch * d.m * d.n;
    case Broadcast::row: return d.n;
    case Broadcast::column: return d.batch * d.m;
    case Broadcast::scalar: return 1;
  }
  return 0;
}

std::vector<double> naive(const MatMulDesc& desc, const MatMulDims& d, std::vector<Buffer>& buffers,
                          const Buffer& old) {
  std::vector<double> out;
  for (int64_t bi = 0; bi < d.batch; ++bi)
    for (int64_t i = 0; i < d.m; ++i)
      for (int64_t j = 0; j < d.n; ++j) {
        const int64_t baseA = desc.broadcastA ? 0 : bi * d.m * d.k, baseB = desc.broadcastB ? 0 : bi * d.k * d.n;
        double x = 0;
        for (int64_t k = 0; k < d.k; ++k)
          x += double(buffers[0].get(baseA + (desc.transposeA ? k * d.m + i : i * d.k + k))) *
               double(buffers[1].get(baseB + (desc.transposeB ? j * d.k + k : k * d.n + j)));
        if (desc.bias) x += buffers[2].get(j);
        size_t next = desc.bias ? 3 : 2;
        const int64_t row = bi * d.m + i, at = row * d.n + j;
        for (const PostOp& op : desc.postOps) {
          double operand = op.kind == PostOpKind::sum ? old.get(at) : 0;
          if (hasOperand(op.kind)) {
            const int64_t index = op.broadcast == Broadcast::none  ? at
                                  : op.broadcast == Broadcast::row ? j
                                                                   : (op.broadcast == Broadcast::column ? row : 0);
            operand = buffers[next++].get(index);
          }
          x = naivePostOp(op, x, operand);
        }
        out.push_back(x);
      }
  return out;
}

/// Buffers for one call, the last of them the result (holding something already).
std::vector<Buffer> makeBuffers(const MatMulDesc& desc, const MatMulDims& d, Random& random, bool positive = false) {
  std::vector<Buffer> buffers;
  buffers.push_back(random.buffer(desc.a, (desc.broadcastA ? 1 : d.batch) * d.m * d.k, positive));
  buffers.push_back(random.buffer(desc.b, (desc.broadcastB ? 1 : d.batch) * d.k * d.n, positive));
  if (desc.bias) buffers.push_back(random.buffer(desc.biasType, d.n));
  for (const PostOp& op : desc.postOps)
    if (hasOperand(op.kind))
      buffers.push_back(random.buffer(op.dtype, operandSize(d, op.broadcast), op.kind == PostOpKind::div));
  buffers.push_back(random.buffer(desc.c, d.batch * d.m * d.n));
  return buffers;
}

/// A constant keeps its address and contents as long as any call may know it: for ever.
std::vector<Buffer>& forEver(std::vector<Buffer> buffers) {
  static std::mutex mutex;
  static std::vector<std::unique_ptr<std::vector<Buffer>>> all;
  std::lock_guard lock(mutex);
  return *all.emplace_back(std::make_unique<std::vector<Buffer>>(std::move(buffers)));
}

void expectRight(const MatMulCall& call, const MatMulDims& d, bool positive = false) {
  Random random;
  const MatMulDesc& desc = call.desc();
  std::vector<Buffer>& buffers = forEver(makeBuffers(desc, d, random, positive));
  const Buffer old = buffers.back();
  std::vector<void*> addresses;
  for (Buffer& buffer : buffers) addresses.push_back(buffer.data());
  const auto expected = naive(desc, d, buffers, old);
  for (int repeat = 0; repeat < 2; ++repeat) {
    buffers.back().bytes = old.bytes;
    auto status = call.run(d, addresses);
    ASSERT_TRUE(status) << status.error().str();
    for (size_t i = 0; i < expected.size(); ++i) {
      const double got = buffers.back().get(i), scale = std::max({1.0, std::fabs(expected[i]), std::sqrt(double(d.k))});
      ASSERT_NEAR(got, expected[i], tolerance(desc.c) * scale)
          << "element " << i << " of " << d.batch << "x" << d.m << "x" << d.n << "x" << d.k;
    }
  }
}

struct MatMulTest : testing::Test {
  void SetUp() override {
    if (!library()->available()) GTEST_SKIP() << library()->available().reason();
  }
};

TEST_F(MatMulTest, TransposesDtypesConstantsAndOddSizes) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
    for (int flags = 0; flags < 16; ++flags) {
      MatMulDesc desc;
      desc.a = desc.b = desc.c = dtype;
      desc.transposeA = flags & 1, desc.transposeB = flags & 2, desc.constantB = flags & 4, desc.bias = flags & 8;
      const Decision decision = library()->accepts(desc);
      if (!decision && dtype == DType::f16) continue;  // not on every machine
      ASSERT_TRUE(decision) << decision.reason();
      auto call = *library()->matmul(desc);
      for (const MatMulDims& d : {MatMulDims{1, 17, 33, 5},
                                  {1, 1, 1, 1},
                                  {1, 1, 40, 64},
                                  {1, 40, 1, 64},
                                  {1, 64, 48, 1},
                                  {3, 7, 9, 11},
                                  {1, 66, 40, 130},
                                  {1, 530, 70, 9},
                                  {2, 1, 3, 64}})
        expectRight(*call, d);
      if (HasFatalFailure()) FAIL() << nameOf(dtype) << " flags " << flags;
    }
}

TEST_F(MatMulTest, HalvesToFloat) {
  MatMulDesc desc;
  desc.a = desc.b = DType::bf16;
  desc.c = DType::f32;
  desc.bias = true;
  ASSERT_TRUE(library()->accepts(desc)) << library()->accepts(desc).reason();
  expectRight(**library()->matmul(desc), {1, 20, 30, 40});
}

TEST_F(MatMulTest, BatchBroadcast) {
  for (int flags = 0; flags < 16; ++flags) {
    MatMulDesc desc;
    desc.transposeA = flags & 1, desc.transposeB = flags & 2, desc.constantB = flags & 4;
    (flags & 8 ? desc.broadcastA : desc.broadcastB) = true;
    desc.bias = true;
    desc.postOps = {{PostOpKind::add}, {.kind = PostOpKind::mul, .broadcast = Broadcast::row}};
    auto call = *library()->matmul(desc);
    expectRight(*call, {4, 6, 10, 8});
    expectRight(*call, {1, 6, 10, 8});
    if (HasFatalFailure()) FAIL() << "flags " << flags;
  }
}

TEST_F(MatMulTest, EveryEltwise) {
  for (int k = 0; k <= static_cast<int>(PostOpKind::softplus); ++k) {
    PostOp op{static_cast<PostOpKind>(k)};
    if (op.kind == PostOpKind::leaky_relu) op.alpha = 0.1f;
    if (op.kind == PostOpKind::elu) op.alpha = 1.5f;
    if (op.kind == PostOpKind::linear) op.alpha = -2, op.beta = 0.5f;
    if (op.kind == PostOpKind::clip) op.alpha = -0.5f, op.beta = 1;
    if (op.kind == PostOpKind::hardswish || op.kind == PostOpKind::hardsigmoid) op.alpha = 1.0f / 6, op.beta = 0.5f;
    for (const DType dtype : {DType::f32, DType::bf16}) {
      MatMulDesc desc;
      desc.a = desc.b = desc.c = dtype;
      desc.postOps = {op};
      if (losesNan(op.kind)) EXPECT_NE(library()->accepts(desc).reason().find("NaN"), std::string::npos);
      desc.mayLoseNan = losesNan(op.kind);
      const Decision decision = library()->accepts(desc);
      ASSERT_TRUE(decision) << decision.reason();
      auto call = *library()->matmul(desc);
      expectRight(*call, {1, 19, 35, 6}, op.kind == PostOpKind::sqrt);
      expectRight(*call, {2, 5, 18, 6}, op.kind == PostOpKind::sqrt);
      if (HasFatalFailure()) FAIL() << nameOf(op.kind) << " " << nameOf(dtype);
    }
  }
}

TEST_F(MatMulTest, EveryBinaryAndBroadcast) {
  for (int k = static_cast<int>(PostOpKind::add); k <= static_cast<int>(PostOpKind::min); ++k)
    for (const Broadcast broadcast : {Broadcast::none, Broadcast::row, Broadcast::column, Broadcast::scalar})
      for (const DType dtype : {DType::f32, DType::bf16}) {
        MatMulDesc desc;
        desc.mayLoseNan = true;
        desc.postOps = {{PostOpKind::relu},
                        {.kind = static_cast<PostOpKind>(k), .broadcast = broadcast, .dtype = dtype}};
        const Decision decision = library()->accepts(desc);
        if (!decision) { EXPECT_EQ(broadcast, Broadcast::column) << decision.reason(); }
        auto call = *library()->matmul(desc);
        for (const MatMulDims& d : {MatMulDims{1, 19, 35, 6}, {3, 5, 18, 6}, {1, 1, 5, 3}, {1, 5, 1, 3}})
          expectRight(*call, d);
        if (HasFatalFailure()) FAIL() << nameOf(static_cast<PostOpKind>(k)) << " " << nameOf(broadcast);
      }
}

TEST_F(MatMulTest, NanStaysNan) {
  for (int k = 0; k <= static_cast<int>(PostOpKind::sum); ++k) {
    MatMulDesc desc;
    desc.postOps = {{.kind = static_cast<PostOpKind>(k), .broadcast = Broadcast::row}};
    if (!library()->accepts(desc)) continue;
    float a[] = {NAN, -5, 5}, b[16], operand[16] = {}, c[48] = {};
    std::fill(std::begin(b), std::end(b), 1.0f);
    std::vector<void*> addresses = {a, b, c};
    if (hasOperand(desc.postOps[0].kind)) addresses.insert(addresses.begin() + 2, operand);
    ASSERT_TRUE((*library()->matmul(desc))->run({1, 3, 16, 1}, addresses));
    EXPECT_TRUE(std::isnan(c[3])) << nameOf(desc.postOps[0].kind);
    if (desc.postOps[0].kind != PostOpKind::relu) continue;
    EXPECT_EQ(c[16], 0.0f);
    EXPECT_FALSE(std::signbit(c[16]));
    EXPECT_EQ(c[32], 5.0f);
  }
}

TEST_F(MatMulTest, SumAndLongChains) {
  MatMulDesc desc;
  desc.bias = true;
  desc.constantB = true;
  desc.postOps = {{.kind = PostOpKind::sum, .alpha = 0.5f},
                  {PostOpKind::gelu_tanh},
                  {PostOpKind::add},
                  {.kind = PostOpKind::mul, .broadcast = Broadcast::row},
                  {.kind = PostOpKind::linear, .alpha = 2, .beta = 1}};
  ASSERT_TRUE(library()->accepts(desc)) << library()->accepts(desc).reason();
  auto call = *library()->matmul(desc);
  expectRight(*call, {1, 33, 47, 20});
  expectRight(*call, {2, 8, 16, 20});
  for (int i = 0; i < 14; ++i) desc.postOps.push_back({PostOpKind::add});  // more addresses than are kept on the stack
  expectRight(**library()->matmul(desc), {1, 4, 16, 20});
}

TEST_F(MatMulTest, ZeroExtents) {
  MatMulDesc desc;
  desc.bias = true;
  desc.postOps = {{PostOpKind::relu},
                  {.kind = PostOpKind::add, .broadcast = Broadcast::column},
                  {.kind = PostOpKind::sum, .alpha = 2}};
  auto call = *library()->matmul(desc);
  for (const MatMulDims& d :
       {MatMulDims{1, 3, 4, 0}, {2, 3, 4, 0}, {1, 0, 4, 5}, {1, 3, 0, 5}, {0, 3, 4, 5}, {0, 0, 0, 0}}) {
    EXPECT_TRUE(call->prepare(d));
    expectRight(*call, d);
  }
  EXPECT_EQ(call->run({1, -1, 2, 2}, {}).error().code, "T0702");
}

TEST_F(MatMulTest, ConstantsArePackedOncePerAddress) {
  MatMulDesc desc;
  desc.constantB = desc.transposeB = true;
  auto call = *library()->matmul(desc);
  Random random;
  const MatMulDims d{1, 64, 256, 128};
  std::vector<Buffer> first = makeBuffers(desc, d, random), second = makeBuffers(desc, d, random);
  const auto expected = naive(desc, d, first, first.back());
  void* addresses[] = {first[0].data(), first[1].data(), first[2].data()};
  ASSERT_TRUE(call->run(d, addresses));
  void* others[] = {first[0].data(), second[1].data(), second[2].data()};
  ASSERT_TRUE(call->run(d, others));
  ASSERT_TRUE(call->run(d, addresses));
  EXPECT_NEAR(first[2].get(100), expected[100], 1e-4);
  for (int64_t m = 1; m < 40; ++m) expectRight(*call, {1, m, 48, 32});  // more extents than layouts are kept
}

TEST_F(MatMulTest, ManyThreadsAtOnce) {
  MatMulDesc desc;
  desc.constantB = desc.bias = true;
  desc.postOps = {{PostOpKind::gelu_tanh}};
  auto call = *library()->matmul(desc);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 15; ++i) expectRight(*call, {1, 5 + (i + t) % 4, 32, 24});
    });
  for (auto& thread : threads) thread.join();
}

TEST_F(MatMulTest, LongSumsAreCut) {
  for (int flags = 0; flags < 24; ++flags) {
    MatMulDesc desc;
    desc.transposeA = flags & 1, desc.transposeB = flags & 2, desc.constantB = flags & 4;
    if (flags & 8) desc.bias = true, desc.postOps = {{PostOpKind::add}, {PostOpKind::gelu_erf}};
    if (flags & 16)
      desc.bias = true, desc.postOps = {{.kind = PostOpKind::mul, .broadcast = Broadcast::row},
                                        {.kind = PostOpKind::add, .broadcast = Broadcast::column},
                                        {PostOpKind::tanh}};
    auto call = *library()->matmul(desc);
    for (const MatMulDims& d : {MatMulDims{1, 20, 33, 1000}, {1, 3, 17, 401}, {2, 5, 7, 500}}) expectRight(*call, d);
    if (HasFatalFailure()) FAIL() << "flags " << flags;
    if (hasPanelProduct() || !desc.transposeB || desc.constantB)
      EXPECT_NE(call->implementation({1, 20, 33, 1000})->find("parts"), std::string::npos);
    EXPECT_EQ(call->implementation({1, 20, 33, 64})->find("parts"), std::string::npos);
  }
}

/// One sum of 1024 products is twice as far from the exact one as sums of 192; of small products and of large ones.
TEST_F(MatMulTest, LongSumsAreAsExactAsShortOnes) {
  if (!hasPanelProduct()) GTEST_SKIP() << "no AVX-512 here";
  for (const bool constant : {false, true})
    for (const MatMulDims& d : {MatMulDims{1, 16, 64, 1024}, {1, 70, 512, 1024}}) {
      const MatMulDesc desc{.transposeB = true, .constantB = constant};
      Random random;
      std::vector<Buffer>& buffers = forEver(makeBuffers(desc, d, random));
      const auto expected = naive(desc, d, buffers, buffers.back());
      std::vector<void*> addresses;
      for (Buffer& buffer : buffers) addresses.push_back(buffer.data());
      ASSERT_TRUE((*library()->matmul(desc))->run(d, addresses));
      double error = 0, size = 0;
      for (size_t i = 0; i < expected.size(); ++i)
        error += std::pow(buffers.back().get(i) - expected[i], 2), size += std::pow(expected[i], 2);
      EXPECT_LT(std::sqrt(error / size), 6 * std::exp2(-24)) << d.m << " rows";
    }
}

TEST_F(MatMulTest, RefusesWithReasons) {
  MatMulDesc desc;
  desc.a = DType::f64;
  EXPECT_NE(library()->accepts(desc).reason().find("f64"), std::string::npos);
  desc.a = DType::bf16;
  EXPECT_FALSE(library()->accepts(desc));
  desc.a = DType::f32;
  desc.broadcastA = desc.broadcastB = true;
  EXPECT_FALSE(library()->accepts(desc));
  desc = {.postOps = {{PostOpKind::sum}, {PostOpKind::gelu_erf}}};
  EXPECT_NE(library()->accepts(desc).reason().find("gelu_erf"), std::string::npos);
}

/// Prints what the tier reaches. Run with --gtest_also_run_disabled_tests; with OMP_NUM_THREADS=1 times are those of
/// the processor, so that a busy machine does not matter.
TEST_F(MatMulTest, DISABLED_Speed) {
  auto measure = [&](const MatMulDesc& desc, const MatMulDims& d) {
    auto call = *library()->matmul(desc);
    Random random;
    std::vector<Buffer> buffers = makeBuffers(desc, d, random);
    std::vector<void*> addresses;
    for (Buffer& buffer : buffers) addresses.push_back(buffer.data());
    const double best = bestSeconds([&] { ASSERT_TRUE(call->run(d, addresses)); });
    const double work = 2.0 * d.batch * d.m * d.n * d.k, bytes = double(d.k) * d.n * byteWidth(desc.b);
    fmt::print("{} {}x{}x{}x{} constant {} post-ops {}: {:.3f} ms, {:.0f} GFLOP/s, b at {:.1f} GB/s, {}\n",
               nameOf(desc.a), d.batch, d.m, d.n, d.k, desc.constantB, desc.postOps.size(), best * 1e3,
               work / best * 1e-9, bytes / best * 1e-9, *call->implementation(d));
  };
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const bool constant : {false, true})
      for (const MatMulDims& d : {MatMulDims{1, 512, 3072, 768},
                                  {1, 1, 4096, 4096},
                                  {1, 16, 4096, 4096},
                                  {1, 512, 768, 768},
                                  {1, 4, 16, 16}}) {
        MatMulDesc desc;
        desc.a = desc.b = desc.c = dtype;
        desc.constantB = constant;
        desc.transposeB = desc.bias = true;
        if (d.n == 3072) desc.postOps = {{PostOpKind::gelu_erf}};
        measure(desc, d);
      }
}

}  // namespace
}  // namespace tokamak::library
