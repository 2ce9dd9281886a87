#include <cstring>

#include "codegen/llvm/testing.h"

/// Loads, stores, masks, gathers and scatters on every dtype.
namespace tokamak::codegen {
namespace {

using namespace kernel;
using testing::run;

constexpr DType kAllTypes[] = {DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                               DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64};
const int kWidths[] = {64, 32, 16};

/// Distinct small numbers where the type has them.
Array numbered(DType t, int64_t size) {
  Array x(t, {size});
  for (int64_t i = 0; i < size; ++i) x.setInt(i, t == DType::boolean ? (i * i / 3) % 2 : (i * 37 + 5) % 113);
  return x;
}

/// Copies n = 64 + 7 elements with a masked tail; y has guard elements behind the end.
Kernel maskedCopy(DType t, int lanes, Dim n) {
  Writer w("masked_copy");
  BufferId x = w.global("x", t, n, Access::in), y = w.global("y", t, n, Access::out);
  w.loop("i", w.i64(0), w.dim(n), lanes, Binding::serial, [&](ExprId i) {
    ExprId mask = w.binary(BinaryKind::lt, w.ramp(i, lanes), w.splat(w.dim(n), lanes));
    w.store(y, i, w.load(x, i, lanes, mask), mask);
  });
  return std::move(w).finish();
}

TEST(Memory, MaskedTailsTouchNothingBehindTheEnd) {
  for (DType t : kAllTypes)
    for (int lanes : {1, 4, 16, 64})
      for (int width : kWidths) {
        if (lanes == 64 && width < 64) continue;  // slow to compile
        auto loaded = testing::compileAndLoad(maskedCopy(t, lanes, Dim::symbol("n")), HostTarget::detectUpTo(width));
        ASSERT_TRUE(loaded);
        for (int64_t n : {0, 1, 3, 15, 16, 63, 64, 71}) {
          std::vector<Array> buffers = {numbered(t, 80), Array(t, {80})};
          std::memset(buffers[1].data(), 0x5a, buffers[1].bytes());
          const Array before = buffers[1];
          testing::call(*loaded, buffers, {n}, testing::SerialHost());
          const int64_t bytes = n * byteWidth(t);
          ASSERT_EQ(std::memcmp(buffers[1].data(), buffers[0].data(), bytes), 0)
              << nameOf(t) << "x" << lanes << " n " << n;
          ASSERT_EQ(std::memcmp(buffers[1].as<char>() + bytes, before.as<char>() + bytes, before.bytes() - bytes), 0)
              << nameOf(t) << "x" << lanes << " n " << n;
        }
      }
}

TEST(Memory, MaskedOffLanesReadZero) {
  for (DType t : kAllTypes) {
    Writer w("masked_zero");
    BufferId x = w.global("x", t, 4, Access::in), y = w.global("y", t, 16, Access::out);
    ExprId mask = w.binary(BinaryKind::lt, w.ramp(w.i64(0), 16), w.splat(w.i64(4), 16));
    w.store(y, w.i64(0), w.load(x, w.i64(0), 16, mask));
    Kernel k = std::move(w).finish();
    std::vector<Array> buffers = {numbered(t, 4), numbered(t, 16)};
    run(k, buffers);
    for (int64_t i = 0; i < 16; ++i)
      EXPECT_EQ(buffers[1].getInt(i), i < 4 ? buffers[0].getInt(i) : 0) << nameOf(t) << i;
  }
}

TEST(Memory, GathersAndScattersPermute) {
  for (DType t : kAllTypes)
    for (DType index : {DType::i64, DType::i32})
      for (int lanes : {4, 16, 64})
        for (int width : kWidths) {
          if (lanes == 64 && (width < 64 || index == DType::i32)) continue;  // slow to compile
          Writer w("permute");
          BufferId x = w.global("x", t, 128, Access::in), from = w.global("from", index, 128, Access::in);
          BufferId to = w.global("to", index, 128, Access::in), y = w.global("y", t, 128, Access::out);
          w.loop("i", w.i64(0), w.i64(128), lanes, Binding::serial, [&](ExprId i) {
            ExprId mask = w.binary(BinaryKind::ne, w.ramp(i, lanes), w.splat(w.i64(5), lanes));
            w.store(y, w.load(to, i, lanes), w.load(x, w.load(from, i, lanes), lanes, mask), mask);
          });
          Kernel k = std::move(w).finish();
          std::vector<Array> buffers = {numbered(t, 128), Array(index, {128}), Array(index, {128}), Array(t, {128})};
          for (int64_t i = 0; i < 128; ++i) {
            buffers[1].setInt(i, i == 5 ? INT32_MAX : i * 19 % 128);  // a masked-off lane's index is never followed
            buffers[2].setInt(i, i * 45 % 128);
          }
          run(k, buffers, {}, HostTarget::detectUpTo(width));
          for (int64_t i = 0; i < 128; ++i)
            ASSERT_EQ(buffers[3].getInt(i * 45 % 128), i == 5 ? 0 : buffers[0].getInt(i * 19 % 128))
                << nameOf(t) << "x" << lanes;
        }
}

TEST(Memory, ScalarMasks) {
  Writer w("scalar_mask");
  BufferId x = w.global("x", DType::f32, 8, Access::in), y = w.global("y", DType::f32, 8, Access::inout);
  w.loop("i", w.i64(0), w.i64(8), 1, Binding::serial, [&](ExprId i) {
    ExprId even = w.binary(BinaryKind::eq, w.binary(BinaryKind::rem, i, w.i64(2)), w.i64(0));
    ExprId low = w.binary(BinaryKind::lt, i, w.i64(4));
    w.store(y, i, w.load(x, i, 1, low), even);
  });
  Kernel k = std::move(w).finish();
  std::vector<Array> buffers = {numbered(DType::f32, 8), numbered(DType::f32, 8)};
  const Array before = buffers[1];
  run(k, buffers);
  for (int64_t i = 0; i < 8; ++i)
    EXPECT_EQ(buffers[1].getDouble(i), i % 2 ? before.getDouble(i) : i < 4 ? buffers[0].getDouble(i) : 0.0) << i;
}

/// A vector that is masked off whole is not asked for where it would lie, far outside the buffer.
TEST(Memory, VectorsThatAreMaskedOffWhole) {
  Writer w("far_outside");
  BufferId x = w.global("x", DType::f32, 64, Access::in), y = w.global("y", DType::f32, 128, Access::out);
  w.loop("i", w.i64(0), w.i64(128), 16, Binding::serial, [&](ExprId i) {
    ExprId late = w.splat(w.binary(BinaryKind::ge, i, w.i64(64)), 16);
    ExprId early = w.binary(BinaryKind::lt, w.ramp(i, 16), w.splat(w.i64(120), 16));
    w.store(y, i, w.load(x, w.sub(i, w.i64(64)), 16, w.both(late, early)));
  });
  Kernel k = std::move(w).finish();
  std::vector<Array> buffers = {numbered(DType::f32, 64), numbered(DType::f32, 128)};
  run(k, buffers);
  for (int64_t i = 0; i < 128; ++i)
    EXPECT_EQ(buffers[1].getDouble(i), i >= 64 && i < 120 ? buffers[0].getDouble(i - 64) : 0.0) << i;

  Writer one("one_vector");
  BufferId from = one.global("x", DType::f32, 64, Access::in), to = one.global("y", DType::f32, 16, Access::out);
  ExprId n = one.dim(Dim::symbol("n"));
  ExprId inside = one.splat(one.binary(BinaryKind::ge, n, one.i64(0)), 16);
  one.store(to, one.i64(0), one.load(from, n, 16, inside));
  auto text = printAsm(std::move(one).finish(), HostTarget::detect());
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("cmov"), std::string::npos) << *text;
}

TEST(Memory, StreamingStoresAtEveryAlignment) {
  for (DType t : kAllTypes)
    for (int width : kWidths) {
      Writer w("stream");
      BufferId x = w.global("x", t, 128, Access::in), y = w.global("y", t, 192, Access::out);
      w.loop("i", w.i64(0), w.i64(128), 32, Binding::parallel,
             [&](ExprId i) { w.store(y, w.add(i, w.dim(Dim::symbol("offset"))), w.load(x, i, 32), {}, true); });
      auto loaded = testing::compileAndLoad(std::move(w).finish(), HostTarget::detectUpTo(width));
      ASSERT_TRUE(loaded);
      for (int64_t offset : {0, 1, 16, 32, 63, 64}) {
        std::vector<Array> buffers = {numbered(t, 128), Array(t, {192})};
        testing::call(*loaded, buffers, {offset}, testing::SerialHost());
        for (int64_t i = 0; i < 128; ++i)
          ASSERT_EQ(buffers[1].getInt(i + offset), buffers[0].getInt(i)) << nameOf(t) << offset;
      }
    }
}

TEST(Memory, StreamingStoresAreNonTemporal) {
  Writer w("stream");
  BufferId x = w.global("x", DType::f32, 64, Access::in), y = w.global("y", DType::f32, 64, Access::out);
  w.store(y, w.i64(0), w.load(x, w.i64(0), 16), {}, true);
  Kernel k = std::move(w).finish();
  auto text = printAsm(k, HostTarget::detect());
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find("vmovntp"), std::string::npos) << *text;
  EXPECT_NE(text->find("sfence"), std::string::npos) << *text;
}

