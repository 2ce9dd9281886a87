#include "library/panel_product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "library/naive_test.h"
#include "library/product_sums.h"
#include "library/scratch.h"

namespace tokamak::library {
namespace {

/// Says that there are `threads`, and runs their shares one after another.
struct PretendedThreads : KernelHost {
  int threads;
  explicit PretendedThreads(int count) : KernelHost{&PretendedThreads::run}, threads(count) {
    countThreads = [](const KernelHost* host) { return static_cast<const PretendedThreads*>(host)->threads; };
  }
  static void run(const KernelHost*, int64_t count, int64_t, int64_t scratchBytes, ParallelBody body,
                  void* environment) {
    std::vector<std::byte> memory(scratchBytes + 64);
    auto* scratch = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
    for (int64_t i = 0; i < count; ++i) body(environment, i, i + 1, scratch);
  }
};

std::vector<float> randoms(int64_t count, Random& random) {
  std::vector<float> out(count);
  for (float& x : out) x = random.next();
  return out;
}

/// One element after another, in parts of `length` that are added to the bias.
std::vector<float> inOrder(const PanelProduct& x) {
  std::vector<float> out(x.m * x.n);
  for (int64_t i = 0; i < x.m; ++i)
    for (int64_t j = 0; j < x.n; ++j) {
      float result = x.bias ? x.bias[j] : 0;
      for (int64_t begin = 0; begin < x.k; begin += x.length) {
        float sum = 0;
        for (int64_t p = begin; p < std::min(x.k, begin + x.length); ++p)
          sum = std::fmaf(x.transposeA ? x.a[p * x.strideA + i] : x.a[i * x.strideA + p],
                          x.transposeB ? x.b[j * x.strideB + p] : x.b[p * x.strideB + j], sum);
        result = begin > 0 || x.bias ? result + sum : sum;
      }
      if (x.scale) result = std::fmaf(result, x.scale[j], x.shift[j]);
      if (x.added) result += x.added[i * x.n + j];
      if (x.activation == PanelActivation::relu && result < 0) result = 0;
      out[i * x.n + j] = result;
    }
  return out;
}

TEST(PanelProduct, EqualsSumsInOrderBitByBit) {
  if (!hasPanelProduct()) GTEST_SKIP() << "no AVX-512 here";
  Random random;
  const int64_t shapes[][3] = {{1, 1, 1},     {7, 15, 3},    {8, 16, 16},   {9, 47, 17},  {17, 48, 5},
                               {23, 49, 200}, {40, 112, 33}, {530, 53, 31}, {19, 301, 70}};
  for (const auto& [m, n, k] : shapes)
    for (int flags = 0; flags < 16; ++flags)
      for (const int threads : {1, 2, 5}) {
        PanelProduct x{.m = m, .n = n, .k = k, .transposeA = (flags & 1) != 0, .transposeB = (flags & 2) != 0};
        x.strideA = (x.transposeA ? m : k) + 3, x.strideB = (x.transposeB ? k : n) + 1;
        x.length = std::max<int64_t>(1, k / 3);
        const auto a = randoms(x.strideA * (x.transposeA ? k : m), random);
        const auto b = randoms(x.strideB * (x.transposeB ? n : k), random);
        const auto bias = randoms(n, random);
        std::vector<float> c(m * n + 1, 42);
        x.a = a.data(), x.b = b.data(), x.c = c.data();
        const auto added = randoms(m * n, random);
        if (flags & 4) x.bias = bias.data(), x.activation = PanelActivation::relu;
        if (threads == 2) x.added = added.data();
        const auto scale = randoms(n, random), shift = randoms(n, random);
        if (threads == 5) x.scale = scale.data(), x.shift = shift.data();
        const auto expected = inOrder(x);
        const PackedMemory packed(packedBytes(n, k));
        if (flags & 8) {
          packB(x, reinterpret_cast<float*>(packed.data()), PretendedThreads(threads));
          x.packedB = reinterpret_cast<const float*>(packed.data()), x.b = nullptr;
        }
        runPanelProduct(x, PretendedThreads(threads));
        EXPECT_EQ(c.back(), 42);
        c.pop_back();
        ASSERT_EQ(c, expected) << m << "x" << n << "x" << k << " flags " << flags << " threads " << threads;
      }
}

TEST(PanelProduct, OfAnImageIsTheSameOnAnyNumberOfThreads) {
  if (!hasPanelProduct()) GTEST_SKIP() << "no AVX-512 here";
  Random random;
  for (const auto& [channels, n] : {std::pair<int64_t, int64_t>{3, 70}, {90, 70}, {90, 300}}) {
    const PanelImage image{
        .channels = channels, .input = {1, 40, 41}, .output = {1, 40, 41}, .kernel = {1, 3, 5}, .low = {0, 1, 2}};
    const int64_t m = 40 * 41, k = channels * 15;
    const auto a = randoms(m * channels, random), b = randoms(n * k, random);
    std::vector<float> first(m * n);
    PanelProduct x{
        .m = m, .n = n, .k = k, .a = a.data(), .b = b.data(), .image = &image, .c = first.data(), .length = 32};
    const PackedMemory packed(packedBytes(n, k));
    EXPECT_TRUE(packB(x, reinterpret_cast<float*>(packed.data()), PretendedThreads(3)));
    x.packedB = reinterpret_cast<const float*>(packed.data());
    runPanelProduct(x, PretendedThreads(1));
    for (const int threads : {2, 3, 8}) {
      std::vector<float> other(m * n);
      x.c = other.data();
      runPanelProduct(x, PretendedThreads(threads));
      ASSERT_EQ(other, first) << channels << " channels to " << n << ", " << threads << " threads";
    }
  }
}

/// So many that several threads share it, down and across.
TEST(PanelProduct, IsTheSameOnAnyNumberOfThreads) {
  if (!hasPanelProduct()) GTEST_SKIP() << "no AVX-512 here";
  Random random;
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{600, 70}, {70, 600}, {250, 260}}) {
    const int64_t k = 900;
    const auto a = randoms(m * k, random), b = randoms(k * n, random);
    std::vector<float> first(m * n);
    PanelProduct x{.m = m, .n = n, .k = k, .a = a.data(), .b = b.data(), .c = first.data(), .strideA = k, .strideB = n};
    x.length = sumLength(k);
    EXPECT_LT(x.length, k);
    runPanelProduct(x, PretendedThreads(1));
    ASSERT_EQ(first, inOrder(x));
    for (const int threads : {2, 3, 4, 7, 16}) {
      std::vector<float> c(m * n);
      x.c = c.data();
      runPanelProduct(x, PretendedThreads(threads));
      ASSERT_EQ(c, first) << threads << " threads";
    }
  }
}

