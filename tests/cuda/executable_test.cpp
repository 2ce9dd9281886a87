#include "runtime/cuda/executable.h"

#include <array>
#include <cstring>

#include "codegen/cuda/emit.h"
#include "cuda/simt_device.h"
#include "runtime/cuda/kernel_code.h"
#include "runtime/cuda/recording.h"

/// Programs of launches on the fake driver: arguments, memory, errors, and what is not launched.
namespace tokamak::runtime::cuda {
namespace {

using fake::cuda;

class CudaExecutable : public testing::Test {
 protected:
  CudaExecutable() : driver_(fake::openDriver()), device_(*Device::open(driver_, 0)) {}

  LaunchStep stepOf(std::string_view text, std::vector<Operand> operands) {
    const auto kernel = std::make_shared<const kernel::Kernel>(*kernel::parseKernel(text));
    const auto source = codegen::cuda::emitCuda(*kernel);
    EXPECT_TRUE(source) << source.error().str();
    LaunchStep step;
    step.name = kernel->name;
    step.code = std::make_shared<KernelCode>(device_, kernel->name, source->symbol, [this, kernel](Variant v) {
      variants_.push_back(v);
      return Result<std::string>(kernel::print(*kernel));
    });
    step.operands = std::move(operands);
    for (const auto& symbol : kernel->symbols) step.symbols.push_back(Dim::symbol(symbol));
    step.grid = source->launch.grid, step.block = source->launch.block;
    step.sharedBytes = source->launch.sharedBytes;
    step.predictedBytes = Dim::symbol("N") * Dim(8);
    return step;
  }

  /// y = (x * 2) + 1 in two kernels, by way of a temporary.
  std::shared_ptr<const Executable> twoSteps() {
    Program program;
    program.name = "two";
    program.symbols = {"N"};
    const Dim n = Dim::symbol("N");
    program.slots = {{"x", SlotKind::input, DType::f32, {n}, 0, {}},
                     {"t", SlotKind::temp, DType::f32, {n}, -1, {}},
                     {"y", SlotKind::output, DType::f32, {n}, 0, {}}};
    program.steps.push_back(stepOf(body("twice", "load x[i]*2.0"), {{0, OperandAccess::in}, {1, OperandAccess::out}}));
    program.steps.push_back(stepOf(body("plus", "load x[i] + 1.0"), {{1, OperandAccess::in}, {2, OperandAccess::out}}));
    auto made = Executable::create(std::move(program), {.device = device_});
    EXPECT_TRUE(made) << made.error().str();
    return *made;
  }

  static std::string body(const std::string& name, const std::string& value) {
    return "kernel @" + name + R"((in x: f32[N], out y: f32[N]; N) {
      for b in 0..floordiv(N + 31, 32) block.x {
        for t in 0..32 thread.x {
          let i: i64 = b*32 + t
          if i < N {
            store y[i] = )" +
           value + R"(
          }
        }
      }
    })";
  }

  std::shared_ptr<const Driver> driver_;
  std::shared_ptr<const Device> device_;
  std::vector<Variant> variants_;
};

struct HostTensor {
  explicit HostTensor(int64_t n, int64_t offset = 0) : memory(static_cast<size_t>(n + 64)), shape{n} {
    auto at = reinterpret_cast<uintptr_t>(memory.data());
    data = memory.data() + (64 - at % 64) % 64 / sizeof(float) + offset;
    for (int64_t i = 0; i < n; ++i) data[i] = static_cast<float>(i);
  }
  TensorRef ref() const { return {data, DType::f32, 1, shape, nullptr}; }
  std::vector<float> memory;
  float* data;
  int64_t shape[1];
};

TEST_F(CudaExecutable, RunsLaunchesInOrder) {
  const auto executable = twoSteps();
  for (int64_t n : {1, 31, 32, 100}) {
    const HostTensor x(n);
    HostTensor y(n);
    const TensorRef in = x.ref(), out = y.ref();
    ASSERT_TRUE(executable->run({&in, 1}, {&out, 1}).ok());
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y.data[i], static_cast<float>(2 * i + 1));
  }
  EXPECT_EQ(cuda().count("cuModuleLoadData"), 2) << "one compilation serves all sizes";
  EXPECT_EQ(cuda().blocks, 0) << "temporaries are released";
}

