#include "codegen/llvm/compile.h"

#include <cstring>

#include "codegen/llvm/testing.h"

/// Loops, parallel bodies and their environments, local buffers, refusals, loading.
namespace tokamak::codegen {
namespace {

using namespace kernel;
using testing::run;
using testing::SerialHost;

Array floats(int64_t size) {
  Array x(DType::f32, {size});
  for (int64_t i = 0; i < size; ++i) x.setDouble(i, (i * 31 % 17) - 8);
  return x;
}

/// y[i] = sum of row i of x[M, N], through a local copy of the row.
Kernel rowSum(const Dim& rows, const Dim& columns) {
  Writer w("row_sum");
  BufferId x = w.global("x", DType::f32, rows * columns, Access::in), y = w.global("y", DType::f32, rows, Access::out);
  BufferId row = w.local("row", DType::f32, columns);
  BufferId spare = w.local("spare", DType::f32, columns);
  ExprId scale = w.let("scale", w.dim(columns * 2));
  w.loop(
      "i", w.i64(0), w.dim(rows), 1, Binding::parallel,
      [&](ExprId i) {
        ExprId base = w.let("base", w.mul(i, w.dim(columns)));
        w.loop("j", w.i64(0), w.dim(columns), 1, Binding::serial, [&](ExprId j) {
          w.store(row, j, w.load(x, w.add(base, j)));
          w.store(spare, j, w.convert(scale, DType::f32));
        });
        VarId sum = w.declare("sum", w.imm(Scalar::of(0.0), DType::f32));
        w.loop("j", w.i64(0), w.dim(columns), 1, Binding::serial,
               [&](ExprId j) { w.assign(sum, w.add(w.get(sum), w.add(w.load(row, j), w.load(spare, j)))); });
        w.store(y, i, w.get(sum));
      },
      3);
  return std::move(w).finish();
}

void expectRowSums(const std::vector<Array>& buffers, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j) sum += buffers[0].getDouble(i * columns + j) + 2.0 * columns;
    ASSERT_EQ(buffers[1].getDouble(i), sum) << i;
  }
}

TEST(Parallel, LocalBuffersOfSymbolicSizeComeFromScratch) {
  Kernel k = rowSum(Dim::symbol("M"), Dim::symbol("N"));
  ASSERT_EQ(k.symbols.size(), 2u);
  auto loaded = testing::compileAndLoad(k);
  ASSERT_TRUE(loaded);
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{7, 5}, {1, 300}, {64, 16}, {0, 4}, {3, 0}}) {
    std::vector<int64_t> symbols = k.symbols[0] == "M" ? std::vector{rows, columns} : std::vector{columns, rows};
    for (int64_t piece : {int64_t{1}, int64_t{4}, INT64_MAX}) {
      std::vector<Array> buffers = {floats(rows * columns), Array(DType::f32, {rows})};
      SerialHost host;
      host.piece = piece;
      testing::call(*loaded, buffers, symbols, host);
      expectRowSums(buffers, rows, columns);
      EXPECT_EQ(host.lastCount, rows);
      EXPECT_EQ(host.lastGrain, 3);
      EXPECT_EQ(host.lastScratch, 2 * ((columns * 4 + 63) / 64 * 64));
    }
    std::vector<Array> buffers = {floats(rows * columns), Array(DType::f32, {rows})};
    testing::call(*loaded, buffers, symbols, testing::TwoThreadHost());
    expectRowSums(buffers, rows, columns);
  }
}

TEST(Parallel, SmallLocalBuffersNeedNoScratch) {
  auto loaded = testing::compileAndLoad(rowSum(5, 12));
  ASSERT_TRUE(loaded);
  std::vector<Array> buffers = {floats(60), Array(DType::f32, {5})};
  SerialHost host;
  testing::call(*loaded, buffers, {}, host);
  expectRowSums(buffers, 5, 12);
  EXPECT_EQ(host.lastScratch, 0);
}