/// Operands that are the same for all of it, or not, and fewer or more products than threads.
TEST(PanelProduct, OfABatchIsAsOneByOne) {
  if (!hasPanelProduct()) GTEST_SKIP() << "no AVX-512 here";
  Random random;
  const int64_t m = 61, n = 70, k = 300;
  for (const int64_t batch : {2, 3, 13})
    for (const bool sharedA : {false, true}) {
      const auto a = randoms(batch * m * k, random), b = randoms(batch * k * n, random),
                 added = randoms(batch * m * n, random);
      PanelProduct x{.batch = batch, .m = m, .n = n, .k = k, .a = a.data(), .b = b.data(), .added = added.data()};
      x.strideA = k, x.strideB = n, x.stepA = sharedA ? 0 : m * k, x.stepB = k * n, x.length = sumLength(k);
      std::vector<float> expected;
      for (int64_t i = 0; i < batch; ++i) {
        PanelProduct one = x;
        one.batch = 1, one.a += i * x.stepA, one.b += i * x.stepB, one.added += i * m * n;
        const auto c = inOrder(one);
        expected.insert(expected.end(), c.begin(), c.end());
      }
      for (const int threads : {1, 2, 5, 16}) {
        std::vector<float> c(batch * m * n + 1, 42);
        x.c = c.data();
        runPanelProduct(x, PretendedThreads(threads));
        EXPECT_EQ(c.back(), 42);
        c.pop_back();
        ASSERT_EQ(c, expected) << batch << " products on " << threads << " threads";
      }
    }
}

/// The product of a column and a row of ones is the column, so that any value can be looked at; of several parts, so
/// that only the last of them is given to the activation.
TEST(PanelProduct, GeluIsTheErrorFunctionsOfSpecialValuesToo) {
  if (!hasPanelProduct()) GTEST_SKIP() << "no AVX-512 here";
  const float inf = INFINITY;
  std::vector<float> values = {inf, -inf, NAN, 0.0f, -0.0f, 3e38f, -3e38f, 1e-40f, -1e-40f, 5.57f, -5.57f};
  for (int i = 0; i < 4000; ++i) values.push_back(static_cast<float>(i - 2000) / 250);
  const auto m = static_cast<int64_t>(values.size());
  constexpr int64_t n = 51, k = 3;
  std::vector<float> a(m * k), b(k * n, 1), c(m * n + 1, 42);
  for (int64_t i = 0; i < m; ++i) a[i * k] = values[i];
  PanelProduct x{.m = m, .n = n, .k = k, .a = a.data(), .b = b.data(), .c = c.data(), .strideA = k, .strideB = n};
  x.activation = PanelActivation::gelu;
  x.length = 1;
  runPanelProduct(x, PretendedThreads(2));
  EXPECT_EQ(c.back(), 42);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const double v = values[i], want = 0.5 * v * (1 + std::erf(v * std::sqrt(0.5)));
      const float got = c[i * n + j];
      if (std::isnan(want))
        ASSERT_TRUE(std::isnan(got)) << v << ": " << got;
      else if (std::isinf(want))
        ASSERT_EQ(got, want) << v;
      else
        ASSERT_NEAR(got, want, 3e-7 * std::max(1e-30, std::abs(v))) << v;  // of x, as the sum 1 + erf is rounded
    }
}

}  // namespace
}  // namespace tokamak::library
