#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "codegen/llvm/math/math_jit.h"
#include "codegen/llvm/math/math_reference.h"

namespace tokamak::codegen::math {
namespace {

constexpr double largestAllowed = 4.0;

template <class T>
using Wider = std::conditional_t<std::is_same_v<T, float>, double, long double>;

std::vector<UnaryKind> servedUnary() {
  std::vector<UnaryKind> kinds;
  for (size_t i = 0; i < EnumNames<UnaryKind>::names.size(); ++i) {
    auto kind = static_cast<UnaryKind>(i);
    if (isFloatOnly(kind) && kind != UnaryKind::sqrt && kind != UnaryKind::reciprocal) kinds.push_back(kind);
  }
  return kinds;
}

constexpr BinaryKind servedBinary[] = {BinaryKind::pow, BinaryKind::atan2, BinaryKind::fmod, BinaryKind::rem,
                                       BinaryKind::floordiv};

std::vector<MathTarget> targets() {
  return hostHasAvx512() ? std::vector{MathTarget::plain, MathTarget::avx512} : std::vector{MathTarget::plain};
}

template <class T>
std::vector<T> specialValues() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values;
  for (T v : {T(0),
              Limits::denorm_min(),
              Limits::denorm_min() * 3,
              Limits::min() / 2,
              Limits::min(),
              Limits::epsilon(),
              T(0.25),
              T(0.5),
              T(1),
              T(1.5),
              T(2),
              T(3),
              T(10),
              T(88.7),
              T(89.5),
              T(100),
              T(709.7),
              T(1000),
              Limits::max() / 2,
              Limits::max(),
              Limits::infinity(),
              Limits::quiet_NaN()}) {
    for (T near : {v, std::nextafter(v, T(0)), std::nextafter(v, Limits::infinity())}) {
      values.push_back(near);
      values.push_back(-near);
    }
  }
  return values;
}

/// Random significands and signs under every exponent, then ordinary numbers, then the special values; the length is a
/// multiple of 64.
template <class T>
std::vector<T> samples(size_t count, uint32_t seed) {
  using Bits = std::conditional_t<std::is_same_v<T, float>, uint32_t, uint64_t>;
  std::mt19937_64 random(seed);
  std::vector<T> values = specialValues<T>();
  constexpr int significandBits = std::numeric_limits<T>::digits - 1;
  constexpr Bits exponents = (Bits{1} << (8 * sizeof(T) - 1 - significandBits)) - 1;
  for (Bits i = 0; values.size() < count * 3 / 4; ++i) {
    Bits significand = static_cast<Bits>(random()) & ((Bits{1} << significandBits) - 1);
    Bits sign = static_cast<Bits>(random() & 1) << (8 * sizeof(T) - 1);
    values.push_back(std::bit_cast<T>(sign | (i % exponents) << significandBits | significand));
  }
  std::uniform_real_distribution<T> near(-4, 4), far(-110, 110);
  while (values.size() < count) values.push_back(values.size() % 2 ? near(random) : far(random));
  while (values.size() % 64 != 0) values.push_back(T(1));
  return values;
}

template <class T>
void expectClose(std::string_view name, LoopSpec spec, const std::vector<T>& a, const std::vector<T>& b,
                 const std::vector<T>& got, auto exactOf) {
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    double distance = ulpDistance(got[i], exactOf(a[i], b[i]));
    if (distance > worst) worst = distance, at = i;
  }
  EXPECT_LE(worst, largestAllowed) << fmt::format(
      "{}({}, {}) = {}, not {}; {} lanes of {}, {}", name, a[at], b[at], got[at], static_cast<T>(exactOf(a[at], b[at])),
      spec.lanes, spec.isDouble ? "f64" : "f32", spec.target == MathTarget::plain ? "plain" : "AVX-512");
}

template <class T>
void checkUnary(UnaryKind kind, LoopSpec spec, const std::vector<T>& a) {
  spec.isDouble = std::is_same_v<T, double>;
  MathLoop<T> loop(kind, spec);
  std::vector<T> got(a.size());
  loop.run(a.data(), a.data(), got.data(), static_cast<int64_t>(a.size()));
  expectClose(EnumNames<UnaryKind>::names[static_cast<size_t>(kind)], spec, a, a, got,
              [&](T x, T) { return reference(kind, static_cast<Wider<T>>(x)); });
}