TEST(Parallel, StepsAndBeginsAreCounted) {
  Writer w("steps");
  BufferId y = w.global("y", DType::i64, 64, Access::inout);
  w.loop("i", w.dim(Dim::symbol("b")), w.dim(Dim::symbol("e")), 5, Binding::parallel,
         [&](ExprId i) { w.store(y, i, i); });
  Kernel k = std::move(w).finish();
  auto loaded = testing::compileAndLoad(k);
  ASSERT_TRUE(loaded);
  for (auto [begin, end] : {std::pair<int64_t, int64_t>{3, 48}, {3, 49}, {10, 10}, {12, 4}, {0, 1}}) {
    std::vector<Array> buffers = {Array(DType::i64, {64})};
    SerialHost host;
    host.piece = 2;
    testing::call(*loaded, buffers, k.symbols[0] == "b" ? std::vector{begin, end} : std::vector{end, begin}, host);
    for (int64_t i = 0; i < 64; ++i)
      EXPECT_EQ(buffers[0].getInt(i), i >= begin && i < end && (i - begin) % 5 == 0 ? i : 0) << begin << ".." << end;
  }
}

/// Vectors, masks and mutable variables from outside are seen inside; two loops follow one another.
TEST(Parallel, EnvironmentsCarryEveryKindOfValue) {
  Writer w("environment");
  BufferId x = w.global("x", DType::f32, 16, Access::in), y = w.global("y", DType::f32, 64, Access::out);
  BufferId z = w.global("z", DType::f32, 64, Access::out);
  ExprId v = w.let("v", w.load(x, w.i64(0), 16));
  ExprId mask = w.let("mask", w.binary(BinaryKind::gt, v, w.imm(Scalar::of(0.0), DType::f32, 16)));
  VarId scale = w.declare("scale", w.imm(Scalar::of(2.0), DType::f32));
  w.assign(scale, w.add(w.get(scale), w.imm(Scalar::of(1.0), DType::f32)));
  w.loop("i", w.i64(0), w.i64(4), 1, Binding::parallel,
         [&](ExprId i) { w.store(y, w.mul(i, w.i64(16)), w.select(mask, w.mul(v, w.get(scale)), v)); });
  w.assign(scale, w.imm(Scalar::of(0.5), DType::f32));
  w.loop("i", w.i64(0), w.i64(4), 1, Binding::parallel, [&](ExprId i) {
    ExprId base = w.mul(i, w.i64(16));
    w.store(z, base, w.add(w.load(y, base, 16), w.splat(w.get(scale), 16)));
  });
  Kernel k = std::move(w).finish();
  std::vector<Array> buffers = {floats(16), Array(DType::f32, {64}), Array(DType::f32, {64})};
  run(k, buffers);
  for (int64_t i = 0; i < 64; ++i) {
    const double value = buffers[0].getDouble(i % 16);
    ASSERT_EQ(buffers[1].getDouble(i), value > 0 ? 3 * value : value);
    ASSERT_EQ(buffers[2].getDouble(i), buffers[1].getDouble(i) + 0.5);
  }
}

/// A large local buffer in a kernel without parallel loops: the whole body is one iteration.
TEST(Parallel, LargeLocalsWithoutParallelLoops) {
  Writer w("reverse");
  BufferId x = w.global("x", DType::f32, 20000, Access::in), y = w.global("y", DType::f32, 20000, Access::out);
  BufferId copy = w.local("copy", DType::f32, 20000);
  w.loop("i", w.i64(0), w.i64(20000), 1, Binding::serial, [&](ExprId i) { w.store(copy, i, w.load(x, i)); });
  w.loop("i", w.i64(0), w.i64(20000), 1, Binding::serial,
         [&](ExprId i) { w.store(y, i, w.load(copy, w.sub(w.i64(19999), i))); });
  Kernel k = std::move(w).finish();
  std::vector<Array> buffers = {floats(20000), Array(DType::f32, {20000})};
  run(k, buffers);
  for (int64_t i = 0; i < 20000; ++i) ASSERT_EQ(buffers[1].getDouble(i), buffers[0].getDouble(19999 - i));
}

TEST(Statements, UnrolledLoopsAndBranches) {
  Writer w("branches");
  BufferId y = w.global("y", DType::i64, 12, Access::out);
  w.loop("i", w.i64(0), w.i64(4), 1, Binding::serial, [&](ExprId i) {
    w.loop("j", w.i64(0), w.i64(3), 1, Binding::unroll, [&](ExprId j) {
      VarId v = w.declare("v", w.mul(i, j));
      w.when(
          w.binary(BinaryKind::eq, w.binary(BinaryKind::rem, w.add(i, j), w.i64(2)), w.i64(0)),
          [&] { w.assign(v, w.add(w.get(v), w.i64(100))); },
          [&] { w.when(w.binary(BinaryKind::gt, i, w.i64(2)), [&] { w.assign(v, w.i64(-1)); }); });
      w.store(y, w.add(w.mul(i, w.i64(3)), j), w.get(v));
    });
  });
  Kernel k = std::move(w).finish();
  std::vector<Array> buffers = {Array(DType::i64, {12})};
  run(k, buffers);
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 3; ++j) {
      const int64_t want = (i + j) % 2 == 0 ? i * j + 100 : i > 2 ? -1 : i * j;
      EXPECT_EQ(buffers[0].getInt(i * 3 + j), want) << i << "," << j;
    }
}

