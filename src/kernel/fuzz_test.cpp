#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernel/simt/run.h"
#include "kernel/writer.h"

/// Random kernels: text that comes back the same, and a writer whose simplifications change no result.
namespace tokamak::kernel {
namespace {

/// Writer's expressions without any simplification.
class Plain {
 public:
  Kernel kernel;

  ExprId imm(Scalar value, DType t, int lanes = 1) { return kernel.intern({Imm{value}, {t, lanes}}); }
  ExprId unary(UnaryKind k, ExprId a) { return make(Un{k, a}, {resultType(k, t(a).dtype), t(a).lanes}); }
  ExprId binary(BinaryKind k, ExprId a, ExprId b) {
    return make(Bin{k, a, b}, {resultType(k, t(a).dtype), t(a).lanes});
  }
  ExprId select(ExprId c, ExprId a, ExprId b) { return make(Sel{c, a, b}, t(a)); }
  ExprId convert(ExprId a, DType to) { return make(Convert{a}, {to, t(a).lanes}); }
  ExprId load(BufferId b, ExprId i, int lanes) { return make(Load{b, i, {}}, {kernel.buffer(b).dtype, lanes}); }
  ExprId splat(ExprId a, int lanes) { return make(Splat{a}, {t(a).dtype, lanes}); }
  ExprId ramp(ExprId a, int lanes) { return make(Ramp{a}, {t(a).dtype, lanes}); }
  ExprId fold(BinaryKind k, ExprId a) { return make(Fold{k, a}, {t(a).dtype, 1}); }
  ExprId prefix(BinaryKind k, ExprId a) { return make(Prefix{k, a}, t(a)); }
  ExprId extract(ExprId a, int lane) { return make(Extract{a, lane}, {t(a).dtype, 1}); }
  ExprId get(VarId v) { return make(Var{v}, kernel.variable(v).type); }
  ExprId symbol() { return make(Symbol{"N"}, {DType::i64, 1}); }

 private:
  ValueType t(ExprId a) const { return kernel.type(a); }
  ExprId make(ExprNode node, ValueType type) { return kernel.intern({std::move(node), type}); }
};

/// As Plain, through the writer.
class Simplified {
 public:
  Writer w{"fuzz"};
  ExprId imm(Scalar value, DType t, int lanes = 1) { return w.imm(value, t, lanes); }
  ExprId unary(UnaryKind k, ExprId a) { return w.unary(k, a); }
  ExprId binary(BinaryKind k, ExprId a, ExprId b) { return w.binary(k, a, b); }
  ExprId select(ExprId c, ExprId a, ExprId b) { return w.select(c, a, b); }
  ExprId convert(ExprId a, DType to) { return w.convert(a, to); }
  ExprId load(BufferId b, ExprId i, int lanes) { return w.load(b, i, lanes); }
  ExprId splat(ExprId a, int lanes) { return w.splat(a, lanes); }
  ExprId ramp(ExprId a, int lanes) { return w.ramp(a, lanes); }
  ExprId fold(BinaryKind k, ExprId a) { return w.fold(k, a); }
  ExprId prefix(BinaryKind k, ExprId a) { return w.prefix(k, a); }
  ExprId extract(ExprId a, int lane) { return w.extract(a, lane); }
  ExprId get(VarId v) { return w.get(v); }
  ExprId symbol() { return w.dim(Dim::symbol("N")); }
};

constexpr int kLanes = 4;

/// Draws the same tree for either maker: every choice depends on the seed alone.
template <class M>
class Drawer {
 public:
  Drawer(M& make, uint64_t seed, BufferId x, VarId i) : make_(make), rng_(seed), sums_(seed % 3 == 0), x_(x), i_(i) {}

  /// Often one that was drawn before, so that parts are shared and terms cancel.
  ExprId draw(ValueType t, int depth) {
    auto& drawn = drawn_[static_cast<size_t>(t.dtype) * 2 + (t.lanes > 1)];
    if (!drawn.empty() && pick(4) == 0) return drawn[static_cast<size_t>(pick(static_cast<int>(drawn.size())))];
    const ExprId fresh = drawFresh(t, depth);
    drawn.push_back(fresh);
    return fresh;
  }