template <class T>
void checkBinary(BinaryKind kind, LoopSpec spec, const std::vector<T>& a, const std::vector<T>& b) {
  spec.isDouble = std::is_same_v<T, double>;
  MathLoop<T> loop(kind, spec);
  std::vector<T> got(a.size());
  loop.run(a.data(), b.data(), got.data(), static_cast<int64_t>(a.size()));
  // The remainders of torch are defined by arithmetic of the type itself, or, for floats, of a wider one.
  using W = std::conditional_t<std::is_same_v<T, float>, double, double>;
  expectClose(EnumNames<BinaryKind>::names[static_cast<size_t>(kind)], spec, a, b, got,
              [&](T x, T y) { return reference(kind, static_cast<W>(x), static_cast<W>(y)); });
}

/// Pairs of special values, pairs of unlike size, pairs of like size.
template <class T>
std::pair<std::vector<T>, std::vector<T>> pairs(size_t count) {
  std::pair<std::vector<T>, std::vector<T>> result;
  auto& [a, b] = result;
  for (T x : specialValues<T>()) {
    for (T y : specialValues<T>()) a.push_back(x), b.push_back(y);
  }
  std::vector<T> x = samples<T>(count, 1), y = samples<T>(count, 2);
  std::shuffle(y.begin(), y.end(), std::mt19937_64(3));
  std::mt19937_64 random(4);
  std::uniform_real_distribution<T> ordinary(-20, 20);
  for (size_t i = 0; i < count; ++i) a.push_back(x[i]), b.push_back(y[i]);
  for (size_t i = 0; i < count; ++i) a.push_back(ordinary(random)), b.push_back(ordinary(random));
  for (size_t i = 0; i < count; ++i) a.push_back(ordinary(random)), b.push_back(std::round(ordinary(random)));
  while (a.size() % 64 != 0) a.push_back(1), b.push_back(1);
  return result;
}

class UnaryMath : public testing::TestWithParam<UnaryKind> {};