/// What a statement reads is what the statements before it wrote, though the expression is one node.
TEST(Memory, ReadsFollowWrites) {
  Writer w("read_after_write");
  BufferId x = w.global("x", DType::i32, 4, Access::inout), y = w.global("y", DType::i32, 4, Access::out);
  ExprId first = w.load(x, w.i64(0));
  w.store(y, w.i64(0), first);
  w.store(x, w.i64(0), w.add(first, w.imm(Scalar::of(int64_t{10}), DType::i32)));
  w.store(y, w.i64(1), first);
  VarId v = w.declare("v", first);
  w.store(y, w.i64(2), w.get(v));
  w.loop("i", w.i64(0), w.i64(3), 1, Binding::serial, [&](ExprId) { w.assign(v, w.add(w.get(v), w.get(v))); });
  w.store(y, w.i64(3), w.get(v));
  Kernel k = std::move(w).finish();
  std::vector<Array> buffers = {Array(DType::i32, {4}), Array(DType::i32, {4})};
  buffers[0].setInt(0, 7);
  run(k, buffers);
  EXPECT_EQ(buffers[1].getInt(0), 7);
  EXPECT_EQ(buffers[1].getInt(1), 17);
  EXPECT_EQ(buffers[1].getInt(2), 17);
  EXPECT_EQ(buffers[1].getInt(3), 136);
}

}  // namespace
}  // namespace tokamak::codegen
