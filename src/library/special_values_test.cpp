#include <gtest/gtest.h>

#include <limits>

#include "library/naive_test.h"

namespace tokamak::library {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

/// What the post-op gives in real arithmetic, with NaN where both operands of a product say so.
double expected(const PostOp& op, double x) {
  if (std::isnan(x)) return x;
  switch (op.kind) {
    case PostOpKind::gelu_erf: return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
    case PostOpKind::gelu_tanh:
      if (x < -1e6) return std::isinf(x) ? kNan : 0;
      return naivePostOp(op, x, 0);
    case PostOpKind::mish: return x > 20 ? x : naivePostOp(op, x, 0);
    case PostOpKind::softplus: return x > 20 ? x : naivePostOp(op, x, 0);
    default: return naivePostOp(op, x, 0);
  }
}

void expectClose(float got, double exact, const std::string& what) {
  const auto want = static_cast<float>(exact);
  if (std::isnan(want))
    EXPECT_TRUE(std::isnan(got)) << what << ": got " << got;
  else if (std::isinf(want) || got == want)
    EXPECT_EQ(got, want) << what;
  else
    EXPECT_NEAR(got, want, 1e-2f * std::max(1.0f, std::fabs(want))) << what;
}

std::vector<PostOp> everyActivation() {
  std::vector<PostOp> out;
  for (const PostOpKind kind : {PostOpKind::relu, PostOpKind::elu, PostOpKind::gelu_erf, PostOpKind::gelu_tanh,
                                PostOpKind::tanh, PostOpKind::sigmoid, PostOpKind::swish, PostOpKind::abs,
                                PostOpKind::sqrt, PostOpKind::square, PostOpKind::mish, PostOpKind::softplus})
    out.push_back({kind});
  out.push_back({.kind = PostOpKind::leaky_relu, .alpha = 0.1f});
  out.push_back({.kind = PostOpKind::hardswish, .alpha = 1 / 6.0f, .beta = 0.5f});
  out.push_back({.kind = PostOpKind::linear, .alpha = 2, .beta = 1});
  return out;
}

const std::vector<float> kValues = {kInf, -kInf, kNan, 3e38f, -3e38f, 1e20f, -1e20f, 1e13f, -1e13f,
                                    100,  -100,  89,   -89,   88,     -88,   20,     -20,   10,
                                    -10,  5,     -5,   1,     -1,     0,     -0.0f,  1e-40f};

TEST(SpecialValues, EveryActivationOfAProduct) {
  const auto library = Library::open();
  if (!library->available()) GTEST_SKIP() << library->available().reason();
  const auto rows = static_cast<int64_t>(kValues.size());
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const bool constant : {false, true})
      for (const int64_t columns : {1, 16})
        for (const PostOp& op : everyActivation()) {
          MatMulDesc desc{.a = dtype, .b = dtype, .c = dtype, .constantB = constant, .postOps = {op}};
          if (!library->accepts(desc)) continue;
          Buffer a(dtype, rows), b(dtype, columns), c(dtype, rows * columns);
          for (int64_t i = 0; i < rows; ++i) a.set(i, kValues[i]);
          for (int64_t i = 0; i < columns; ++i) b.set(i, 1);
          void* buffers[] = {a.data(), b.data(), c.data()};
          ASSERT_TRUE((*library->matmul(desc))->run({1, rows, columns, 1}, buffers));
          for (int64_t i = 0; i < rows * columns; ++i)
            expectClose(c.get(i), expected(op, a.get(i / columns)),
                        std::string(nameOf(dtype)) + " " + std::string(nameOf(op.kind)) + " of " +
                            std::to_string(a.get(i / columns)));
        }
}

TEST(SpecialValues, EveryActivationOfAConvolution) {
  const auto library = Library::open();
  if (!library->available()) GTEST_SKIP() << library->available().reason();
  const auto width = static_cast<int64_t>(kValues.size());
  for (const bool constant : {false, true})
    for (const PostOp& op : everyActivation()) {
      ConvDesc desc{.spatialRank = 1, .constantWeights = constant, .postOps = {op}};
      if (!library->accepts(desc)) continue;
      Buffer a(DType::f32, width), w(DType::f32, 16), c(DType::f32, 16 * width);
      for (int64_t i = 0; i < width; ++i) a.set(i, kValues[i]);
      for (int64_t i = 0; i < 16; ++i) w.set(i, 1);
      void* buffers[] = {a.data(), w.data(), c.data()};
      ASSERT_TRUE((*library->conv(desc))->run({1, 1, 16, {width, 1, 1}, {1, 1, 1}}, buffers));
      for (int64_t i = 0; i < 16 * width; ++i)
        expectClose(c.get(i), expected(op, kValues[i % width]),
                    std::string(nameOf(op.kind)) + " of " + std::to_string(kValues[i % width]));
    }
}

/// Values beside a huge one keep their bits, and operands of the other post-ops find their places.
TEST(SpecialValues, OnlyWhatIsNotFiniteIsMended) {
  const auto library = Library::open();
  if (!library->available()) GTEST_SKIP() << library->available().reason();
  MatMulDesc desc{.bias = true, .constantB = true};
  desc.postOps = {{PostOpKind::add}, {PostOpKind::gelu_erf}, {.kind = PostOpKind::mul, .broadcast = Broadcast::row}};
  const auto call = *library->matmul(desc);
  const MatMulDims dims{1, 5, 48, 7};
  Random random;
  Buffer a = random.buffer(DType::f32, 35), b = random.buffer(DType::f32, 7 * 48), bias = random.buffer(DType::f32, 48),
         more = random.buffer(DType::f32, 240), factor = random.buffer(DType::f32, 48), finite(DType::f32, 240),
         mended(DType::f32, 240);
  void* buffers[] = {a.data(), b.data(), bias.data(), more.data(), factor.data(), finite.data()};
  ASSERT_TRUE(call->run(dims, buffers));
  more.set(50, kInf), more.set(51, -kInf), more.set(52, kNan), more.set(239, 3e38f);
  factor.set(2, -2), factor.set(47, 0.5f);
  buffers[5] = mended.data();
  ASSERT_TRUE(call->run(dims, buffers));
  EXPECT_EQ(mended.get(50), -kInf);
  EXPECT_TRUE(std::isnan(mended.get(51)));
  EXPECT_TRUE(std::isnan(mended.get(52)));
  EXPECT_FLOAT_EQ(mended.get(239), 1.5e38f);
  for (int64_t i = 0; i < 240; ++i)
    if (i % 48 != 2 && i % 48 != 47 && (i < 50 || i > 52)) EXPECT_EQ(mended.get(i), finite.get(i)) << i;
}

}  // namespace
}  // namespace tokamak::library