TEST_P(UnaryMath, FloatsAreWithinFourUlpOnEveryTarget) {
  std::vector<float> inputs = samples<float>(100'000, 0);
  for (MathTarget target : targets()) {
    checkUnary<float>(GetParam(), {.lanes = target == MathTarget::plain ? 8u : 16u, .target = target}, inputs);
  }
}

TEST_P(UnaryMath, AnyNumberOfLanes) {
  std::vector<float> inputs = samples<float>(2'000, 5);
  for (MathTarget target : targets()) {
    for (unsigned lanes : {1u, 4u, 64u}) { checkUnary<float>(GetParam(), {.lanes = lanes, .target = target}, inputs); }
  }
}

TEST_P(UnaryMath, DoublesAreWithinFourUlp) {
  std::vector<double> inputs = samples<double>(20'000, 0);
  for (MathTarget target : targets()) {
    for (unsigned lanes : {1u, 8u}) checkUnary<double>(GetParam(), {.lanes = lanes, .target = target}, inputs);
  }
}

INSTANTIATE_TEST_SUITE_P(All, UnaryMath, testing::ValuesIn(servedUnary()), [](const auto& info) {
  return std::string(EnumNames<UnaryKind>::names[static_cast<size_t>(info.param)]);
});

class BinaryMath : public testing::TestWithParam<BinaryKind> {};

TEST_P(BinaryMath, FloatsAreWithinFourUlpOnEveryTarget) {
  auto [a, b] = pairs<float>(30'000);
  for (MathTarget target : targets()) {
    for (unsigned lanes : {1u, 16u}) checkBinary<float>(GetParam(), {.lanes = lanes, .target = target}, a, b);
  }
}

TEST_P(BinaryMath, DoublesAreWithinFourUlp) {
  auto [a, b] = pairs<double>(5'000);
  for (MathTarget target : targets()) {
    for (unsigned lanes : {1u, 8u}) checkBinary<double>(GetParam(), {.lanes = lanes, .target = target}, a, b);
  }
}

INSTANTIATE_TEST_SUITE_P(All, BinaryMath, testing::ValuesIn(servedBinary), [](const auto& info) {
  return std::string(EnumNames<BinaryKind>::names[static_cast<size_t>(info.param)]);
});

TEST(VectorMath, PowersWithConstantExponentsAreRight) {
  std::vector<float> inputs = samples<float>(20'000, 7);
  for (double exponent : {-1.0, 0.5, 1.0, 2.0, 3.0, 0.0, 2.5}) {
    auto emit = [&](llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value*) {
      return emitMath(b, BinaryKind::pow, x, llvm::ConstantFP::get(x->getType(), exponent));
    };
    LoopSpec spec{.target = targets().back()};
    MathLoop<float> loop(emit, spec);
    std::vector<float> got(inputs.size());
    loop.run(inputs.data(), inputs.data(), got.data(), static_cast<int64_t>(inputs.size()));
    expectClose(fmt::format("pow {}", exponent), spec, inputs, inputs, got,
                [&](float x, float) { return std::pow(static_cast<double>(x), exponent); });
  }
}

TEST(VectorMath, BoundedFunctionsStayWithinTheirBounds) {
  std::vector<float> inputs = samples<float>(100'000, 9), got(inputs.size());
  for (UnaryKind kind : {UnaryKind::tanh, UnaryKind::erf, UnaryKind::sin, UnaryKind::cos, UnaryKind::sigmoid}) {
    for (MathTarget target : targets()) {
      MathLoop<float>(kind, {.target = target})
          .run(inputs.data(), inputs.data(), got.data(), static_cast<int64_t>(got.size()));
      for (size_t i = 0; i < got.size(); ++i) EXPECT_FALSE(std::fabs(got[i]) > 1.0f) << inputs[i];
    }
  }
}

TEST(VectorMath, PlainInstructionsAreLeftToTheCaller) {
  llvm::LLVMContext context;
  llvm::IRBuilder<> builder(context);
  llvm::Value* x = llvm::ConstantFP::get(builder.getFloatTy(), 2.0);
  for (UnaryKind kind : {UnaryKind::neg, UnaryKind::sqrt, UnaryKind::reciprocal, UnaryKind::floor, UnaryKind::isnan}) {
    EXPECT_EQ(emitMath(builder, kind, x), nullptr);
  }
  EXPECT_EQ(emitMath(builder, BinaryKind::add, x, x), nullptr);
}

TEST(VectorMath, WorksInTheMiddleOfABlock) {
  llvm::LLVMContext context;
  llvm::Module module("m", context);
  llvm::IRBuilder<> builder(context);
  auto* type = llvm::FixedVectorType::get(builder.getFloatTy(), 8);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(type, {type}, false), llvm::Function::ExternalLinkage,
                                          "f", module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  llvm::Value* x = function->getArg(0);
  auto* sum = llvm::cast<llvm::Instruction>(builder.CreateFAdd(x, x));
  builder.CreateRet(sum);
  builder.SetInsertPoint(sum);
  sum->setOperand(0, emitMath(builder, UnaryKind::sin, x));
  sum->setOperand(1, emitMath(builder, BinaryKind::fmod, x, x));
  EXPECT_FALSE(llvm::verifyModule(module, &llvm::errs()));
  EXPECT_EQ(&*builder.GetInsertPoint(), sum);
}

TEST(VectorMath, FastMathFlagsOfTheBuilderDoNotLeakIn) {
  llvm::LLVMContext context;
  llvm::Module module("m", context);
  llvm::IRBuilder<> builder(context);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(builder.getFloatTy(), {builder.getFloatTy()}, false),
                                          llvm::Function::ExternalLinkage, "f", module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  builder.setFastMathFlags(llvm::FastMathFlags::getFast());
  builder.CreateRet(emitMath(builder, UnaryKind::tanh, function->getArg(0)));
  EXPECT_TRUE(builder.getFastMathFlags().isFast());
  for (llvm::Instruction& instruction : function->getEntryBlock()) {
    if (llvm::isa<llvm::FPMathOperator>(instruction)) EXPECT_FALSE(instruction.getFastMathFlags().any());
  }
}

}  // namespace
}  // namespace tokamak::codegen::math