TEST_F(CudaExecutable, LaunchesThatComeAgainAreOneGraph) {
  const auto executable = twoSteps();
  const HostTensor x(100), other(100);
  HostTensor y(100);
  const auto run = [&](const HostTensor& input, int64_t n) {
    const int64_t shape[] = {n};
    const TensorRef in{input.data, DType::f32, 1, shape, nullptr}, out{y.data, DType::f32, 1, shape, nullptr};
    std::fill_n(y.data, 100, -1.f);
    ASSERT_TRUE(executable->run({&in, 1}, {&out, 1}).ok());
    for (int64_t i = 0; i < 100; ++i) ASSERT_EQ(y.data[i], i < n ? 2 * input.data[i] + 1 : -1.f) << i;
  };
  other.data[5] = 77;
  run(x, 100);
  EXPECT_EQ(cuda().count("cuLaunchKernel"), 2) << "what runs once needs no graph";
  run(x, 100), run(other, 100), run(x, 33), run(other, 64), run(x, 100);
  EXPECT_EQ(cuda().count("cuLaunchKernel"), 2);
  EXPECT_EQ(cuda().count("cuGraphInstantiate"), 1) << "one for all addresses and sizes";
  EXPECT_EQ(cuda().count("cuGraphLaunch"), 5);
}

/// The same place every time, as a caching allocator gives.
class OnePlace final : public Allocator {
 public:
  Result<void*> allocate(int64_t, Stream) override { return memory_.data(); }
  void release(void*, Stream) noexcept override {}

 private:
  alignas(256) std::array<std::byte, 4096> memory_;
};

TEST_F(CudaExecutable, OnlyWhatHasChangedIsToldToTheGraph) {
  const auto executable = twoSteps();
  const RunOptions options{.allocator = std::make_shared<OnePlace>()};
  const HostTensor x(100), other(100);
  HostTensor y(100);
  const TensorRef in = x.ref(), next = other.ref(), out = y.ref();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(executable->run({&in, 1}, {&out, 1}, options).ok());
  EXPECT_EQ(cuda().count("cuGraphExecKernelNodeSetParams"), 0);
  ASSERT_TRUE(executable->run({&next, 1}, {&out, 1}, options).ok());
  EXPECT_EQ(cuda().count("cuGraphExecKernelNodeSetParams tk_twice"), 1);
  EXPECT_EQ(cuda().count("cuGraphExecKernelNodeSetParams tk_plus"), 0) << "it does not read the input";
}

TEST_F(CudaExecutable, EveryStreamHasAGraphOfItsOwn) {
  const auto executable = twoSteps();
  const HostTensor x(100);
  HostTensor y(100);
  const TensorRef in = x.ref(), out = y.ref();
  std::vector<Stream> streams(6);
  for (Stream& stream : streams) ASSERT_EQ(driver_->api.createStream(&stream, 0), 0);
  for (int round = 0; round < 3; ++round)
    for (Stream stream : streams) ASSERT_TRUE(executable->run({&in, 1}, {&out, 1}, {.stream = stream}).ok());
  EXPECT_EQ(cuda().count("cuGraphInstantiate"), 4) << "a few, the others launch singly";
  EXPECT_EQ(y.data[99], 199.f);
  for (Stream stream : streams) driver_->api.destroyStream(stream);
}

TEST_F(CudaExecutable, ARefusedGraphIsLaunchedSingly) {
  for (const char* refused : {"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiate",
                              "cuGraphExecKernelNodeSetParams", "cuGraphLaunch"}) {
    const auto executable = twoSteps();
    cuda().failing[refused] = 1;
    for (const int64_t n : {100, 90, 80, 70}) {
      const HostTensor x(n);
      HostTensor y(n);
      const TensorRef in = x.ref(), out = y.ref();
      ASSERT_TRUE(executable->run({&in, 1}, {&out, 1}).ok()) << refused;
      ASSERT_EQ(y.data[n - 1], static_cast<float>(2 * n - 1)) << refused;
    }
    cuda().failing.clear();
  }
}

