#include <gtest/gtest.h>

#include <numeric>

#include "runtime/memory_plan.h"
#include "runtime/parallel.h"
#include "runtime/shape_program.h"
#include "runtime/tensor.h"

namespace tokamak::runtime {
namespace {

TEST(ShapeProgram, AgreesWithDimEval) {
  const Dim m = Dim::symbol("M"), n = Dim::symbol("N");
  const std::vector<Dim> dims = {7,
                                 m,
                                 4 * n + 1,
                                 m * n - 3,
                                 Dim::floorDiv(m + 5, 3),
                                 Dim::floorDiv(m - 50, 4),
                                 Dim::mod(n - 20, 8),
                                 Dim::max(m, n * 2),
                                 Dim::min(Dim::ceilDiv(m, 4), n) * 8,
                                 m * m * n};
  ShapeProgram shapes({"M", "N"});
  std::vector<int> registers;
  registers.reserve(dims.size());
  for (const Dim& d : dims) registers.push_back(*shapes.add(d));
  for (int64_t mv : {0, 1, 5, 64, 1000}) {
    for (int64_t nv : {0, 1, 3, 17}) {
      std::vector<int64_t> values(shapes.registerCount());
      values[0] = mv, values[1] = nv;
      ASSERT_TRUE(shapes.eval(values));
      for (size_t i = 0; i < dims.size(); ++i)
        EXPECT_EQ(values[registers[i]], *dims[i].eval({{"M", mv}, {"N", nv}})) << dims[i].str();
    }
  }
}

TEST(ShapeProgram, SharesAndRefuses) {
  ShapeProgram shapes({"M"});
  const int a = *shapes.add(Dim::symbol("M") * 4), count = shapes.registerCount();
  EXPECT_EQ(*shapes.add(Dim::symbol("M") * 4), a);
  EXPECT_EQ(shapes.registerCount(), count);
  EXPECT_EQ(shapes.add(Dim::symbol("Z")).error().code, "T0603");
  (void)*shapes.add(Dim::symbol("M") * Dim::symbol("M"));
  (void)*shapes.add(Dim::floorDiv(100, Dim::symbol("M")));
  std::vector<int64_t> values(shapes.registerCount());
  values[0] = int64_t{1} << 40;
  EXPECT_EQ(shapes.eval(values).error().code, "T0602");
  values[0] = 0;
  EXPECT_NE(shapes.eval(values).error().message.find("divides by zero"), std::string::npos);
}

void expectSound(const std::vector<Lifetime>& lifetimes, const MemoryPlan& plan, const std::vector<Host>& hosts = {}) {
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % (lifetimes[i].bytes >= 65536 ? 4096 : 64), 0);
    const int host = plan.hosts[i];
    EXPECT_LE(plan.offsets[i] + lifetimes[i].bytes, host < 0 ? plan.arenaBytes : hosts[host].bytes);
    if (host >= 0) EXPECT_LT(lifetimes[i].last, hosts[host].first);
    for (size_t j = 0; j < i; ++j) {
      const bool time = lifetimes[i].first <= lifetimes[j].last && lifetimes[j].first <= lifetimes[i].last;
      const bool space = plan.offsets[i] < plan.offsets[j] + lifetimes[j].bytes &&
                         plan.offsets[j] < plan.offsets[i] + lifetimes[i].bytes;
      EXPECT_FALSE(time && space && host == plan.hosts[j]) << i << " and " << j;
    }
  }
}

TEST(MemoryPlan, ChainNeedsTwoBuffers) {
  std::vector<Lifetime> chain(10);
  for (int i = 0; i < 10; ++i) chain[i] = {i, i + 1, 1000};
  const MemoryPlan plan = planMemory(chain);
  expectSound(chain, plan);
  EXPECT_EQ(plan.arenaBytes, 2 * 1024);
  EXPECT_EQ(plan.totalBytes, 10 * 1024);
}

TEST(MemoryPlan, RandomLifetimesNeverOverlap) {
  uint64_t random = 1;
  auto next = [&](int limit) {
    random = random * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<int>((random >> 33) % limit);
  };
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> lifetimes;
    for (int i = 0; i < 40; ++i) {
      const int first = next(60);
      lifetimes.push_back({first, first + next(12), next(4) ? next(3000) : next(300000)});
    }
    const MemoryPlan plan = planMemory(lifetimes);
    expectSound(lifetimes, plan);
    EXPECT_LE(plan.arenaBytes, plan.totalBytes + 40 * int64_t{4096});
    EXPECT_EQ(plan.offsets, planMemory(lifetimes).offsets);
    std::vector<Host> hosts(3);
    for (Host& host : hosts) host = {next(80), next(200000)};
    expectSound(lifetimes, planMemory(lifetimes, hosts), hosts);
  }
}

TEST(MemoryPlan, TemporariesLiveInOutputsThatAreWrittenLater) {
  const std::vector<Lifetime> chain = {{0, 1, 1000}, {1, 2, 900}, {2, 3, 1000}, {3, 4, 1000}};
  const std::vector<Host> hosts = {{4, 1000}};
  const MemoryPlan plan = planMemory(chain, hosts);
  expectSound(chain, plan, hosts);
  EXPECT_EQ(plan.hosts, (std::vector<int>{0, -1, 0, -1}));  // the last is read by the step that writes the output
  EXPECT_EQ(plan.arenaBytes, 1024);
  EXPECT_EQ(plan.totalBytes, 3 * 1024 + 960);
}

