#include <bit>
#include <cmath>
#include <limits>

#include "codegen/llvm/testing.h"

/// Every scalar operation on every dtype and lane count against evalUnary and evalBinary.
namespace tokamak::codegen {
namespace {

using namespace kernel;
using testing::run;

constexpr int64_t kCount = 192;  // whole vectors of up to 64 lanes
constexpr DType kComputeTypes[] = {DType::boolean, DType::u8,  DType::i8,  DType::i16,
                                   DType::i32,     DType::i64, DType::f32, DType::f64};

std::vector<double> floatEdges(DType t) {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<double> edges = {0.0, -0.0, 1,  -1,  0.5, -0.5, 1.5,          2.5,  -2.5, 2,    3,
                               -3,  7.25, 80, -80, inf, -inf, std::nan(""), 1e-3, 0.75, -0.75};
  const bool single = t == DType::f32;
  for (double v : {single ? 0x1p-149 : 0x1p-1074, single ? 0x1p-126 : 0x1p-1022,
                   single ? 0x1.fffffep127 : 0x1.fffffffffffffp1023, single ? 8388609.0 : 0x1.0000000000001p52})
    edges.insert(edges.end(), {v, -v});
  return edges;
}

std::vector<int64_t> integerEdges(DType t) {
  if (t == DType::boolean) return {0, 1};
  const int width = bitWidth(t);
  std::vector<int64_t> edges = {0, 1, 2, 3, 5, 7, 8, 31, 33, 63, 64, 100};
  if (!isSigned(t)) {
    edges.insert(edges.end(), {127, 128, 254, 255});
    return edges;
  }
  const auto least = static_cast<int64_t>(~uint64_t{0} << (width - 1));
  edges.insert(edges.end(), {-1, -2, -3, -7, -100, least, least + 1, -(least + 1)});
  return edges;
}

/// Two arrays whose elements run through all pairs of edge values as far as they fit.
std::pair<Array, Array> edgePairs(DType t) {
  Array a(t, {kCount}), b(t, {kCount});
  for (int64_t i = 0; i < kCount; ++i) {
    if (isFloat(t)) {
      auto edges = floatEdges(t);
      const auto n = static_cast<int64_t>(edges.size());
      a.setDouble(i, edges[i % n]);
      b.setDouble(i, edges[(i * 7 + i / n) % n]);
    } else {
      auto edges = integerEdges(t);
      const auto n = static_cast<int64_t>(edges.size());
      a.setInt(i, edges[i % n]);
      b.setInt(i, edges[(i / n + i) % n]);
    }
  }
  return {a, b};
}

double ulp(DType t, double x) {
  if (t == DType::f64) return std::max(std::abs(std::nextafter(x, INFINITY) - x), 0x1p-1074);
  const auto f = static_cast<float>(std::abs(x));
  return std::isfinite(f) ? std::nextafter(f, INFINITY) - f : 0;
}

::testing::AssertionResult close(DType t, double got, double want, double ulps) {
  want = roundTo(t, want);
  if (std::isnan(want))
    return std::isnan(got) ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << got << ", not NaN";
  if (got == want) return ::testing::AssertionSuccess();
  if (std::isfinite(want) && std::abs(got - want) <= ulps * ulp(t, want)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << got << " is not " << want;
}

/// Writes kind(a), or kind(a, b), to one output a kind.
Kernel elementwise(DType t, int lanes, const std::vector<UnaryKind>& unary, const std::vector<BinaryKind>& binary) {
  Writer w("elementwise");
  BufferId a = w.global("a", t, kCount, Access::in), b = w.global("b", t, kCount, Access::in);
  std::vector<BufferId> outputs;
  outputs.reserve(unary.size() + binary.size());
  for (UnaryKind k : unary)
    outputs.push_back(w.global("u_" + std::string(nameOf(k)), resultType(k, t), kCount, Access::out));
  for (BinaryKind k : binary)
    outputs.push_back(w.global("b_" + std::string(nameOf(k)), resultType(k, t), kCount, Access::out));
  w.loop("i", w.i64(0), w.i64(kCount), lanes, Binding::serial, [&](ExprId i) {
    ExprId x = w.load(a, i, lanes), y = w.load(b, i, lanes);
    size_t next = 0;
    for (UnaryKind k : unary) w.store(outputs[next++], i, w.unary(k, x));
    for (BinaryKind k : binary) w.store(outputs[next++], i, w.binary(k, x, y));
  });
  return std::move(w).finish();
}

bool isExact(UnaryKind k) { return !isFloatOnly(k) || k == UnaryKind::sqrt || k == UnaryKind::reciprocal; }
bool isExact(BinaryKind k) {
  return k != BinaryKind::pow && k != BinaryKind::atan2 && k != BinaryKind::floordiv && k != BinaryKind::rem;
}

void checkElementwise(DType t, int lanes, const HostTarget& target) {
  std::vector<UnaryKind> unary;
  std::vector<BinaryKind> binary;
  for (size_t k = 0; k < EnumNames<UnaryKind>::names.size(); ++k)
    if (isDefined(static_cast<UnaryKind>(k), t)) unary.push_back(static_cast<UnaryKind>(k));
  for (size_t k = 0; k < EnumNames<BinaryKind>::names.size(); ++k)
    if (isDefined(static_cast<BinaryKind>(k), t)) binary.push_back(static_cast<BinaryKind>(k));
  auto [a, b] = edgePairs(t);
  std::vector<Array> buffers = {a, b};
  for (UnaryKind k : unary) buffers.emplace_back(resultType(k, t), std::vector<int64_t>{kCount});
  for (BinaryKind k : binary) buffers.emplace_back(resultType(k, t), std::vector<int64_t>{kCount});
  run(elementwise(t, lanes, unary, binary), buffers, {}, target);

  auto check = [&](const Array& out, int64_t i, auto evalFloat, auto evalInt, double ulps, std::string_view name) {
    const std::string what = std::string(name) + " " + std::string(nameOf(t)) + "x" + std::to_string(lanes) + " of " +
                             std::to_string(a.getDouble(i)) + ", " + std::to_string(b.getDouble(i));
    if (isFloat(t))
      ASSERT_TRUE(close(out.dtype(), out.getDouble(i), evalFloat(a.getDouble(i), b.getDouble(i)), ulps)) << what;
    else
      ASSERT_EQ(out.getInt(i), evalInt(a.getInt(i), b.getInt(i))) << what;
  };
  for (int64_t i = 0; i < kCount; ++i) {
    for (size_t k = 0; k < unary.size(); ++k)
      check(
          buffers[2 + k], i, [&](double x, double) { return evalUnary(unary[k], x); },
          [&](int64_t x, int64_t) { return evalUnary(unary[k], t, x); }, isExact(unary[k]) ? 0 : 4, nameOf(unary[k]));
    for (size_t k = 0; k < binary.size(); ++k)
      check(
          buffers[2 + unary.size() + k], i, [&](double x, double y) { return evalBinary(binary[k], x, y); },
          [&](int64_t x, int64_t y) { return evalBinary(binary[k], t, x, y); }, isExact(binary[k]) ? 0 : 4,
          nameOf(binary[k]));
  }
}

class Arithmetic : public ::testing::TestWithParam<std::tuple<DType, int>> {};

TEST_P(Arithmetic, EveryKindOnEdgeValues) {
  auto [dtype, lanes] = GetParam();
  checkElementwise(dtype, lanes, HostTarget::detect());
}

INSTANTIATE_TEST_SUITE_P(AllTypes, Arithmetic,
                         ::testing::Combine(::testing::ValuesIn(kComputeTypes), ::testing::Values(1, 4, 16, 64)),
                         [](const auto& info) {
                           return std::string(nameOf(std::get<0>(info.param))) + "x" +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST(ArithmeticOnNarrowMachines, EveryKindOnEdgeValues) {
  for (DType dtype : kComputeTypes)
    for (int bytes : {16, 32}) checkElementwise(dtype, 8, HostTarget::detectUpTo(bytes));
}

}  // namespace
}  // namespace tokamak::codegen
