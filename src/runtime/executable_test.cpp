#include "runtime/executable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <numeric>
#include <thread>

#ifndef __has_feature
#define __has_feature(x) 0
#endif

namespace {
thread_local int64_t heapAllocations = 0;
}
// Counts this thread's heap allocations, to show that steady state makes none. Sanitizers bring operators of their own.
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
void* operator new(size_t bytes) {
  ++heapAllocations;
  if (void* p = std::malloc(bytes ? bytes : 1)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
#endif

namespace tokamak::runtime {
namespace {

const Dim M = Dim::symbol("M"), N = Dim::symbol("N");

/// out[i] = in[i] + 1 over symbols[0] elements
void addOne(void* const* buffers, const int64_t* symbols, const KernelHost*) {
  for (int64_t i = 0; i < symbols[0]; ++i) static_cast<float*>(buffers[1])[i] = static_cast<float*>(buffers[0])[i] + 1;
}
/// out[i] = a[i] * b[i]
void multiply(void* const* buffers, const int64_t* symbols, const KernelHost*) {
  for (int64_t i = 0; i < symbols[0]; ++i)
    static_cast<float*>(buffers[2])[i] = static_cast<float*>(buffers[0])[i] * static_cast<float*>(buffers[1])[i];
}
/// out[0] = sum of symbols[0] elements
void sumAll(void* const* buffers, const int64_t* symbols, const KernelHost*) {
  float total = 0;
  for (int64_t i = 0; i < symbols[0]; ++i) total += static_cast<float*>(buffers[0])[i];
  static_cast<float*>(buffers[1])[0] = total;
}

Slot slot(std::string name, SlotKind kind, Shape shape, int index = -1) {
  return {std::move(name), kind, DType::f32, std::move(shape), index, nullptr};
}
KernelStep kernel(std::string name, KernelFunction f, std::vector<Operand> operands, std::vector<Dim> symbols) {
  return {std::move(name), f, nullptr, std::move(operands), std::move(symbols), 64};
}
Operand in(int s) { return {s, OperandAccess::in}; }
Operand out(int s) { return {s, OperandAccess::out}; }

struct Fixture : testing::Test {
  std::shared_ptr<MemoryPool> pool = std::make_shared<MemoryPool>();
  std::shared_ptr<ParallelHost> host = std::make_shared<ParallelHost>(2);
  std::shared_ptr<const Executable> make(Program program) {
    auto result = Executable::create(std::move(program), {.pool = pool, .host = host});
    EXPECT_TRUE(result) << result.error().str();
    return *result;
  }
};
using ExecutableTest = Fixture;

/// y = (x + 1) * (x + 1), x: f32[M, 4]
Program square() {
  Program p;
  p.name = "square";
  p.symbols = {"M"};
  p.slots = {slot("x", SlotKind::input, {M, 4}, 0), slot("t", SlotKind::temp, {M, 4}),
             slot("y", SlotKind::output, {M, 4}, 0)};
  p.steps = {kernel("add", addOne, {in(0), out(1)}, {M * 4}), kernel("mul", multiply, {in(1), in(1), out(2)}, {M * 4})};
  return p;
}

struct Values {
  std::vector<float> data;
  std::vector<int64_t> shape;
  explicit Values(std::vector<int64_t> s) : shape(std::move(s)) {
    int64_t count = 1;
    for (int64_t e : shape) count *= e;
    data.resize(count);
    std::iota(data.begin(), data.end(), 0.0f);
  }
  TensorRef ref() { return {data.data(), DType::f32, static_cast<int>(shape.size()), shape.data(), nullptr}; }
};

TEST_F(ExecutableTest, RunsForEveryBinding) {
  auto executable = make(square());
  for (int64_t m : {1, 2, 7, 100, 2, 7, 0}) {
    Values x({m, 4});
    const TensorRef inputs[] = {x.ref()};
    auto outputs = executable->run(inputs);
    ASSERT_TRUE(outputs) << outputs.error().str();
    EXPECT_EQ((*outputs)[0].shape(), x.shape);
    for (int64_t i = 0; i < m * 4; ++i) ASSERT_EQ((*outputs)[0].as<float>()[i], (i + 1.0f) * (i + 1.0f));
    EXPECT_EQ((*executable->outputShapes(inputs))[0], x.shape);
    EXPECT_EQ(executable->memory(inputs)->peakBytes, (m * 16 + 63) / 64 * 64);
  }
  EXPECT_EQ(executable->memory(DimBindings{{"M", 8}})->peakBytes, 128);
  EXPECT_EQ(executable->memory(DimBindings{}).error().code, "T0315");
}

/// Two inputs, each read by one step, and two results: the second is taken when the first input is done with.
TEST_F(ExecutableTest, TellsOfInputsAndTakesOutputsInTurn) {
  constexpr int64_t n = 1 << 16;
  Program p;
  p.name = "turns";
  p.slots = {slot("a", SlotKind::input, {n}, 0), slot("b", SlotKind::input, {n}, 1),
             slot("unread", SlotKind::input, {n}, 2), slot("x", SlotKind::output, {n}, 0),
             slot("y", SlotKind::output, {n}, 1)};
  p.steps = {kernel("first", addOne, {in(1), out(4)}, {n}), kernel("second", addOne, {in(0), out(3)}, {n})};
  auto executable = make(std::move(p));
  Values a({n}), b({n}), unread({n});
  std::ranges::fill(b.data, 5.0f);
  const TensorRef inputs[] = {a.ref(), b.ref(), unread.ref()};
  std::vector<int> told;
  std::vector<int64_t> held;
  const std::function<void(int)> finished = [&](int input) {
    told.push_back(input);
    held.push_back(pool->counters().inUseBytes);
  };
  auto outputs = executable->run(inputs, {.growth = Growth::fitted, .finished = &finished});
  ASSERT_TRUE(outputs) << outputs.error().str();
  EXPECT_EQ(told, (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(held, (std::vector<int64_t>{4 * n, 4 * n, 8 * n}));
  EXPECT_EQ((*outputs)[0].as<float>()[7], 8.0f);
  EXPECT_EQ((*outputs)[1].as<float>()[7], 6.0f);
  EXPECT_EQ((*outputs)[1].shape(), b.shape);
}

TEST_F(ExecutableTest, SteadyStateAllocatesNothing) {
  auto executable = make(square());
  Values x({50, 4}), y({50, 4}), x2({60, 4}), y2({60, 4});
  const TensorRef inputs[] = {x.ref()}, outputs[] = {y.ref()}, inputs2[] = {x2.ref()}, outputs2[] = {y2.ref()};
  const int64_t strides[] = {1, 50};
  TensorRef strided[] = {x.ref()};
  strided[0].strides = strides;
  auto all = [&] {
    return executable->run(inputs, outputs).ok() && executable->run(inputs2, outputs2).ok() &&
           executable->run(strided, outputs).ok() && executable->run(outputs, outputs).ok();
  };
  ASSERT_TRUE(all());
  const int64_t before = heapAllocations, misses = pool->counters().misses;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(all());
  EXPECT_EQ(heapAllocations, before);
  EXPECT_EQ(pool->counters().misses, misses);
  EXPECT_EQ(pool->counters().inUseBytes, 0);
}

TEST_F(ExecutableTest, OneKernelCallIsCheap) {
  Program p;
  p.slots = {slot("x", SlotKind::input, {4}, 0), slot("y", SlotKind::output, {4}, 0)};
  p.steps = {kernel("add", addOne, {in(0), out(1)}, {4})};
  auto executable = make(std::move(p));
  Values x({4}), y({4});
  const TensorRef inputs[] = {x.ref()}, outputs[] = {y.ref()};
  double best = 1e9;
  for (int round = 0; round < 20; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(executable->run(inputs, outputs));
    best = std::min(best,
                    std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / 1000);
  }
  RecordProperty("ns_per_call", static_cast<int>(best));
  EXPECT_LT(best, 20000);  // loose, for sanitizers; 2000 is the limit of a release build
}

TEST_F(ExecutableTest, ExplainsWrongInputs) {
  Program p = square();
  p.symbols.push_back("N");
  p.slots.push_back(slot("w", SlotKind::input, {2 * N + 1, M + N}, 1));
  auto executable = make(std::move(p));
  Values x({3, 4}), w({5, 5}), wide({3, 5}), odd({4, 5}), small({5, 6}), flat({12});
  auto codeOf = [&](std::vector<TensorRef> inputs) {
    auto result = executable->run(inputs);
    return result ? std::string("ok") : result.error().code + ": " + result.error().message;
  };
  EXPECT_EQ(codeOf({x.ref(), w.ref()}), "ok");
  EXPECT_EQ(codeOf({x.ref()}), "T0310: program square takes 2 inputs, got 1");
  TensorRef other = x.ref();
  other.dtype = DType::i32;
  EXPECT_EQ(codeOf({other, w.ref()}), "T0311: input 0 (x): expected f32[M, 4], got i32[3, 4]: another dtype");
  EXPECT_EQ(codeOf({flat.ref(), w.ref()}), "T0312: input 0 (x): expected f32[M, 4], got f32[12]: rank 1, not 2");
  EXPECT_EQ(codeOf({wide.ref(), w.ref()}), "T0313: input 0 (x): expected f32[M, 4], got f32[3, 5]: axis 1 must be 4");
  EXPECT_EQ(codeOf({x.ref(), small.ref()}),
            "T0313: input 1 (w): expected f32[2*N + 1, M + N], got f32[5, 6]: axis 1 must be 5 with M = 3, N = 2");
  EXPECT_EQ(codeOf({x.ref(), odd.ref()}).substr(0, 5), "T0313");
  TensorRef none = x.ref();
  none.data = nullptr;
  EXPECT_EQ(codeOf({none, w.ref()}).substr(0, 5), "T0314");
}

TEST_F(ExecutableTest, ExplainsWrongOutputs) {
  auto executable = make(square());
  Values x({3, 4}), y({3, 4}), bad({4, 3});
  const TensorRef inputs[] = {x.ref()};
  auto codeOf = [&](std::vector<TensorRef> outputs) {
    auto result = executable->run(inputs, outputs);
    return result ? "ok" : result.error().code;
  };
  EXPECT_EQ(codeOf({y.ref()}), "ok");
  EXPECT_EQ(codeOf({}), "T0316");
  EXPECT_EQ(codeOf({bad.ref()}), "T0316");
  TensorRef strided = y.ref();
  const int64_t strides[] = {1, 3};
  strided.strides = strides;
  EXPECT_EQ(codeOf({strided}), "T0316");
  TensorRef none = y.ref();
  none.data = nullptr;
  EXPECT_EQ(codeOf({none}), "T0316");
}

TEST_F(ExecutableTest, StridedBroadcastAndNegativeInputs) {
  auto executable = make(square());
  Values x({3, 4});
  struct Case {
    std::vector<int64_t> strides;
    int64_t origin;
  };
  for (const Case& c : {Case{{1, 3}, 0}, Case{{0, 1}, 0}, Case{{4, 0}, 1}, Case{{-4, -1}, 11}}) {
    TensorRef ref = x.ref();
    ref.data = x.data.data() + c.origin;
    ref.strides = c.strides.data();
    const TensorRef inputs[] = {ref};
    auto outputs = *executable->run(inputs);
    for (int r = 0; r < 3; ++r)
      for (int k = 0; k < 4; ++k) {
        const float v = x.data[c.origin + r * c.strides[0] + k * c.strides[1]] + 1;
        ASSERT_EQ(outputs[0].as<float>()[r * 4 + k], v * v);
      }
  }
}

/// Reads x after writing y, so that an overlap would show. y = x + 1, z = x * x.
Program twoOutputs() {
  Program p;
  p.slots = {slot("x", SlotKind::input, {8}, 0), slot("y", SlotKind::output, {8}, 0),
             slot("z", SlotKind::output, {8}, 1)};
  p.steps = {kernel("add", addOne, {in(0), out(1)}, {8}), kernel("mul", multiply, {in(0), in(0), out(2)}, {8})};
  return p;
}

TEST_F(ExecutableTest, OutputsMayOverlapInputsAndEachOther) {
  auto executable = make(twoOutputs());
  {
    Values x({8}), z({8});
    const TensorRef inputs[] = {x.ref()}, outputs[] = {x.ref(), z.ref()};
    ASSERT_TRUE(executable->run(inputs, outputs));
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(x.data[i], i + 1);
      EXPECT_EQ(z.data[i], i * i);
    }
  }
  {
    Values memory({20});
    TensorRef x = memory.ref(), y = x, z = x;
    const int64_t shape[] = {8};
    x.shape = y.shape = z.shape = shape;
    y.data = memory.data.data() + 4;   // half of x
    z.data = memory.data.data() + 12;  // apart
    const TensorRef inputs[] = {x}, outputs[] = {y, z};
    ASSERT_TRUE(executable->run(inputs, outputs));
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(memory.data[4 + i], i + 1);
      EXPECT_EQ(memory.data[12 + i], i * i);
    }
  }
  {
    Values x({8}), y({8});
    const TensorRef inputs[] = {x.ref()}, outputs[] = {y.ref(), y.ref()};
    EXPECT_TRUE(executable->run(inputs, outputs));  // the later one stays
    for (int i = 0; i < 8; ++i) EXPECT_EQ(y.data[i], i * i);
  }
  {
    std::vector<std::byte> bytes(100);
    Values x({8}), z({8});
    TensorRef y = z.ref();
    y.data = bytes.data() + 1;
    const TensorRef inputs[] = {x.ref()}, outputs[] = {y, z.ref()};
    ASSERT_TRUE(executable->run(inputs, outputs));
    float third;
    std::copy_n(bytes.data() + 1 + 3 * sizeof(float), 4, reinterpret_cast<std::byte*>(&third));
    EXPECT_EQ(third, 4.0f);
  }
}

TEST_F(ExecutableTest, ManyOutputsOverlappingInAllWays) {
  constexpr int kOutputs = 40;  // more than fit on the stack
  Program p;
  p.slots.push_back(slot("x", SlotKind::input, {8}, 0));
  for (int i = 0; i < kOutputs; ++i) {
    p.slots.push_back(slot("y", SlotKind::output, {8}, i));
    p.steps.push_back(kernel("add", addOne, {in(0), out(i + 1)}, {8}));
  }
  auto executable = make(std::move(p));
  const int64_t shape[] = {8};
  for (const int distance : {8, 7, 1, 0}) {
    Values memory({kOutputs * 8 + 8});
    const TensorRef inputs[] = {{memory.data.data() + 24, DType::f32, 1, shape, nullptr}};
    std::vector<TensorRef> outputs(kOutputs);
    for (int i = 0; i < kOutputs; ++i)
      outputs[i] = {memory.data.data() + int64_t{i} * distance, DType::f32, 1, shape, nullptr};
    std::vector<float> expected = memory.data;
    for (int i = 0; i < kOutputs; ++i)
      for (int k = 0; k < 8; ++k) expected[i * distance + k] = memory.data[24 + k] + 1;
    ASSERT_TRUE(executable->run(inputs, outputs));
    EXPECT_EQ(memory.data, expected) << distance;
  }
}

TEST_F(ExecutableTest, SkipsEmptyStepsButNotReductionsOverNothing) {
  Program p;
  p.symbols = {"M"};
  p.slots = {slot("x", SlotKind::input, {M}, 0), slot("t", SlotKind::temp, {M}), slot("s", SlotKind::output, {}, 0),
             slot("y", SlotKind::output, {M}, 1)};
  p.steps = {kernel("add", addOne, {in(0), out(1)}, {M}), kernel("sum", sumAll, {in(1), out(2)}, {M}),
             kernel("add2", addOne, {in(1), out(3)}, {M})};
  auto executable = make(std::move(p));
  Values x({0});
  const TensorRef inputs[] = {x.ref()};
  Profile profile;
  auto outputs = *executable->run(inputs, RunOptions{.profile = &profile});
  EXPECT_EQ(outputs[0].as<float>()[0], 0.0f);
  EXPECT_EQ(outputs[1].shape(), std::vector<int64_t>{0});
  ASSERT_EQ(profile.entries.size(), 3u);
  EXPECT_TRUE(profile.entries[0].skipped);
  EXPECT_FALSE(profile.entries[1].skipped);
  EXPECT_EQ(profile.entries[1].name, "sum");
  EXPECT_EQ(profile.entries[1].predictedBytes, 64);
}

/// A call that fails when told to, and otherwise writes what it was given.
struct Probe final : Call {
  Result<> run(const CallArguments& a) const override {
    if (a.dims[0] == 13) return Diagnostic{"T0701", {}, "thirteen", ""};
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.scratch) % 64, 0u);
    std::fill_n(a.scratch, a.dims[1], std::byte{5});
    for (int64_t i = 0; i < a.dims[0]; ++i)
      static_cast<float*>(a.buffers[1])[i] =
          static_cast<float*>(a.buffers[0])[i] + static_cast<float*>(a.buffers[2])[i];
    return Unit{};
  }
};

TEST_F(ExecutableTest, CallsConstantsAliasesAndScratch) {
  Program p;
  p.symbols = {"M"};
  auto constant = std::make_shared<std::vector<float>>(64, 10.0f);
  p.slots = {slot("x", SlotKind::input, {M}, 0),       slot("t", SlotKind::temp, {M, 2}),
             slot("view", SlotKind::alias, {M}, 1),    slot("c", SlotKind::constant, {64}),
             slot("y", SlotKind::output, {M}, 0),      slot("scratch", SlotKind::temp, {100}),
             slot("copy", SlotKind::output, {M, 1}, 1)};
  p.slots[3].constant = std::shared_ptr<const void>(constant, constant->data());
  p.steps = {CallStep{"probe", std::make_shared<Probe>(), {in(0), out(2), in(3)}, {M, M * 8}, M * 8, 7},
             kernel("add", addOne, {in(1), out(4), {5, OperandAccess::scratch}}, {M}),
             CallStep{"copy", makeCopyCall(), {in(4), out(6)}, {M * 4}, 0, 0}};
  auto executable = make(std::move(p));
  for (int64_t m : {1, 13, 20}) {
    Values x({m});
    const TensorRef inputs[] = {x.ref()};
    auto outputs = executable->run(inputs);
    if (m == 13) {
      EXPECT_EQ(outputs.error().code, "T0701");
      continue;
    }
    for (int64_t i = 0; i < m; ++i) {
      EXPECT_EQ((*outputs)[0].as<float>()[i], i + 11.0f);
      EXPECT_EQ((*outputs)[1].as<float>()[i], i + 11.0f);
    }
    EXPECT_EQ(executable->memory(inputs)->constantBytes, 256);
  }
  EXPECT_EQ(pool->counters().inUseBytes, 0);
}

TEST_F(ExecutableTest, SymbolsThatNoInputDetermines) {
  Program p = square();
  p.slots[0] = slot("x", SlotKind::input, {M * N, 4}, 0);
  p.symbols = {"M", "N"};
  p.slots[1].shape = p.slots[2].shape = {M * N, 4};
  for (auto& step : p.steps) std::get<KernelStep>(step).symbols = {M * N * 4};
  auto executable = make(std::move(p));
  Values x({6, 4});
  const TensorRef inputs[] = {x.ref()};
  EXPECT_EQ(executable->run(inputs).error().code, "T0315");
  const DimBindings good{{"M", 2}, {"N", 3}}, bad{{"M", 2}, {"N", 4}}, negative{{"M", -2}, {"N", -3}};
  EXPECT_TRUE(executable->run(inputs, RunOptions{.dims = &good}));
  EXPECT_EQ(executable->run(inputs, RunOptions{.dims = &bad}).error().code, "T0313");
  EXPECT_EQ(executable->run(inputs, RunOptions{.dims = &negative}).error().code, "T0313");
}

TEST_F(ExecutableTest, HugeDimensionsAreDiagnosed) {
  auto executable = make(square());
  float one = 1;
  for (int64_t m : {int64_t{1} << 40, int64_t{1} << 61, INT64_MAX}) {
    const int64_t shape[] = {m, 4}, strides[] = {0, 0};
    const TensorRef inputs[] = {{&one, DType::f32, 2, shape, strides}};
    auto result = executable->run(inputs);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code.substr(0, 3), "T06") << result.error().str();
  }
  const int64_t negative[] = {-3, 4};
  const TensorRef inputs[] = {{&one, DType::f32, 2, negative, nullptr}};
  EXPECT_EQ(executable->run(inputs).error().code, "T0313");
}

TEST_F(ExecutableTest, RefusesBrokenPrograms) {
  auto message = [&](auto edit) {
    Program p = square();
    edit(p);
    auto result = Executable::create(std::move(p), {.pool = pool, .host = host});
    EXPECT_FALSE(result);
    return result ? "" : result.error().code + " " + result.error().message;
  };
  using K = KernelStep;
  EXPECT_EQ(message([](Program& p) { std::swap(p.steps[0], p.steps[1]); }),
            "T0603 program square: step 0 mul reads t before it is written");
  EXPECT_EQ(message([](Program& p) { p.steps.pop_back(); }), "T0603 program square: output y is never written");
  EXPECT_EQ(message([](Program& p) { std::get<K>(p.steps[0]).operands[1].slot = 9; }),
            "T0603 program square: step 0 add uses slot 9, which does not exist");
  EXPECT_EQ(message([](Program& p) { std::get<K>(p.steps[0]).operands[1].slot = 0; }),
            "T0603 program square: step 0 add writes input x");
  EXPECT_EQ(message([](Program& p) { std::get<K>(p.steps[0]).function = nullptr; }),
            "T0603 program square: step 0 add has no code");
  EXPECT_EQ(message([](Program& p) { p.slots[2].index = 1; }), "T0603 program square: no slot for output 0");
  EXPECT_EQ(message([](Program& p) { p.symbols.clear(); }), "T0603 the program has no symbol M");
  EXPECT_EQ(message([](Program& p) { p.symbols = {"M", "M"}; }),
            "T0603 program square: two symbols have the same name");
  EXPECT_EQ(message([](Program& p) { p.slots.push_back(slot("a", SlotKind::alias, {}, 3)); }),
            "T0603 program square: alias a leads nowhere");
}

TEST_F(ExecutableTest, ReusesMemoryInAChain) {
  Program p;
  p.slots = {slot("x", SlotKind::input, {1000}, 0), slot("y", SlotKind::output, {1000}, 0)};
  int last = 0;
  for (int i = 0; i < 60; ++i) {  // enough operands that the tables do not fit on the stack
    p.slots.push_back(slot("t", SlotKind::temp, {1000}));
    p.steps.push_back(kernel("add", addOne, {in(last), out(i + 2), out(i + 2)}, {1000}));
    last = i + 2;
  }
  p.steps.push_back(kernel("add", addOne, {in(last), out(1)}, {1000}));
  auto executable = make(std::move(p));
  Values x({1000}), y({1000});
  const TensorRef inputs[] = {x.ref()}, outputs[] = {y.ref()};
  ASSERT_TRUE(executable->run(inputs, outputs));
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(y.data[i], i + 61);
  EXPECT_EQ(executable->memory(inputs)->peakBytes, 4032);  // every other one lives in the output until that is written
  EXPECT_EQ(executable->memory(inputs)->withoutReuseBytes, 60 * 4032);
}

TEST_F(ExecutableTest, ManyThreadsAndBindingsAtOnce) {
  Program program = square();
  auto executable = *Executable::create(std::move(program), {.pool = pool, .host = host, .cachedBindings = 4});
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 100; ++round) {
        Values x({1 + (round * 7 + t) % 10, 4});
        const TensorRef inputs[] = {x.ref()};
        auto outputs = *executable->run(inputs);
        for (size_t i = 0; i < x.data.size(); ++i) ASSERT_EQ(outputs[0].as<float>()[i], (i + 1.0f) * (i + 1.0f));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(ExecutableTest, ProgramsWithoutInputsOrSteps) {
  auto nothing = make({});
  EXPECT_TRUE(nothing->run(std::span<const TensorRef>{})->empty());
  EXPECT_TRUE(nothing->run({}, std::span<const TensorRef>{}));
}

}  // namespace
}  // namespace tokamak::runtime
