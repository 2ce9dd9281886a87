#include <cmath>

#include "codegen/llvm/testing.h"
#include "support/philox.h"

/// Folds, prefixes, ramps, extraction and Philox.
namespace tokamak::codegen {
namespace {

using namespace kernel;
using testing::run;

constexpr DType kComputeTypes[] = {DType::boolean, DType::u8,  DType::i8,  DType::i16,
                                   DType::i32,     DType::i64, DType::f32, DType::f64};

Array someValues(DType t, int64_t size, bool withNaN) {
  Array x(t, {size});
  for (int64_t i = 0; i < size; ++i) {
    if (isFloat(t))
      x.setDouble(i, withNaN && i == size / 3 ? NAN : std::ldexp((i * 29 % 31) - 15.3, -3) + 1.9);
    else
      x.setInt(i, t == DType::boolean ? (i * 5 % 7) > 2 : i * 2654435761 >> 3);
  }
  return x;
}

/// The element type's own arithmetic.
double combineFloat(DType t, BinaryKind k, double a, double b) { return roundTo(t, evalBinary(k, a, b)); }

Array foldInHalves(const Array& x, BinaryKind k) {
  Array v = x;
  for (int64_t n = x.size() / 2; n >= 1; n /= 2)
    for (int64_t i = 0; i < n; ++i) {
      if (isFloat(x.dtype()))
        v.setDouble(i, combineFloat(x.dtype(), k, v.getDouble(i), v.getDouble(i + n)));
      else
        v.setInt(i, evalBinary(k, x.dtype(), v.getInt(i), v.getInt(i + n)));
    }
  return v;
}

std::vector<BinaryKind> foldKinds(DType t) {
  std::vector<BinaryKind> kinds = {BinaryKind::add, BinaryKind::mul, BinaryKind::max, BinaryKind::min};
  if (!isFloat(t)) kinds.insert(kinds.end(), {BinaryKind::bit_and, BinaryKind::bit_or});
  return kinds;
}

TEST(Lanes, FoldsCombineHalves) {
  for (DType t : kComputeTypes)
    for (int lanes : {2, 4, 16, 64})
      for (bool withNaN : {false, true}) {
        auto kinds = foldKinds(t);
        Writer w("fold");
        BufferId x = w.global("x", t, lanes, Access::in),
                 y = w.global("y", t, static_cast<int>(kinds.size()), Access::out);
        for (size_t k = 0; k < kinds.size(); ++k) w.store(y, w.i64(k), w.fold(kinds[k], w.load(x, w.i64(0), lanes)));
        Kernel kernel = std::move(w).finish();
        std::vector<Array> buffers = {someValues(t, lanes, withNaN), Array(t, {static_cast<int64_t>(kinds.size())})};
        run(kernel, buffers);
        for (size_t k = 0; k < kinds.size(); ++k) {
          const Array want = foldInHalves(buffers[0], kinds[k]);
          if (isFloat(t) && std::isnan(want.getDouble(0)))
            EXPECT_TRUE(std::isnan(buffers[1].getDouble(k))) << nameOf(kinds[k]);
          else
            EXPECT_EQ(buffers[1].getDouble(k), want.getDouble(0))
                << nameOf(t) << "x" << lanes << " " << nameOf(kinds[k]);
        }
      }
}

TEST(Lanes, PrefixesRunOverAllLanes) {
  for (DType t : kComputeTypes)
    for (int lanes : {4, 16, 64})
      for (BinaryKind kind : {BinaryKind::add, BinaryKind::mul, BinaryKind::max, BinaryKind::min}) {
        Writer w("prefix");
        BufferId x = w.global("x", t, lanes, Access::in), y = w.global("y", t, lanes, Access::out);
        w.store(y, w.i64(0), w.prefix(kind, w.load(x, w.i64(0), lanes)));
        Kernel kernel = std::move(w).finish();
        std::vector<Array> buffers = {someValues(t, lanes, false), Array(t, {lanes})};
        run(kernel, buffers);
        double running = buffers[0].getDouble(0);
        int64_t exact = buffers[0].getInt(0);
        for (int64_t i = 0; i < lanes; ++i) {
          if (i) running = evalBinary(kind, running, buffers[0].getDouble(i));
          if (i && !isFloat(t)) exact = evalBinary(kind, t, exact, buffers[0].getInt(i));
          if (isFloat(t))
            EXPECT_NEAR(buffers[1].getDouble(i), running, 1e-5 * std::abs(running)) << nameOf(kind) << i;
          else
            EXPECT_EQ(buffers[1].getInt(i), exact) << nameOf(t) << "x" << lanes << " " << nameOf(kind) << " lane " << i;
        }
      }
}

TEST(Lanes, PrefixKeepsNaNFromItsLaneOn) {
  Writer w("prefix_max");
  BufferId x = w.global("x", DType::f32, 16, Access::in), y = w.global("y", DType::f32, 16, Access::out);
  w.store(y, w.i64(0), w.prefix(BinaryKind::max, w.load(x, w.i64(0), 16)));
  Kernel kernel = std::move(w).finish();
  std::vector<Array> buffers = {someValues(DType::f32, 16, true), Array(DType::f32, {16})};
  run(kernel, buffers);
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(std::isnan(buffers[1].getDouble(i)), i >= 5) << i;
}

TEST(Lanes, RampsAndExtraction) {
  Writer w("ramp");
  BufferId y = w.global("y", DType::i64, 17, Access::out);
  ExprId ramp = w.ramp(w.dim(Dim::symbol("base")), 16);
  w.store(y, w.i64(0), ramp);
  w.store(y, w.i64(16), w.extract(ramp, 11));
  Kernel kernel = std::move(w).finish();
  std::vector<Array> buffers = {Array(DType::i64, {17})};
  run(kernel, buffers, {-3});
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(buffers[0].getInt(i), i - 3);
  EXPECT_EQ(buffers[0].getInt(16), 8);
}

TEST(Lanes, PhiloxGivesTheReferenceWords) {
  for (int lanes : {1, 4, 16, 64})
    for (int64_t first : {int64_t{0}, int64_t{1}, int64_t{3} << 33}) {
      Writer w("philox");
      BufferId y = w.global("y", DType::i64, 128, Access::out);
      Dim base = Dim::symbol("base");
      ExprId seed = w.dim(Dim::symbol("seed")), offset = w.dim(Dim::symbol("offset"));
      w.loop("i", w.i64(0), w.i64(128), lanes, Binding::serial,
             [&](ExprId i) { w.store(y, i, w.philox(seed, offset, w.ramp(w.add(i, w.dim(base)), lanes))); });
      Kernel kernel = std::move(w).finish();
      std::map<std::string, int64_t> values = {{"base", first}, {"seed", 0x123456789abcdef}, {"offset", -77}};
      std::vector<int64_t> symbols;
      symbols.reserve(kernel.symbols.size());
      for (const auto& name : kernel.symbols) symbols.push_back(values.at(name));
      std::vector<Array> buffers = {Array(DType::i64, {128})};
      run(kernel, buffers, symbols);
      for (int64_t i = 0; i < 128; ++i)
        ASSERT_EQ(buffers[0].getInt(i), philoxWord(values["seed"], values["offset"], first + i))
            << i << " lanes " << lanes;
    }
}

}  // namespace
}  // namespace tokamak::codegen