TEST_F(CudaExecutable, AFailingGraphNamesTheKernelAndItsLaunch) {
  const auto executable = twoSteps();
  const HostTensor x(100);
  HostTensor y(100);
  const TensorRef in = x.ref(), out = y.ref();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(executable->run({&in, 1}, {&out, 1}).ok());
  cuda().failing["cuGraphLaunch"] = cuda().failing["cuLaunchKernel"] = 700;  // as a context does that is dead
  const auto done = executable->run({&in, 1}, {&out, 1});
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().message.find("launch of twice on cuda:0 (grid 4x1x1"), std::string::npos)
      << done.error().message;
}

TEST_F(CudaExecutable, LaunchesAreCapturedSingly) {
  const auto executable = twoSteps();
  HostTensor x(40), y(40);
  const TensorRef in = x.ref(), out = y.ref();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(executable->run({&in, 1}, {&out, 1}).ok());
  const int launched = cuda().count("cuGraphLaunch");
  const auto recording = executable->record({&in, 1}, {&out, 1});
  ASSERT_TRUE(recording.ok()) << recording.error().str();
  EXPECT_EQ(cuda().count("cuGraphLaunch"), launched) << "a graph within a graph cannot be told of new addresses";
  x.data[3] = 50;
  ASSERT_TRUE((*recording)->replay(nullptr).ok());
  EXPECT_EQ(y.data[3], 101.f);
}

TEST_F(CudaExecutable, GivesOutputsOfItsOwn) {
  const auto executable = twoSteps();
  const HostTensor x(40);
  const TensorRef in = x.ref();
  {
    const auto outputs = executable->run({&in, 1});
    ASSERT_TRUE(outputs.ok()) << outputs.error().str();
    EXPECT_EQ(static_cast<float*>((*outputs)[0].data())[39], 79.f);
    EXPECT_EQ(cuda().blocks, 1);
  }
  EXPECT_EQ(cuda().blocks, 0);
}

TEST_F(CudaExecutable, NothingIsLaunchedForNoElements) {
  const auto executable = twoSteps();
  const HostTensor x(0);
  const TensorRef in = x.ref();
  const auto outputs = executable->run({&in, 1});
  ASSERT_TRUE(outputs.ok()) << outputs.error().str();
  EXPECT_EQ((*outputs)[0].shape(), std::vector<int64_t>{0});
  EXPECT_EQ(cuda().count("cuLaunchKernel"), 0);
  EXPECT_EQ(cuda().count("cuMemAllocAsync"), 0);
}

TEST_F(CudaExecutable, UnalignedTensorsGetCodeThatExpectsThem) {
  const auto executable = twoSteps();
  const HostTensor x(40, 1);
  HostTensor y(40);
  const TensorRef in = x.ref(), out = y.ref();
  ASSERT_TRUE(executable->run({&in, 1}, {&out, 1}).ok());
  EXPECT_EQ(y.data[39], 79.f);
  ASSERT_EQ(variants_.size(), 2u);
  EXPECT_FALSE(variants_[0].aligned);
  EXPECT_TRUE(variants_[1].aligned);
  EXPECT_TRUE(variants_[0].narrow);
}

TEST_F(CudaExecutable, OutputsMayOverlapInputs) {
  const auto executable = twoSteps();
  HostTensor x(40);
  const TensorRef in = x.ref();
  ASSERT_TRUE(executable->run({&in, 1}, {&in, 1}).ok());
  for (int64_t i = 0; i < 40; ++i) ASSERT_EQ(x.data[i], static_cast<float>(2 * i + 1));
  EXPECT_EQ(cuda().count("cuMemcpyDtoDAsync"), 1);
}

TEST_F(CudaExecutable, FailuresNameTheKernelAndItsLaunch) {
  const auto executable = twoSteps();
  cuda().failing["cuLaunchKernel"] = 700;
  const HostTensor x(100);
  const TensorRef in = x.ref();
  const auto outputs = executable->run({&in, 1});
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code, "T0611");
  EXPECT_EQ(outputs.error().message,
            "CUDA: launch of twice on cuda:0 (grid 4x1x1, block 32x1x1, 0 bytes of shared memory): "
            "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)");
  EXPECT_EQ(cuda().blocks, 0) << "nothing is kept of a call that failed";
}

