#include <cmath>
#include <random>

#include "codegen/llvm/testing.h"
#include "kernel/simt/run.h"

/// Compiled kernels against the SIMT interpreter: hand-written ones, and random ones from printed seeds.
namespace tokamak::codegen {
namespace {

using namespace kernel;

void expectSame(const Array& got, const Array& want, double tolerance, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (int64_t i = 0; i < got.size(); ++i) {
    if (!isFloat(want.dtype())) {
      ASSERT_EQ(got.getInt(i), want.getInt(i)) << what << " element " << i;
    } else if (std::isnan(want.getDouble(i))) {
      ASSERT_TRUE(std::isnan(got.getDouble(i))) << what << " element " << i;
    } else if (got.getDouble(i) != want.getDouble(i)) {
      const double bound = tolerance * std::max(1.0, std::abs(want.getDouble(i)));
      ASSERT_NEAR(got.getDouble(i), want.getDouble(i), bound) << what << " element " << i;
    }
  }
}

/// Runs both on copies of `buffers`.
void expectAgrees(const Kernel& kernel, const std::vector<Array>& buffers, const DimBindings& symbols,
                  double tolerance) {
  auto verified = verify(kernel);
  ASSERT_TRUE(verified.ok()) << verified.error().str() << print(kernel);
  std::vector<Array> want = buffers, got = buffers;
  auto status = runSimt(kernel, want, symbols);
  ASSERT_TRUE(status.ok()) << status.error().str() << print(kernel);
  std::vector<int64_t> values;
  values.reserve(kernel.symbols.size());
  for (const std::string& name : kernel.symbols) values.push_back(symbols.at(name));
  auto loaded = testing::compileAndLoad(kernel);
  ASSERT_TRUE(loaded) << print(kernel);
  testing::call(*loaded, got, values, testing::TwoThreadHost());
  for (size_t i = 0; i < got.size(); ++i)
    expectSame(got[i], want[i], tolerance, kernel.buffers[i].name + " of\n" + print(kernel));
}

void expectAgrees(std::string_view text, const std::vector<Array>& buffers, const DimBindings& symbols,
                  double tolerance) {
  auto kernel = parseKernel(text);
  ASSERT_TRUE(kernel.ok()) << kernel.error().str();
  expectAgrees(*kernel, buffers, symbols, tolerance);
}

Array wave(DType t, int64_t size) {
  Array x(t, {size});
  for (int64_t i = 0; i < size; ++i) x.setDouble(i, std::sin(static_cast<double>(i) * 0.7) * 4);
  return x;
}

TEST(AgainstSimt, Softmax) {
  for (int64_t columns : {1, 15, 16, 33, 200})
    expectAgrees(R"(kernel @softmax(in x: f32[M*N], out y: f32[M*N]; M, N) {
      local row: f32[N]
      for i in 0..M parallel {
        var top: f32x16 = splat<16>(-inf)
        for j in 0..N step 16 {
          let m: boolx16 = ramp<16>(j) < splat<16>(N)
          top = select(m, max(top, load<16> x[i*N + j] mask m), top)
        }
        let highest: f32 = fold(max, top)
        var sum: f32x16 = splat<16>(0.0)
        for j2 in 0..N step 16 {
          let m2: boolx16 = ramp<16>(j2) < splat<16>(N)
          let e: f32x16 = exp(load<16> x[i*N + j2] mask m2 - splat<16>(highest))
          store row[j2] mask m2 = e
          sum = select(m2, sum + e, sum)
        }
        let scale: f32 = 1.0 / fold(add, sum)
        for j3 in 0..N step 16 {
          let m3: boolx16 = ramp<16>(j3) < splat<16>(N)
          store y[i*N + j3] mask m3 = load<16> row[j3] mask m3 * splat<16>(scale)
        }
      }
    })",
                 {wave(DType::f32, 3 * columns), Array(DType::f32, {3 * columns})}, {{"M", 3}, {"N", columns}}, 1e-5);
}

/// Random kernels of one shape: a masked loop that computes, keeps and reduces, then a loop that reads back.
class RandomKernel {
 public:
  explicit RandomKernel(uint32_t seed) : random_(seed), w_("random") {}

