#include "cuda/simt_device.h"

#include <bit>
#include <cstring>

#include "codegen/cuda/emit.h"
#include "kernel/simt/run.h"
#include "support/shared_library.h"

namespace tokamak::fake {

Cuda& cuda() {
  static Cuda* found = [] {
    const std::string path = TOKAMAK_FAKE_CUDA;
    std::string tried;
    const auto library = SharedLibrary::open({&path, 1}, tried);
    TK_CHECK(library, tried);
    Cuda* (*find)() = nullptr;
    TK_CHECK(library->find("tokamakFakeCuda", find), path);
    return find();
  }();
  return *found;
}

std::shared_ptr<const runtime::cuda::Driver> openDriver() {
  Cuda& fake = cuda();
  fake.log.clear();
  fake.failing.clear();
  fake.devices = 1;
  fake.memoryLimit = int64_t{1} << 34;
  fake.onLaunch = runLaunch;
  auto driver = runtime::cuda::Driver::open(TOKAMAK_FAKE_CUDA);
  TK_CHECK(driver.ok(), driver.ok() ? "" : driver.error().str());
  return *driver;
}

static void expectShape(const Launch& launch, const kernel::Kernel& kernel, const DimBindings& symbols) {
  const auto source = codegen::cuda::emitCuda(kernel);
  ASSERT_TRUE(source) << source.error().str();
  EXPECT_EQ(launch.symbol, source->symbol);
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_EQ(source->launch.grid[axis].eval(symbols).value(), launch.grid[axis]);
    EXPECT_EQ(source->launch.block[axis].eval(symbols).value(), launch.block[axis]);
  }
  EXPECT_EQ(source->launch.sharedBytes.eval(symbols).value(), launch.sharedBytes);
}

void runLaunch(const Launch& launch) {
  const auto kernel = kernel::parseKernel(launch.image);
  ASSERT_TRUE(kernel) << kernel.error().str();
  size_t globals = 0;
  for (const auto& buffer : kernel->buffers) globals += buffer.scope == kernel::Scope::global;
  ASSERT_EQ(launch.words.size(), globals + kernel->symbols.size());
  DimBindings symbols;
  for (size_t i = 0; i < kernel->symbols.size(); ++i) symbols[kernel->symbols[i]] = launch.words[globals + i];
  expectShape(launch, *kernel, symbols);
  std::vector<Array> buffers;
  for (size_t i = 0; i < globals; ++i) {
    const auto& buffer = kernel->buffers[i];
    buffers.emplace_back(buffer.dtype, std::vector<int64_t>{buffer.size.eval(symbols).value()});
    if (buffers.back().bytes() > 0)
      std::memcpy(buffers.back().data(), std::bit_cast<void*>(launch.words[i]), buffers.back().bytes());
  }
  const auto status = kernel::runSimt(*kernel, buffers, symbols);
  ASSERT_TRUE(status.ok()) << status.error().str() << launch.image;
  for (size_t i = 0; i < globals; ++i)
    if (kernel->buffers[i].access != kernel::Access::in && buffers[i].bytes() > 0)
      std::memcpy(std::bit_cast<void*>(launch.words[i]), buffers[i].data(), buffers[i].bytes());
}

}  // namespace tokamak::fake