TEST_F(CudaExecutable, RunsOutOfMemoryCleanly) {
  const auto executable = twoSteps();
  cuda().memoryLimit = 1000;
  const HostTensor x(1000);
  const TensorRef in = x.ref();
  const auto outputs = executable->run({&in, 1});
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code, "T0612");
  EXPECT_NE(outputs.error().message.find("4032 bytes on cuda:0"), std::string::npos) << outputs.error().message;
  EXPECT_EQ(cuda().blocks, 0);
}

TEST_F(CudaExecutable, ProfileIsMeasuredByEvents) {
  const auto executable = twoSteps();
  const HostTensor x(100);
  const TensorRef in = x.ref();
  Profile profile;
  ASSERT_TRUE(executable->run({&in, 1}, {.profile = &profile}).ok());
  ASSERT_EQ(profile.entries.size(), 2u);
  EXPECT_EQ(profile.entries[1].name, "plus");
  EXPECT_EQ(profile.entries[1].nanoseconds, 500000);
  EXPECT_EQ(profile.entries[1].predictedBytes, 800);
}

TEST_F(CudaExecutable, ReplaysWhatItRecorded) {
  Replayer replayer(twoSteps());
  HostTensor x(40);
  HostTensor y(40), z(40);
  const TensorRef in = x.ref(), out = y.ref(), other = z.ref();
  for (int round = 0; round < 3; ++round) {
    x.data[7] = static_cast<float>(round);
    ASSERT_TRUE(replayer.run({&in, 1}, {&out, 1}).ok());
    EXPECT_EQ(y.data[7], static_cast<float>(2 * round + 1)) << "new contents are seen";
  }
  EXPECT_EQ(cuda().count("cuGraphInstantiate"), 1);
  EXPECT_EQ(cuda().count("cuGraphLaunch"), 3);
  EXPECT_EQ(cuda().count("cuLaunchKernel"), 2) << "launches are recorded once";
  ASSERT_TRUE(replayer.run({&in, 1}, {&other, 1}).ok());
  EXPECT_EQ(z.data[39], 79.f);
  EXPECT_EQ(cuda().count("cuGraphInstantiate"), 2) << "new addresses are recorded anew";
}

TEST_F(CudaExecutable, AFailedRecordingEndsItsCapture) {
  const auto executable = twoSteps();
  const HostTensor x(40), y(40);
  const TensorRef in = x.ref(), out = y.ref();
  cuda().failing["cuLaunchKernel"] = 1;
  const auto recording = executable->record({&in, 1}, {&out, 1});
  ASSERT_FALSE(recording.ok());
  EXPECT_EQ(recording.error().code, "T0611");
  EXPECT_EQ(cuda().count("cuStreamEndCapture"), 1);
  EXPECT_EQ(cuda().count("cuStreamDestroy"), 1);
  EXPECT_EQ(cuda().blocks, 0);
}

TEST_F(CudaExecutable, RefusesWhatIsNotDense) {
  const auto executable = twoSteps();
  const HostTensor x(100);
  const int64_t shape[] = {50}, strides[] = {2};
  const TensorRef in{x.data, DType::f32, 1, shape, strides};
  const auto outputs = executable->run({&in, 1});
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code, "T0615");
}

TEST(CudaDriver, SaysWhatIsMissing) {
  const auto driver = Driver::open("/nowhere/libcuda.so.1");
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.error().code, "T0610");
  EXPECT_NE(driver.error().message.find("/nowhere/libcuda.so.1"), std::string::npos);
}

TEST(CudaDriver, NumbersDevices) {
  const auto driver = fake::openDriver();
  const auto device = Device::open(driver, 1);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().code, "T0613");
  EXPECT_EQ((*Device::open(driver, 0))->arch(), "sm_90a");
}

}  // namespace
}  // namespace tokamak::runtime::cuda