  Kernel make() {
    lanes_ = pick({1, 4, 16});
    const DType types[] = {DType::boolean, DType::u8,  DType::i8,  DType::i16,
                           DType::i32,     DType::i64, DType::f32, DType::f64};
    type_ = types[below(8)];
    Dim m = Dim::symbol("M"), n = Dim::symbol("N");
    const DType stored = type_ == DType::f32 ? std::array{DType::f32, DType::f16, DType::bf16}[below(3)] : type_;
    a_ = w_.global("a", stored, m * n, Access::in);
    b_ = w_.global("b", type_, n, Access::in);
    BufferId y = w_.global("y", type_, m, Access::out), z = w_.global("z", type_, m * n, Access::out);
    BufferId kept = w_.local("kept", type_, below(2) ? n : Dim(80));
    w_.loop("i", w_.i64(0), w_.dim(m), 1, Binding::parallel, [&](ExprId i) {
      VarId acc = w_.declare("acc", constant(1));
      ExprId base = w_.let("base", w_.mul(i, w_.dim(n)));
      eachVector([&](ExprId j, ExprId mask) {
        leaves_ = {w_.convert(w_.load(a_, w_.add(base, j), lanes_, mask), type_), w_.load(b_, j, lanes_, mask),
                   constant(2), w_.get(acc), w_.convert(w_.ramp(j, lanes_), type_)};
        ExprId value = w_.let("value", expression(4));
        w_.store(kept, j, value, mask);
        w_.assign(
            acc, w_.select(mask, w_.binary(pick({BinaryKind::add, BinaryKind::max}), w_.get(acc), value), w_.get(acc)));
      });
      w_.store(y, i, w_.fold(pick({BinaryKind::add, BinaryKind::min}), w_.get(acc)));
      eachVector([&](ExprId j, ExprId mask) {
        leaves_ = {w_.load(kept, j, lanes_, mask), w_.splat(w_.convert(i, type_), lanes_), w_.get(acc)};
        VarId out = w_.declare("out", expression(3));
        w_.when(w_.binary(BinaryKind::eq, w_.binary(BinaryKind::rem, w_.add(i, j), w_.i64(3)), w_.i64(0)),
                [&] { w_.assign(out, expression(2)); });
        w_.store(z, w_.add(base, j), w_.get(out), mask, below(2) == 0);
      });
    });
    return std::move(w_).finish();
  }

  Array input(DType t, int64_t size) {  // small numbers: arithmetic on floats stays exact, in whatever order
    Array x(t, {size});
    for (int64_t i = 0; i < size; ++i) x.setInt(i, t == DType::boolean ? below(2) : below(7) - (isSigned(t) ? 3 : 0));
    return x;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % n); }
  template <class T>
  T pick(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<int>(list.size()))];
  }
  ExprId constant(int v) { return w_.imm(Scalar::of(int64_t{type_ == DType::boolean ? v % 2 : v}), type_, lanes_); }

  void eachVector(const std::function<void(ExprId, ExprId)>& body) {
    Dim n = Dim::symbol("N");
    w_.loop("j", w_.i64(0), w_.dim(n), lanes_, Binding::serial, [&](ExprId j) {
      body(j, w_.let("mask", w_.binary(BinaryKind::lt, w_.ramp(j, lanes_), w_.splat(w_.dim(n), lanes_))));
    });
  }

  ExprId expression(int depth) {
    if (depth == 0 || below(5) == 0) return leaves_[below(static_cast<int>(leaves_.size()))];
    ExprId x = expression(depth - 1);
    switch (below(4)) {
      case 0: {
        auto kind = pick({UnaryKind::neg, UnaryKind::abs, UnaryKind::sign, UnaryKind::floor, UnaryKind::bitnot});
        return isDefined(kind, type_) ? w_.unary(kind, x) : x;
      }
      case 1: {
        ExprId test = w_.binary(pick({BinaryKind::lt, BinaryKind::ge, BinaryKind::ne}), x, expression(depth - 1));
        return w_.select(test, expression(depth - 1), x);
      }
      default: {
        using B = BinaryKind;
        auto kind = isFloat(type_) ? pick({B::add, B::sub, B::max, B::min})
                                   : pick({B::add, B::sub, B::mul, B::div, B::floordiv, B::rem, B::fmod, B::pow, B::max,
                                           B::min, B::bit_and, B::bit_or, B::bit_xor, B::shl, B::shr});
        return isDefined(kind, type_) ? w_.binary(kind, x, expression(depth - 1)) : x;
      }
    }
  }

  std::mt19937 random_;
  Writer w_;
  int lanes_ = 1;
  DType type_ = DType::f32;
  BufferId a_, b_;
  std::vector<ExprId> leaves_;
};

TEST(AgainstSimt, RandomKernels) {
  for (uint32_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomKernel random(seed);
    Kernel kernel = random.make();
    const int64_t m = seed % 4, n = seed * 7 % 50;
    std::vector<Array> buffers;
    for (const Buffer& buffer : kernel.buffers) {
      if (buffer.scope != Scope::global) continue;
      const int64_t size = *buffer.size.eval({{"M", m}, {"N", n}});
      buffers.push_back(buffer.access == Access::in ? random.input(buffer.dtype, size) : Array(buffer.dtype, {size}));
    }
    expectAgrees(kernel, buffers, {{"M", m}, {"N", n}}, 1e-4);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tokamak::codegen