 private:
  ExprId drawFresh(ValueType t, int depth) {
    if (depth == 0) return leaf(t);
    if (sums_ && isInteger(t.dtype)) {
      const ExprId a = draw(t, depth - 1), b = draw(t, depth - 1);
      return make_.binary(oneOf({BinaryKind::add, BinaryKind::add, BinaryKind::sub, BinaryKind::sub, BinaryKind::mul}),
                          a, b);
    }
    switch (pick(8)) {
      case 0: return leaf(t);
      case 1: {
        const ExprId c = draw({DType::boolean, t.lanes}, depth - 1), a = draw(t, depth - 1), b = draw(t, depth - 1);
        return make_.select(c, a, b);
      }
      case 2: return make_.convert(draw({otherType(t.dtype), t.lanes}, depth - 1), t.dtype);
      case 3: return across(t, depth);
      case 4: return unary(t, depth);
      default: return binary(t, depth);
    }
  }

  int pick(int n) { return static_cast<int>(rng_() % static_cast<uint64_t>(n)); }
  template <class T>
  T oneOf(std::initializer_list<T> all) {
    return all.begin()[pick(static_cast<int>(all.size()))];
  }

  DType otherType(DType t) {
    for (;;)
      if (DType other =
              oneOf({DType::boolean, DType::u8, DType::i8, DType::i16, DType::i32, DType::i64, DType::f32, DType::f64});
          other != t)
        return other;
  }

  ExprId leaf(ValueType t) {
    const int choice = pick(4);
    if (t.dtype == DType::i64 && choice == 0) return widen(make_.get(i_), t.lanes);
    if (t.dtype == DType::i64 && choice == 1) return t.lanes > 1 ? make_.ramp(make_.get(i_), t.lanes) : make_.symbol();
    if (t.dtype == DType::i64 && choice == 2) return make_.load(x_, make_.get(i_), t.lanes);
    if (t.dtype == DType::boolean) return make_.imm(Scalar::of(int64_t{pick(2)}), t.dtype, t.lanes);
    if (!isFloat(t.dtype))
      return make_.imm(Scalar::of(wrapTo(t.dtype, oneOf<int64_t>({0, 1, 2, 3, -1, 7, 100, 255, INT64_MIN}))), t.dtype,
                       t.lanes);
    return make_.imm(Scalar::of(oneOf({0.0, -0.0, 1.0, 0.5, -3.0, 1e30, 1e-40, double(INFINITY), double(NAN)}) *
                                    (t.dtype == DType::f64 ? 1.1 : 0) +
                                oneOf({0.0, 0.25, -1.0, double(INFINITY)})),
                     t.dtype, t.lanes);
  }
  ExprId widen(ExprId a, int lanes) { return lanes > 1 ? make_.splat(a, lanes) : a; }

  ExprId across(ValueType t, int depth) {
    if (t.lanes > 1)
      return pick(2) || !isFoldType(t) ? make_.splat(draw({t.dtype, 1}, depth - 1), t.lanes)
                                       : make_.prefix(oneOf({BinaryKind::add, BinaryKind::max}), draw(t, depth - 1));
    const ExprId vector = draw({t.dtype, kLanes}, depth - 1);
    if (pick(2)) return make_.extract(vector, pick(kLanes));
    return make_.fold(oneOf({BinaryKind::add, BinaryKind::mul, BinaryKind::max, BinaryKind::min}), vector);
  }
  static bool isFoldType(ValueType t) { return t.dtype != DType::boolean; }