TEST(Statements, DeepExpressionsCompile) {
  Writer w("deep");
  BufferId x = w.global("x", DType::f32, 16, Access::in), y = w.global("y", DType::f32, 16, Access::out);
  ExprId v = w.load(x, w.i64(0), 16);
  for (int i = 0; i < 3000; ++i) v = w.add(v, w.imm(Scalar::of(1.0), DType::f32, 16));
  w.store(y, w.i64(0), v);
  Kernel k = std::move(w).finish();
  std::vector<Array> buffers = {floats(16), Array(DType::f32, {16})};
  run(k, buffers);
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(buffers[1].getDouble(i), buffers[0].getDouble(i) + 3000);
}

TEST(Compile, RefusesGpuKernels) {
  Writer w("gpu");
  BufferId y = w.global("y", DType::f32, 64, Access::out);
  w.loop("i", w.i64(0), w.i64(64), 1, Binding::block_x,
         [&](ExprId i) { w.store(y, i, w.imm(Scalar::of(1.0), DType::f32)); });
  auto object = compileObject(std::move(w).finish(), HostTarget::detect());
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.error().code, "T0501");
  EXPECT_NE(object.error().message.find("block.x"), std::string::npos);
}

TEST(Compile, RefusesLargeLocalsBesideParallelLoops) {
  Writer w("mixed");
  BufferId y = w.global("y", DType::f32, 64, Access::out);
  BufferId big = w.local("big", DType::f32, Dim::symbol("N"));
  w.store(big, w.i64(0), w.imm(Scalar::of(1.0), DType::f32));
  w.loop("i", w.i64(0), w.i64(64), 1, Binding::parallel,
         [&](ExprId i) { w.store(y, i, w.imm(Scalar::of(1.0), DType::f32)); });
  auto object = compileObject(std::move(w).finish(), HostTarget::detect());
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.error().code, "T0502");
}

TEST(Compile, SameKernelSameBytes) {
  auto first = compileObject(rowSum(Dim::symbol("M"), 64), HostTarget::detect());
  auto second = compileObject(rowSum(Dim::symbol("M"), 64), HostTarget::detect());
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
}

TEST(Compile, OnSeveralThreadsAtOnce) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int64_t columns = 1; columns < 6; ++columns) {
        std::vector<Array> buffers = {floats((t + 1) * columns), Array(DType::f32, {t + 1})};
        run(rowSum(t + 1, columns), buffers);
        expectRowSums(buffers, t + 1, columns);
      }
    });
  for (auto& thread : threads) thread.join();
}

TEST(Load, RefusesWhatIsNoObject) {
  for (const std::string& bytes :
       {std::string(), std::string("not an object"), std::string("\177ELF\2\1\1"), std::string(400, '\0')}) {
    auto loaded = loadObject(bytes, "kernel");
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code, "T0504");
  }
}

TEST(Load, RefusesAMissingSymbolAndCutObjects) {
  auto object = compileObject(rowSum(2, 3), HostTarget::detect());
  ASSERT_TRUE(object.ok());
  EXPECT_FALSE(loadObject(*object, "somebody_else").ok());
  EXPECT_FALSE(loadObject(std::span(*object).first(object->size() / 2), "tokamak_row_sum").ok());
}

TEST(HostTarget, NarrowerTargetsHaveOtherKeys) {
  HostTarget wide = HostTarget::detect(), narrow = HostTarget::detectUpTo(16);
  EXPECT_EQ(wide, HostTarget::detect());
  EXPECT_EQ(narrow.vectorBytes, 16);
  EXPECT_FALSE(narrow.hasFeature("avx2"));
  EXPECT_NE(narrow.key(), compilerVersion());
  if (wide.vectorBytes > 16) EXPECT_NE(wide.key(), narrow.key());
}

}  // namespace
}  // namespace tokamak::codegen
