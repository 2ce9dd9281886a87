#include <bit>
#include <cmath>
#include <limits>

#include "codegen/llvm/testing.h"

/// Casts between all dtypes, and the halves over all their bit patterns.
namespace tokamak::codegen {
namespace {

using namespace kernel;
using testing::run;

constexpr DType kAllTypes[] = {DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                               DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64};

Kernel castKernel(DType from, DType to, int64_t count, int lanes) {
  Writer w("cast");
  BufferId x = w.global("x", from, count, Access::in), y = w.global("y", to, count, Access::out);
  w.loop("i", w.i64(0), w.i64(count), lanes, Binding::serial,
         [&](ExprId i) { w.store(y, i, w.convert(w.load(x, i, lanes), to)); });
  return std::move(w).finish();
}

Array cast(const Array& x, DType to, int lanes, const HostTarget& target = HostTarget::detect()) {
  std::vector<Array> buffers = {x, Array(to, {x.size()})};
  run(castKernel(x.dtype(), to, x.size(), lanes), buffers, {}, target);
  return buffers[1];
}

Array allPatterns(DType t) {
  Array x(t, {65536});
  for (int i = 0; i < 65536; ++i) x.as<uint16_t>()[i] = static_cast<uint16_t>(i);
  return x;
}

/// Floats around every half: the value itself, the midpoint to the next one, and the neighbours of both.
Array floatsAround(DType half) {
  Array x(DType::f32, {int64_t{65536} * 6});
  for (int64_t i = 0; i < 65536; ++i) {
    auto bits = static_cast<uint16_t>(i);
    const float value = half == DType::f16 ? halfToFloat(bits) : bfloatToFloat(bits);
    const float next = half == DType::f16 ? halfToFloat(bits + 1) : bfloatToFloat(bits + 1);
    const float middle = std::isfinite(next) ? value + (next - value) / 2 : value * 1.5f;
    const float inf = std::numeric_limits<float>::infinity();
    const float around[] = {value,  std::nextafter(value, inf),  std::nextafter(value, -inf),
                            middle, std::nextafter(middle, inf), std::nextafter(middle, -inf)};
    std::copy(around, around + 6, x.as<float>() + i * 6);
  }
  return x;
}

const std::vector<HostTarget>& targets() {
  static const std::vector<HostTarget> all = {HostTarget::detectUpTo(64), HostTarget::detectUpTo(32),
                                              HostTarget::detectUpTo(16)};
  return all;
}

class Halves : public ::testing::TestWithParam<DType> {};

TEST_P(Halves, WidenEveryPattern) {
  const DType half = GetParam();
  const Array x = allPatterns(half);
  for (const HostTarget& target : targets())
    for (int lanes : {1, 16, 64}) {
      const Array y = cast(x, DType::f32, lanes, target);
      for (int i = 0; i < 65536; ++i) {
        auto bits = static_cast<uint16_t>(i);
        const float want = half == DType::f16 ? halfToFloat(bits) : bfloatToFloat(bits);
        const float got = y.as<float>()[i];
        if (std::isnan(want))
          ASSERT_TRUE(std::isnan(got)) << i;
        else
          ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(want)) << i << " lanes " << lanes;
      }
    }
}

void expectNarrowed(DType half, float x, uint16_t got) {
  const uint16_t want = half == DType::f16 ? floatToHalf(x) : floatToBfloat(x);
  const float back = half == DType::f16 ? halfToFloat(got) : bfloatToFloat(got);
  if (std::isnan(x))
    ASSERT_TRUE(std::isnan(back)) << x;
  else
    ASSERT_EQ(got, want) << x;
}

TEST_P(Halves, NarrowToNearestEven) {
  const DType half = GetParam();
  const Array x = floatsAround(half);
  for (const HostTarget& target : targets())
    for (int lanes : {1, 16, 64}) {
      const Array y = cast(x, half, lanes, target);
      for (int64_t i = 0; i < x.size(); ++i) expectNarrowed(half, x.as<float>()[i], y.as<uint16_t>()[i]);
      if (HasFatalFailure()) return;
    }
}

TEST_P(Halves, NarrowFromDoubleRoundsOnce) {
  const DType half = GetParam();
  const Array single = floatsAround(half);
  Array x(DType::f64, {single.size()});
  // One part in 2^40 beside a tie is lost in f32: rounding twice would go wrong.
  for (int64_t i = 0; i < x.size(); ++i) x.as<double>()[i] = single.as<float>()[i] * (1 + (i % 3 - 1) * 0x1p-40);
  for (const HostTarget& target : targets()) {
    const Array y = cast(x, half, 16, target);
    for (int64_t i = 0; i < x.size(); ++i) {
      const double want = roundTo(half, x.as<double>()[i]);
      if (std::isnan(want))
        ASSERT_TRUE(std::isnan(y.getDouble(i)));
      else
        ASSERT_EQ(y.getDouble(i), want) << x.as<double>()[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Both, Halves, ::testing::Values(DType::f16, DType::bf16),
                         [](const auto& info) { return std::string(nameOf(info.param)); });

Array edgeValues(DType t) {
  Array x(t, {64});
  const double floats[] = {0.0,           -0.0,   1,       -1,   0.5,   -0.5,     2.5,       -2.5,         127,
                           128,           255,    256,     -129, 300,   32768,    -32769,    2147483648.0, 4294967296.0,
                           -2147483649.0, 9.3e18, -9.3e18, 1e30, -1e30, INFINITY, -INFINITY, NAN,          65504,
                           65520,         1e-8,   3e-39};
  const int64_t integers[] = {0,
                              1,
                              -1,
                              2,
                              127,
                              128,
                              255,
                              256,
                              -128,
                              32767,
                              -32768,
                              16777217,
                              16777219,
                              33554435,
                              2147483647,
                              -2147483647 - 1,
                              INT64_MAX,
                              INT64_MIN,
                              (1ll << 53) + 1,
                              2049,
                              2051,
                              257,
                              259,
                              65519,
                              65520,
                              65535,
                              0x7fffffbfffffffff};
  for (int64_t i = 0; i < 64; ++i) {
    if (isFloat(t))
      x.setDouble(i, floats[i % std::size(floats)]);
    else
      x.setInt(i, integers[i % std::size(integers)]);
  }
  return x;
}

/// One kernel casts to every type.
std::vector<Array> castToAll(const Array& x, int lanes) {
  Writer w("cast_to_all");
  BufferId in = w.global("x", x.dtype(), x.size(), Access::in);
  std::vector<Array> buffers = {x};
  std::vector<BufferId> outs;
  for (DType to : kAllTypes) {
    outs.push_back(w.global("y_" + std::string(nameOf(to)), to, x.size(), Access::out));
    buffers.emplace_back(to, std::vector<int64_t>{x.size()});
  }
  w.loop("i", w.i64(0), w.i64(x.size()), lanes, Binding::serial, [&](ExprId i) {
    for (size_t t = 0; t < outs.size(); ++t) w.store(outs[t], i, w.convert(w.load(in, i, lanes), kAllTypes[t]));
  });
  run(std::move(w).finish(), buffers);
  return buffers;
}

void expectCast(const Array& x, const Array& y) {
  for (int64_t i = 0; i < x.size(); ++i) {
    Array want(y.dtype(), {1});
    if (isFloat(x.dtype()))
      want.setDouble(0, x.getDouble(i));
    else if (y.dtype() == DType::f32)
      want.as<float>()[0] = static_cast<float>(x.getInt(i));
    else
      want.setInt(0, x.getInt(i));
    const std::string what = std::string(nameOf(x.dtype())) + " to " + std::string(nameOf(y.dtype())) + " of " +
                             std::to_string(x.getDouble(i));
    if (isFloat(y.dtype()) && std::isnan(want.getDouble(0)))
      ASSERT_TRUE(std::isnan(y.getDouble(i))) << what;
    else if (isFloat(y.dtype()))
      ASSERT_EQ(y.getDouble(i), want.getDouble(0)) << what;
    else
      ASSERT_EQ(y.getInt(i), want.getInt(0)) << what;
  }
}

TEST(Convert, EveryPairOfTypes) {
  for (DType from : kAllTypes)
    for (int lanes : {1, 4, 16, 64}) {
      std::vector<Array> buffers = castToAll(edgeValues(from), lanes);
      for (size_t t = 1; t < buffers.size(); ++t) expectCast(buffers[0], buffers[t]);
    }
}

}  // namespace
}  // namespace tokamak::codegen
