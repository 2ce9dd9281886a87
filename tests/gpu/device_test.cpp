#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "gpu/device.h"

/// What only a real device shows: unaligned tensors, sizes.
namespace tokamak::gpu {
namespace {

constexpr const char* kScale = R"(graph @scale(%x: f32[N]) {
  %two = full {value = 2.0} : f32[N]
  %0 = mul %x, %two : f32[N]
  return %0
})";

class OnGpu : public testing::Test {
 protected:
  static CompiledCuda compiled(const char* text) {
    auto graph = parseGraph(text);
    TK_CHECK(graph.ok(), graph.ok() ? "" : graph.error().str());
    auto made = compileCuda(*graph, engine());
    TK_CHECK(made.ok(), made.ok() ? "" : made.error().str());
    return *made;
  }
};

Array counting(int64_t n) {
  Array x(DType::f32, {n});
  for (int64_t i = 0; i < n; ++i) x.as<float>()[i] = static_cast<float>(i % 1000);
  return x;
}

TEST_F(OnGpu, TensorsMayBeginAnywhere) {
  const CompiledCuda program = compiled(kScale);
  const int64_t n = 5000;
  const Array x = counting(n + 8);
  const auto tensors = copyToDevice(program.device, {x, x});
  ASSERT_TRUE(tensors) << tensors.error().str();
  for (int64_t from = 0; from < 4; ++from)
    for (int64_t to = 0; to < 4; ++to) {
      const int64_t shape[] = {n};
      const runtime::TensorRef in{static_cast<float*>((*tensors)[0].data()) + from, DType::f32, 1, shape, nullptr};
      const runtime::TensorRef out{static_cast<float*>((*tensors)[1].data()) + to, DType::f32, 1, shape, nullptr};
      const auto done = program.executable->run({&in, 1}, {&out, 1});
      ASSERT_TRUE(done.ok()) << done.error().str();
      const auto back = copyToHost(program.device, *tensors);
      ASSERT_TRUE(back) << back.error().str();
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ((*back)[1].as<float>()[i + to], 2 * x.as<float>()[i + from]) << from << " to " << to << " at " << i;
    }
}

TEST_F(OnGpu, HalvesMayBeginAnywhere) {
  const CompiledCuda program = compiled(R"(graph @double(%x: bf16[N]) {
    %0 = add %x, %x : bf16[N]
    return %0
  })");
  const int64_t n = 5001;
  Array x(DType::bf16, {n + 8});
  for (int64_t i = 0; i < n + 8; ++i) x.as<uint16_t>()[i] = static_cast<uint16_t>(0x3f80 + i % 128);
  const auto tensors = copyToDevice(program.device, {x, x});
  ASSERT_TRUE(tensors) << tensors.error().str();
  for (int64_t from = 0; from < 8; ++from) {
    const int64_t shape[] = {n};
    const runtime::TensorRef in{static_cast<uint16_t*>((*tensors)[0].data()) + from, DType::bf16, 1, shape, nullptr};
    const runtime::TensorRef out{(*tensors)[1].data(), DType::bf16, 1, shape, nullptr};
    const auto done = program.executable->run({&in, 1}, {&out, 1});
    ASSERT_TRUE(done.ok()) << done.error().str();
    const auto back = copyToHost(program.device, *tensors);
    ASSERT_TRUE(back) << back.error().str();
    for (int64_t i = 0; i < n; ++i)  // twice as much is one more in the exponent
      ASSERT_EQ((*back)[1].as<uint16_t>()[i], x.as<uint16_t>()[i + from] + 0x80) << from << " at " << i;
  }
}

TEST_F(OnGpu, QuickGeluIsAsCloseAsItsHalves) {
  const CompiledCuda program = compiled(R"(graph @gelu(%x: f16[N]) {
    %0 = gelu %x : f16[N]
    return %0
  })");
  std::vector<double> exact;
  Array x(DType::f16, {1 << 16});
  for (int64_t i = 0; i < 1 << 16; ++i) {
    x.as<uint16_t>()[i] = static_cast<uint16_t>(i);
    const double v = halfToFloat(static_cast<uint16_t>(i));
    exact.push_back(0.5 * v * std::erfc(-v / std::numbers::sqrt2));
  }
  const auto outputs = runOnDevice(program, {x});
  ASSERT_TRUE(outputs) << outputs.error().str();
  for (int64_t i = 0; i < 1 << 16; ++i) {
    const double v = halfToFloat(x.as<uint16_t>()[i]), y = halfToFloat((*outputs)[0].as<uint16_t>()[i]);
    if (std::isnan(exact[i]) || std::isinf(v)) {
      EXPECT_EQ(std::isnan(y), std::isnan(exact[i])) << v;
      continue;
    }
    // Half a unit of the last place, and what 1 + erf lacks in single precision.
    const double unit = std::ldexp(1.0, std::max(std::ilogb(std::max(std::abs(exact[i]), 1e-8)), -14) - 10);
    EXPECT_LE(std::abs(y - exact[i]), 0.51 * unit + std::abs(v) * 0x1p-22) << v;
  }
}

TEST_F(OnGpu, ManySizesOfOneProgram) {
  const CompiledCuda program = compiled(kScale);
  for (int64_t n : {0, 1, 3, 4, 5, 255, 1023, 1024, 1025, 4095, 70001, 1 << 22}) {
    const Array x = counting(n);
    const auto outputs = runOnDevice(program, {x});
    ASSERT_TRUE(outputs) << outputs.error().str();
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ((*outputs)[0].as<float>()[i], 2 * x.as<float>()[i]) << n << " at " << i;
  }
}

TEST_F(OnGpu, MoreThanTwoToThe31Elements) {
  const CompiledCuda program = compiled(R"(graph @flip(%x: u8[N]) {
    %0 = bitnot %x : u8[N]
    return %0
  })");
  const int64_t n = (int64_t{1} << 31) + 12345;
  if (program.device.device->info().totalBytes < 3 * n) GTEST_SKIP() << "the device is too small";
  Array x(DType::u8, {n});
  for (int64_t i = 0; i < n; i += 4099) x.as<uint8_t>()[i] = static_cast<uint8_t>(i * 7);
  const auto outputs = runOnDevice(program, {x});
  ASSERT_TRUE(outputs) << outputs.error().str();
  int64_t wrong = 0;
  for (int64_t i = 0; i < n; ++i) wrong += (*outputs)[0].as<uint8_t>()[i] != static_cast<uint8_t>(~x.as<uint8_t>()[i]);
  EXPECT_EQ(wrong, 0);
}

TEST_F(OnGpu, RunsOutOfMemoryCleanly) {
  const CompiledCuda program = compiled(kScale);
  const Array one = counting(16);
  const auto tensors = copyToDevice(program.device, {one});
  ASSERT_TRUE(tensors);
  const int64_t shape[] = {program.device.device->info().totalBytes};  // elements of four bytes: never read
  const runtime::TensorRef in{(*tensors)[0].data(), DType::f32, 1, shape, nullptr};
  const auto outputs = program.executable->run({&in, 1});
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code, "T0612") << outputs.error().str();
  EXPECT_TRUE(runOnDevice(program, {one})) << "the device is usable afterwards";
}

}  // namespace
}  // namespace tokamak::gpu