  ExprId unary(ValueType t, int depth) {
    if (t.dtype == DType::boolean)
      return make_.unary(UnaryKind::logical_not,
                         draw({oneOf({DType::boolean, DType::i64, DType::f32}), t.lanes}, depth - 1));
    if (isFloat(t.dtype))
      return make_.unary(oneOf({UnaryKind::neg, UnaryKind::abs, UnaryKind::exp, UnaryKind::sqrt, UnaryKind::floor}),
                         draw(t, depth - 1));
    return make_.unary(oneOf({UnaryKind::neg, UnaryKind::abs, UnaryKind::sign, UnaryKind::bitnot}), draw(t, depth - 1));
  }

  ExprId binary(ValueType t, int depth) {
    ValueType operand = t;
    BinaryKind kind;
    if (t.dtype == DType::boolean) {
      operand.dtype = oneOf({DType::boolean, DType::i64, DType::i8, DType::f32});
      kind =
          operand.dtype == DType::boolean
              ? oneOf({BinaryKind::bit_and, BinaryKind::bit_or, BinaryKind::bit_xor, BinaryKind::eq, BinaryKind::ne,
                       BinaryKind::add, BinaryKind::mul, BinaryKind::max})
              : oneOf({BinaryKind::eq, BinaryKind::ne, BinaryKind::lt, BinaryKind::le, BinaryKind::gt, BinaryKind::ge});
    } else if (isFloat(t.dtype)) {
      kind = oneOf({BinaryKind::add, BinaryKind::sub, BinaryKind::mul, BinaryKind::div, BinaryKind::max,
                    BinaryKind::min, BinaryKind::rem});
    } else {
      kind = oneOf({BinaryKind::add, BinaryKind::add, BinaryKind::add, BinaryKind::sub, BinaryKind::sub,
                    BinaryKind::mul, BinaryKind::mul, BinaryKind::div, BinaryKind::floordiv, BinaryKind::rem,
                    BinaryKind::fmod, BinaryKind::max, BinaryKind::min, BinaryKind::bit_and, BinaryKind::bit_or,
                    BinaryKind::bit_xor, BinaryKind::shl, BinaryKind::shr});
    }
    const ExprId a = draw(operand, depth - 1);
    const ExprId b = draw(operand, depth - 1);
    return make_.binary(kind, a, b);
  }

