#include <gtest/gtest.h>

#include "kernel/kernel.h"

namespace tokamak::kernel {
namespace {

struct Case {
  const char* name;
  const char* code;  // empty: right
  const char* says;
  const char* body;
};

/// Bodies of kernels over in x: f32[N], out y: f32[N], inout z: i64[4], with shared t and local l.
const Case kCases[] = {
    {"Empty", "", "", ""},
    {"ParallelAfterLet", "", "", "let a: i64 = N\n for i in 0..a parallel {\n store y[i] = load x[i]\n }"},
    {"ParallelUnderIf", "", "",
     "if N > 4 {\n for i in 0..N parallel {\n }\n } else {\n for j in 0..N parallel {\n }\n }"},
    {"TwoParallel", "", "", "for i in 0..N parallel {\n }\n for j in 0..N parallel {\n }"},
    {"Gpu", "", "",
     "for b in 0..N step 32 block.x {\n for k in 0..4 {\n for i in 0..32 thread.x {\n store t[i] = 0.0\n }\n barrier\n "
     "}\n }"},
    {"WarpOps", "", "",
     "for b in 0..4 block.x {\n for i in 0..8 thread.x {\n for j in 0..8 thread.y {\n let a: i64 = warpfold(add, i, "
     "16)\n"
     "let c: i64 = warpprefix(max, a, 2)\n store z[0] aligned = splat<2>(c)\n }\n }\n }"},
    {"WarpOpInPartialWarps", "T0423", "not known to be whole warps",
     "for b in 0..4 block.x {\n for i in 0..48 thread.x {\n let a: i64 = warpfold(add, i, 16)\n }\n }"},
    {"WarpOpInBlocksOfAnySize", "T0423", "not known to be whole warps",
     "for b in 0..4 block.x {\n for i in 0..N thread.x {\n let a: i64 = warpfold(add, i, 16)\n }\n }"},
    {"WarpOpOfACpu", "T0423", "outside every thread loop", "let a: i64 = warpfold(add, N, 16)"},
    {"WarpOpInside", "T0423", "within a larger expression",
     "for b in 0..4 block.x {\n for i in 0..32 thread.x {\n let a: i64 = warpfold(add, i, 16) + 1\n }\n }"},
    {"WarpOpStored", "T0423", "within a larger expression",
     "for b in 0..4 block.x {\n for i in 0..32 thread.x {\n store z[i] = warpfold(add, i, 16)\n }\n }"},
    {"AlignedGather", "T0420", "an aligned access has one index", "store z[ramp<2>(0)] aligned = 0:i64x2"},
    {"AlignedOdd", "T0420", "of 3 lanes", "store z[0] aligned = 0:i64x3"},
    {"ReadMutableFromOutside", "", "", "var a: i64 = 1\n a = 2\n for i in 0..N parallel {\n let b: i64 = a\n }"},
    {"SerialAssign", "", "",
     "for p in 0..2 parallel {\n var a: i64 = 1\n for i in 0..4 {\n if i > 2 {\n a = a + i\n }\n }\n }"},

    {"StoreToInput", "T0422", "x is an input\n  in `store x[0] = 1.0`", "store x[0] = 1.0"},
    {"AssignToLet", "T0422", "a was bound with let", "let a: i64 = 1\n a = 2"},
    {"AssignToLoopVariable", "T0422", "i was bound", "for i in 0..4 {\n i = 2\n }"},
    {"AssignAcrossParallel", "T0422", "a lives outside the parallel loop",
     "var a: i64 = 1\n for i in 0..4 parallel {\n a = i\n }"},
    {"AssignAcrossThread", "T0422", "a lives outside the thread.x loop",
     "for b in 0..4 block.x {\n var a: i64 = 1\n for i in 0..4 thread.x {\n a = i\n }\n }"},

    {"LetType", "T0420", "a of type i64 is given a value of type f32", "let a: i64 = load x[0]"},
    {"LetLanes", "T0420", "a of type f32x4 is given a value of type f32x8", "let a: f32x4 = load<8> x[0]"},
    {"StoreType", "T0420", "y holds f32, not i64", "store y[0] = 1"},
    {"StoreIndexType", "T0420", "y is indexed by f32", "store y[0.5] = 1.0"},
    {"StoreIndexLanes", "T0420", "1 lanes of y at 4 indices", "store y[ramp<4>(0)] = 1.0"},
    {"StoreMask", "T0420", "the mask of 4 lanes of y is bool", "store y[0] mask true = 1.0:f32x4"},
    {"Condition", "T0420", "a condition is a scalar bool, not i64", "if N {\n }"},
    {"LoopBounds", "T0420", "a loop from f32 to i64", "for i in 0.0..4 {\n }"},

    {"NestedParallel", "T0423", "a parallel loop within another",
     "for i in 0..4 parallel {\n for j in 0..4 parallel {\n }\n }"},
    {"ParallelInSerial", "T0423", "a parallel loop within a serial one",
     "for i in 0..4 {\n for j in 0..4 parallel {\n }\n }"},
    {"ParallelAndBlock", "T0423", "in one kernel", "for i in 0..4 parallel {\n }\n for j in 0..4 block.x {\n }"},
    {"BlockInThread", "T0423", "a block.y loop within a thread loop",
     "for a in 0..4 block.x {\n for b in 0..4 thread.x {\n for c in 0..4 block.y {\n }\n }\n }"},
    {"BlockInSerial", "T0423", "a block.x loop within a serial one",
     "for i in 0..4 {\n for j in 0..4 block.x {\n }\n }"},
    {"BlockUnderCondition", "T0423", "under a condition", "if N > 4 {\n for j in 0..4 block.x {\n }\n }"},
    {"ThreadAlone", "T0423", "a thread.x loop outside every block loop", "for j in 0..4 thread.x {\n }"},
    {"SameAxisTwice", "T0423", "a thread.x loop within another",
     "for a in 0..4 block.x {\n for b in 0..4 thread.x {\n for c in 0..4 thread.x {\n }\n }\n }"},
    {"BoundsUnknownAtLaunch", "T0423", "known at launch", "let n: i64 = load z[0]\n for b in 0..n block.x {\n }"},
    {"ClusterBarrierWithoutOne", "T0423", "a barrier of a cluster in a kernel without clusters",
     "for b in 0..4 block.x {\n for i in 0..32 thread.x {\n barrier cluster\n }\n }"},
    {"InboxBarrierWithoutOne", "T0423", "a barrier of a cluster in a kernel without clusters",
     "for b in 0..4 block.x {\n for i in 0..32 thread.x {\n barrier inbox\n }\n }"},
    {"BarrierAlone", "T0423", "a barrier outside every block loop", "barrier"},
    {"BarrierInParallel", "T0423", "a barrier outside every block loop", "for i in 0..4 parallel {\n barrier\n }"},
    {"SharedOutsideBlocks", "T0423", "t is shared by a block", "let a: f32 = load t[0]"},
    {"UnrollUnknown", "T0423", "an unrolled loop has constant bounds", "for i in 0..N unroll {\n }"},
};

class Verify : public testing::TestWithParam<Case> {};

TEST_P(Verify, Kernel) {
  const Case& c = GetParam();
  auto kernel = parseKernel(
      "kernel @k(in x: f32[N], out y: f32[N], inout z: i64[4]; N) {\nshared t: f32[32]\nlocal l: f32[32]\n" +
      std::string(c.body) + "\n}");
  ASSERT_TRUE(kernel.ok()) << kernel.error().str();
  auto status = verify(*kernel);
  ASSERT_EQ(status.ok(), *c.code == '\0') << (status.ok() ? "accepted" : status.error().str());
  if (status.ok()) return;
  EXPECT_EQ(status.error().code, c.code) << status.error().str();
  EXPECT_NE(status.error().message.find(c.says), std::string::npos) << status.error().str();
}

INSTANTIATE_TEST_SUITE_P(Verify, Verify, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// What text cannot say, because the parser sees to it.

std::string codeOf(const Kernel& kernel) {
  auto status = verify(kernel);
  return status.ok() ? "" : status.error().code;
}

TEST(VerifyBuilt, Variables) {
  Kernel k;
  const ValueType i64{DType::i64, 1};
  const ExprId one = k.intern({Imm{Scalar::of(int64_t{1})}, i64});
  const VarId a = k.addVariable("a", i64, false), b = k.addVariable("b", i64, true);
  const ExprId readA = k.intern({Var{a}, i64});
  Kernel before = k;
  before.body = {{Declare{b, readA}}, {Let{a, one}}};
  EXPECT_EQ(codeOf(before), "T0421");
  Kernel twice = k;
  twice.body = {{Let{a, one}}, {Let{a, one}}};
  EXPECT_EQ(codeOf(twice), "T0421");
  Kernel outside = k;
  outside.body = {{If{k.intern({Imm{Scalar::of(int64_t{1})}, {DType::boolean, 1}}), {{Let{a, one}}}, {}}},
                  {Declare{b, readA}}};
  EXPECT_EQ(codeOf(outside), "T0421");
  Kernel wrongKind = k;
  wrongKind.body = {{Declare{a, one}}};
  EXPECT_EQ(codeOf(wrongKind), "T0422");
  Kernel missing = k;
  missing.body = {{Let{a, ExprId(77)}}};
  EXPECT_EQ(codeOf(missing), "T0421");
}

TEST(VerifyBuilt, Expressions) {
  const auto check = [](auto&& make) {
    Kernel k;
    const ExprId value = make(k);
    const VarId v = k.addVariable("v", k.type(value), false);
    k.body = {{Let{v, value}}};
    return codeOf(k);
  };
  const auto imm = [](Kernel& k, Scalar s, DType t, int lanes = 1) { return k.intern({Imm{s}, {t, lanes}}); };
  EXPECT_EQ(check([&](Kernel& k) { return imm(k, Scalar::of(int64_t{300}), DType::u8); }), "T0420");
  EXPECT_EQ(check([&](Kernel& k) { return imm(k, Scalar::of(1.0), DType::f16); }), "T0420");
  EXPECT_EQ(check([&](Kernel& k) { return imm(k, Scalar::of(0.1), DType::f32); }), "T0420");
  EXPECT_EQ(check([&](Kernel& k) { return imm(k, Scalar::of(0.1), DType::f64); }), "");
  EXPECT_EQ(check([&](Kernel& k) { return imm(k, Scalar::of(int64_t{1}), DType::i64, 0); }), "T0420");
  EXPECT_EQ(check([&](Kernel& k) { return imm(k, Scalar::of(int64_t{1}), DType::i64, 100000); }), "T0420");
  EXPECT_EQ(check([&](Kernel& k) { return k.intern({Symbol{"N"}, {DType::i64, 1}}); }), "T0424");
  EXPECT_EQ(check([&](Kernel& k) {
              const ExprId a = imm(k, Scalar::of(int64_t{1}), DType::i64);
              return k.intern({Bin{BinaryKind::lt, a, a}, {DType::i64, 1}});
            }),
            "T0420");
  EXPECT_EQ(check([&](Kernel& k) {
              const ExprId a = imm(k, Scalar::of(1.0), DType::f32), h = k.intern({Convert{a}, {DType::f16, 1}});
              return k.intern({Bin{BinaryKind::add, h, h}, {DType::f16, 1}});
            }),
            "T0420");
  EXPECT_EQ(check([&](Kernel& k) {
              const ExprId a = imm(k, Scalar::of(int64_t{1}), DType::boolean);
              return k.intern({Bin{BinaryKind::sub, a, a}, {DType::boolean, 1}});
            }),
            "T0420");
  EXPECT_EQ(check([&](Kernel& k) {
              const ExprId a = imm(k, Scalar::of(int64_t{1}), DType::i64, 4);
              return k.intern({Extract{a, 4}, {DType::i64, 1}});
            }),
            "T0420");
}

TEST(VerifyBuilt, Declarations) {
  Kernel k;
  k.buffers = {{"x", DType::f32, Dim::symbol("N"), Scope::global, Access::in}};
  EXPECT_EQ(codeOf(k), "T0424");
  k.symbols = {"N"};
  EXPECT_EQ(codeOf(k), "");
  Kernel twice = k;
  twice.buffers.push_back(k.buffers[0]);
  EXPECT_EQ(codeOf(twice), "T0424");
  Kernel negative = k;
  negative.buffers.push_back({"y", DType::f32, -1, Scope::local, Access::scratch});
  EXPECT_EQ(codeOf(negative), "T0424");
  Kernel order = k;
  order.buffers.insert(order.buffers.begin(), {"l", DType::f32, 4, Scope::local, Access::scratch});
  EXPECT_EQ(codeOf(order), "T0424");
  Kernel badSymbol = k;
  badSymbol.symbols.emplace_back("a b");
  EXPECT_EQ(codeOf(badSymbol), "T0424");
}

}  // namespace
}  // namespace tokamak::kernel