TEST(MemoryPlan, EmptyAndOverflowing) {
  EXPECT_EQ(planMemory({}).arenaBytes, 0);
  const std::vector<Lifetime> zero = {{0, 3, 0}, {0, 3, 0}};
  EXPECT_EQ(planMemory(zero).arenaBytes, 0);
  const std::vector<Lifetime> huge = {{0, 1, INT64_MAX / 2}, {0, 1, INT64_MAX / 2 + 1}};
  EXPECT_EQ(planMemory(huge).arenaBytes, INT64_MAX);
}

template <class T>
void expectCopies(DType dtype, const std::vector<int64_t>& shape, const std::vector<int64_t>& strides, int64_t origin,
                  int64_t storage) {
  std::vector<T> memory(storage);
  std::iota(memory.begin(), memory.end(), T(1));
  const TensorRef ref{memory.data() + origin, dtype, static_cast<int>(shape.size()), shape.data(), strides.data()};
  std::vector<T> out(ref.size() + 1, T(99));
  copyDense(ref, out.data(), ParallelHost(2));
  for (int64_t i = 0; i < ref.size(); ++i) {
    int64_t rest = i, at = origin;
    for (int axis = ref.rank - 1; axis >= 0; --axis) at += rest % shape[axis] * strides[axis], rest /= shape[axis];
    ASSERT_EQ(out[i], memory[at]) << "element " << i;
  }
  EXPECT_EQ(out[ref.size()], T(99));
}

template <class T>
void expectAllLayouts(DType dtype) {
  expectCopies<T>(dtype, {}, {}, 3, 10);
  expectCopies<T>(dtype, {0, 5}, {1, 1}, 0, 10);
  expectCopies<T>(dtype, {6, 7}, {7, 1}, 0, 42);
  expectCopies<T>(dtype, {6, 7}, {1, 6}, 0, 42);                // transposed
  expectCopies<T>(dtype, {70, 45}, {1, 70}, 0, 3150);           // more than one tile
  expectCopies<T>(dtype, {3, 40, 50}, {2000, 1, 40}, 0, 6000);  // a batch of them
  expectCopies<T>(dtype, {6, 7}, {0, 1}, 2, 10);                // broadcast rows
  expectCopies<T>(dtype, {6, 7}, {1, 0}, 2, 10);                // broadcast columns
  expectCopies<T>(dtype, {4, 5}, {0, 0}, 2, 3);                 // one element
  expectCopies<T>(dtype, {5}, {-2}, 9, 10);                     // backwards
  expectCopies<T>(dtype, {3, 4}, {-4, -1}, 11, 12);             // both backwards
  expectCopies<T>(dtype, {3, 1, 4}, {8, 77, 2}, 1, 30);         // every other, an axis of one
  expectCopies<T>(dtype, {2, 3, 4, 5}, {1, 2, 30, 6}, 0, 120);  // permuted
  expectCopies<T>(dtype, std::vector<int64_t>(20, 1), std::vector<int64_t>(20, 5), 0, 1);
  expectCopies<T>(dtype, {2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2},
                  {1, 0, 2, 0, 4, 0, 8, 0, 16, 0, 32, 0, 64, 0, 128, 0, 256, 0, 512}, 0, 1024);
}

TEST(CopyDense, AnyStrides) {
  expectAllLayouts<uint8_t>(DType::u8);
  expectAllLayouts<uint16_t>(DType::bf16);
  expectAllLayouts<float>(DType::f32);
  expectAllLayouts<double>(DType::f64);
}

TEST(CopyDense, LargeOnTwoThreadsAndUnaligned) {
  expectCopies<float>(DType::f32, {700, 900}, {1, 700}, 0, 630000);
  expectCopies<float>(DType::f32, {700, 900}, {900, 1}, 0, 630000);
  expectCopies<float>(DType::f32, {700, 450}, {900, 2}, 0, 630000);
  std::vector<std::byte> bytes(64);
  for (int i = 0; i < 64; ++i) bytes[i] = std::byte(i);
  const int64_t shape[] = {4}, strides[] = {2};
  uint32_t out[4];
  copyDense({bytes.data() + 1, DType::f32, 1, shape, strides}, out, ParallelHost(1));
  EXPECT_EQ(out[1], 0x0c0b0a09u);
}

TEST(TensorRef, Contiguity) {
  const int64_t shape[] = {2, 1, 3}, good[] = {3, 99, 1}, bad[] = {4, 3, 1}, none[] = {2, 0, 3};
  EXPECT_TRUE((TensorRef{nullptr, DType::f32, 3, shape, nullptr}.contiguous()));
  EXPECT_TRUE((TensorRef{nullptr, DType::f32, 3, shape, good}.contiguous()));
  EXPECT_FALSE((TensorRef{nullptr, DType::f32, 3, shape, bad}.contiguous()));
  EXPECT_TRUE((TensorRef{nullptr, DType::f32, 3, none, bad}.contiguous()));
  EXPECT_EQ((TensorRef{nullptr, DType::bf16, 3, shape, nullptr}.str()), "bf16[2, 1, 3]");
}

}  // namespace
}  // namespace tokamak::runtime