  M& make_;
  std::mt19937_64 rng_;
  std::array<std::vector<ExprId>, 20> drawn_;  // by type
  bool sums_;                                  // of integers, nothing else: where most can be simplified
  BufferId x_;
  VarId i_;
};

ValueType rootType(uint64_t seed) {
  constexpr DType types[] = {DType::i64, DType::i64,     DType::i32, DType::i8,
                             DType::u8,  DType::boolean, DType::f32, DType::f64};
  return {types[seed % 8], seed / 8 % 2 ? kLanes : 1};
}

Buffer bufferOf(const char* name, DType dtype, int64_t size, Access access) {
  return {name, dtype, size, Scope::global, access};
}

/// for i in 0..8 step 4 parallel { store y[i] = <drawn> }
Kernel plainKernel(uint64_t seed, int depth) {
  Plain p;
  p.kernel.symbols = {"N"};
  const BufferId x = p.kernel.addBuffer(bufferOf("x", DType::i64, 16, Access::in));
  const BufferId y = p.kernel.addBuffer(bufferOf("y", rootType(seed).dtype, 16, Access::out));
  const VarId i = p.kernel.addVariable("i", {DType::i64, 1}, false);
  const ExprId zero = p.imm(Scalar::of(int64_t{0}), DType::i64), eight = p.imm(Scalar::of(int64_t{8}), DType::i64);
  const ExprId value = Drawer(p, seed, x, i).draw(rootType(seed), depth);
  p.kernel.body.push_back(
      {For{i, zero, eight, kLanes, Binding::parallel, 1, {{Store{y, p.get(i), value, {}, false}}}}});
  return std::move(p.kernel);
}

Kernel simplifiedKernel(uint64_t seed, int depth) {
  Simplified s;
  const BufferId x = s.w.global("x", DType::i64, 16, Access::in);
  const BufferId y = s.w.global("y", rootType(seed).dtype, 16, Access::out);
  s.symbol();
  s.w.loop("i", s.w.i64(0), s.w.i64(8), kLanes, Binding::parallel,
           [&](ExprId i) { s.w.store(y, i, Drawer(s, seed, x, VarId(size_t{0})).draw(rootType(seed), depth)); });
  return std::move(s.w).finish();
}

std::vector<Array> inputs(DType out) {
  std::vector<Array> arrays = {Array(DType::i64, {16}), Array(out, {16})};
  for (int64_t i = 0; i < 16; ++i) arrays[0].setInt(i, i * i * (i % 3 ? 1 : -77777777777));
  return arrays;
}

Array result(const Kernel& kernel, DType out) {
  std::vector<Array> arrays = inputs(out);
  auto status = runSimt(kernel, arrays, {{"N", 5}});
  EXPECT_TRUE(status.ok()) << status.error().str() << print(kernel);
  return std::move(arrays[1]);
}

bool same(const Array& a, const Array& b) {
  for (int64_t i = 0; i < a.size(); ++i) {
    const double x = a.getDouble(i), y = b.getDouble(i);
    if (isFloat(a.dtype()) && std::isnan(x) && std::isnan(y)) continue;
    if (isFloat(a.dtype()) ? (x != y || std::signbit(x) != std::signbit(y)) : a.getInt(i) != b.getInt(i)) return false;
  }
  return true;
}

TEST(KernelFuzz, TextRoundTripsAndMeansTheSame) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const Kernel kernel = plainKernel(seed, 1 + static_cast<int>(seed % 7));
    ASSERT_TRUE(verify(kernel).ok()) << verify(kernel).error().str();
    const std::string text = print(kernel);
    auto parsed = parseKernel(text);
    ASSERT_TRUE(parsed.ok()) << "seed " << seed << "\n" << parsed.error().str() << "\n" << text;
    ASSERT_TRUE(verify(*parsed).ok()) << verify(*parsed).error().str() << text;
    ASSERT_EQ(print(*parsed), text) << "seed " << seed;
    const DType t = rootType(seed).dtype;
    ASSERT_TRUE(same(result(kernel, t), result(*parsed, t))) << "seed " << seed << "\n" << text;
  }
}

TEST(KernelFuzz, SimplificationChangesNoResult) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const int depth = 1 + static_cast<int>(seed % 5);
    const Kernel plain = plainKernel(seed, depth), simple = simplifiedKernel(seed, depth);
    const DType t = rootType(seed).dtype;
    ASSERT_TRUE(same(result(plain, t), result(simple, t))) << "seed " << seed << "\n" << print(plain) << print(simple);
  }
}

TEST(KernelFuzz, DamagedTextIsADiagnosticOrAKernel) {
  std::mt19937_64 rng(7);
  int survived = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = print(plainKernel(rng() % 100, 3));
    for (int edits = 1 + static_cast<int>(rng() % 3); edits > 0; --edits) {
      const size_t at = rng() % text.size(), from = rng() % text.size();
      switch (rng() % 4) {
        case 0: text[at] = static_cast<char>(rng()); break;
        case 1: text.erase(at, 1 + rng() % 5); break;
        case 2: text.insert(at, text.substr(from, rng() % 8)); break;
        default: text[at] = text[from]; break;
      }
    }
    auto kernel = parseKernel(text, "damaged.tk");
    if (!kernel.ok()) {
      EXPECT_GT(kernel.error().location.line, 0) << text;
      continue;
    }
    ++survived;
    const std::string printed = print(*kernel);
    auto again = parseKernel(printed);
    ASSERT_TRUE(again.ok()) << again.error().str() << "\n" << printed;
    EXPECT_EQ(print(*again), printed);
    if (verify(*kernel).ok()) EXPECT_TRUE(verify(*again).ok());
  }
  EXPECT_GT(survived, 100);
}

}  // namespace
}  // namespace tokamak::kernel
