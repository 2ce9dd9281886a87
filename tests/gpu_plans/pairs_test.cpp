#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "fuzz/rng.h"
#include "gpu_plans/run.h"

/// Folds that one sweep takes though the second needs the first: mean and variance, largest and sum of exponentials.
namespace tokamak::gpu_plans {
namespace {

std::string variance(int64_t m, int64_t n, int axis) {
  return fmt::format(R"(graph @g(%x: f32[{0}, {1}]) {{
    %0 = reduce %x {{kind = mean, axes = [{2}]}} : f32[{3}]
    %1 = broadcast %0 {{axes = [{4}]}} : f32[{0}, {1}]
    %2 = sub %x, %1 : f32[{0}, {1}]
    %3 = mul %2, %2 : f32[{0}, {1}]
    %4 = reduce %3 {{kind = mean, axes = [{2}]}} : f32[{3}]
    return %0, %4
  }})",
                     m, n, axis, axis == 0 ? n : m, 1 - axis);
}

std::string exponentials(int64_t m, int64_t n, int axis) {
  return fmt::format(R"(graph @g(%x: f32[{0}, {1}]) {{
    %0 = reduce %x {{kind = max, axes = [{2}]}} : f32[{3}]
    %1 = broadcast %0 {{axes = [{4}]}} : f32[{0}, {1}]
    %2 = sub %x, %1 : f32[{0}, {1}]
    %3 = exp %2 : f32[{0}, {1}]
    %4 = reduce %3 {{kind = sum, axes = [{2}]}} : f32[{3}]
    return %0, %4
  }})",
                     m, n, axis, axis == 0 ? n : m, 1 - axis);
}

/// Expects both folds within `bound` of what the evaluator gives; numbers that are none where it has such.
void expectNear(const std::string& program, const Array& x, double bound) {
  const auto graph = parseGraph(program);
  ASSERT_TRUE(graph) << graph.error().str();
  CompileOptions options;
  options.gpu.emplace();
  const auto actual = runSimtGraph(*graph, {x}, engine(), options);
  ASSERT_TRUE(actual) << actual.error().str();
  const auto wanted = evaluate(*graph, {x});
  ASSERT_TRUE(wanted) << wanted.error().str();
  for (size_t k = 0; k < 2; ++k)
    for (int64_t i = 0; i < (*wanted)[k].size(); ++i) {
      const double a = (*actual)[k].getDouble(i), w = (*wanted)[k].getDouble(i);
      if (std::isnan(w) || std::isinf(w))
        EXPECT_TRUE(std::isnan(w) ? std::isnan(a) : a == w) << k << " " << i << ": " << a << " for " << w;
      else
        EXPECT_NEAR(a, w, bound * std::max(std::abs(w), 1e-6)) << k << " " << i;
    }
}

constexpr double kInf = std::numeric_limits<double>::infinity();

Array noise(int64_t m, int64_t n, double offset, double scale) {
  Array x(DType::f32, {m, n});
  fuzz::Rng rng(5);
  for (int64_t i = 0; i < x.size(); ++i) x.setDouble(i, offset + scale * (rng.real() * 2 - 1));
  return x;
}

TEST(GpuPairs, ALargeMeanTakesNoDigitsOfTheVariance) {
  for (auto [m, n, axis] : {std::tuple{2, 40000, 1}, {3, 70001, 1}, {300, 40, 0}, {4000, 9, 0}}) {
    expectNear(variance(m, n, axis), noise(m, n, 1000, 1), 2e-4);
    expectNear(variance(m, n, axis), noise(m, n, 0, 1e-3), 1e-4);
  }
}

TEST(GpuPairs, ExponentialsOfAnyRange) {
  for (auto [m, n, axis] : {std::tuple{2, 40000, 1}, {3, 70001, 1}, {300, 40, 0}, {4000, 9, 0}}) {
    expectNear(exponentials(m, n, axis), noise(m, n, 0, 80), 1e-4);
    expectNear(exponentials(m, n, axis), noise(m, n, -3e4, 10), 1e-4);
  }
}

TEST(GpuPairs, NumbersThatAreNone) {
  for (auto [m, n, axis] : {std::tuple{6, 40000, 1}, {3000, 6, 0}}) {
    Array x = noise(m, n, 0, 1);
    const auto set = [&](int64_t row, int64_t at, double v) {
      x.setDouble(axis == 1 ? row * n + at : at * n + row, v);
    };
    const int64_t length = axis == 1 ? n : m;
    for (int64_t i = 0; i < length; ++i) set(0, i, -kInf);
    for (int64_t i = 0; i < length - 3; ++i) set(1, i, -kInf);
    set(2, length / 2, kInf);
    set(3, length / 3, std::nan(""));
    set(4, 0, -kInf);
    set(5, 0, 3e38);
    expectNear(exponentials(m, n, axis), x, 1e-4);
    expectNear(variance(m, n, axis), x, 1e-3);
  }
}

TEST(GpuPairs, NormsAndSoftmaxInTwoSweeps) {
  for (const char* n : {"40000", "N"}) {
    plansOf(fmt::format(R"(graph @g(%x: bf16[3, {0}], %w: bf16[{0}], %b: bf16[{0}]) {{
      %0 = norm %x, %w, %b {{kind = layer, axes = 1, eps = 1e-05, affine = true}} : bf16[3, {0}]
      %1 = softmax %x {{axis = 1}} : bf16[3, {0}]
      return %0, %1
    }})",
                        n),
            {{"N", 700}});
    plansOf(fmt::format(R"(graph @g(%x: f32[{0}, 9]) {{
      %0 = softmax %x {{axis = 0}} : f32[{0}, 9]
      return %0
    }})",
                        n == std::string("N") ? "N" : "3000"),
            {{"N", 700}});
  }
}

TEST(GpuPairs, MomentsOfColumnsTooLongToBeHeldAreReadOnce) {
  const std::string program = R"(graph @g(%x: f32[M, 24]) {
    %0 = reduce %x {kind = mean, axes = [0]} : f32[24]
    %1 = broadcast %0 {axes = [1]} : f32[M, 24]
    %2 = sub %x, %1 : f32[M, 24]
    %3 = mul %2, %2 : f32[M, 24]
    %4 = reduce %3 {kind = mean, axes = [0]} : f32[24]
    %5 = broadcast %4 {axes = [1]} : f32[M, 24]
    %6 = mul %2, %5 : f32[M, 24]
    return %6
  })";
  const std::string plans = plansOf(program, {{"M", 500}}, {.hints = {{"M", 1 << 22}}});
  EXPECT_EQ(std::count(plans.begin(), plans.end(), '\n'), 2) << "a fold of pieces and a pointwise kernel: " << plans;
}

}  // namespace
}  // namespace tokamak::gpu_plans
