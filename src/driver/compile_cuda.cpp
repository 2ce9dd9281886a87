#include "driver/compile_cuda.h"

#include <fmt/format.h>

#include "driver/in_parallel.h"
#include "driver/program_writer.h"
#include "driver/shape_checks.h"
#include "runtime/cuda/kernel_code.h"
#include "support/index_limit.h"

namespace tokamak {

namespace {

using runtime::cuda::KernelCode;
using runtime::cuda::Variant;

struct CudaKernel {
  codegen::cuda::Launch launch;
  std::shared_ptr<const KernelCode> code;
};
using CudaKernels = std::vector<std::vector<CudaKernel>>;  // by region and launch

codegen::cuda::Assumptions assumptionsOf(Variant variant, bool halves) {
  return {variant.narrow, variant.aligned ? 16 : 1, halves};
}

/// What calls at the hinted sizes will want.
Variant likelyVariant(const kernel::Kernel& kernel, const DimBindings& hints) {
  DimBindings dims = hints;
  for (const std::string& symbol : kernel.symbols) dims.try_emplace(symbol, 1024);
  const auto reach = kernel.reach.value_or(0).eval(dims);
  return {.narrow = reach && *reach < kNarrowIndexLimit, .aligned = true};
}

/// All launches of these regions, compiled and loaded at the same time.
Result<> loadKernels(const Lowered& lowered, const std::vector<size_t>& regions, const Engine& engine,
                     const CudaDevice& device, const CompileOptions& options, CudaKernels& out) {
  std::vector<std::pair<size_t, size_t>> all;
  for (size_t i : regions) {
    out[i].assign(lowered.kernels[i]->launches.size(), {});
    for (size_t k = 0; k < out[i].size(); ++k) all.emplace_back(i, k);
  }
  const std::string arch = device.device->arch();
  const auto cuda = engine.cuda;
  const bool useCache = options.useCache;
  return forEachInParallel(all.size(), [&](size_t n) -> Result<> {
    const auto [i, k] = all[n];
    const auto kernel = std::make_shared<const kernel::Kernel>(lowered.kernels[i]->launches[k].kernel);
    TK_TRY(const codegen::cuda::Source source, codegen::cuda::emitCuda(*kernel));
    out[i][k].launch = source.launch;
    out[i][k].code = std::make_shared<const KernelCode>(
        device.device, kernel->name, source.symbol,
        [kernel, cuda, arch, useCache, halves = lowered.kernels[i]->halves](Variant variant) {
          return cuda->compiler(useCache).compile(*kernel, assumptionsOf(variant, halves), arch);
        });
    return out[i][k].code->prepare(likelyVariant(*kernel, options.hints));
  });
}

/// Bytes that a thread of the region's launches keeps in memory for want of registers.
Result<int> spilled(const schedule::Scheduled& scheduled, const std::vector<CudaKernel>& kernels,
                    const CompileOptions& options) {
  int out = 0;
  for (size_t k = 0; k < kernels.size(); ++k) {
    const Variant variant = likelyVariant(scheduled.launches[k].kernel, options.hints);
    TK_TRY(const KernelCode::Resources used, kernels[k].code->resources(variant));
    out += used.localBytes;
  }
  return out;
}

constexpr int kFewBytes = 16;  // spilled by a thread that are no reason for another plan

/// Regions whose kernels spill are planned for a device with registers to spare, twice at most; the plan that spills
/// least stays.
Result<> planSpillingAgain(Lowered& lowered, const Engine& engine, const CudaDevice& device,
                           const CompileOptions& options, CudaKernels& kernels) {
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (!lowered.kernels[i]) continue;
    TK_TRY(int least, spilled(*lowered.kernels[i], kernels[i], options));
    const int first = least;
    for (const int spare : {32, 96}) {
      if (least <= kFewBytes) break;
      CompileOptions roomier = options;
      roomier.gpu->spareRegisters += spare;
      Lowered again{lowered.graph, lowered.plan, {}};
      again.kernels.resize(kernels.size());
      TK_TRY(again.kernels[i], scheduleOne(again, i, engine, roomier));
      CudaKernels loaded(kernels.size());
      TK_RETURN_IF_ERROR(loadKernels(again, {i}, engine, device, options, loaded));
      TK_TRY(const int spills, spilled(*again.kernels[i], loaded[i], options));
      if (spills >= least) continue;
      least = spills;
      lowered.kernels[i] = std::move(again.kernels[i]);
      lowered.plan.ledger.regions[i].schedule = again.plan.ledger.regions[i].schedule;
      kernels[i] = std::move(loaded[i]);
    }
    if (least < first)
      lowered.plan.ledger.notes.push_back(
          fmt::format("{} was planned again: a thread kept {} bytes in memory for want of registers, now {}",
                      lowered.plan.ledger.regions[i].name, first, least));
  }
  return Unit{};
}

constexpr int64_t kZeroBytes = 4 << 20;  // of operands that stand for those of a product over no elements

class ProductStep final : public runtime::Call {
 public:
  ProductStep(std::shared_ptr<const library::DeviceMatMul> product, std::shared_ptr<const runtime::cuda::Device> device,
              int64_t workspaceBytes)
      : product_(std::move(product)), device_(std::move(device)), workspaceBytes_(workspaceBytes) {}
  Result<> run(const runtime::CallArguments& a) const override {
    const library::MatMulDims dims{a.dims[0], a.dims[1], a.dims[2], a.dims[3]};
    return dims.k == 0 ? overNothing(dims, a) : product_->run(dims, a.buffers, workspaceOf(a), a.stream);
  }

 private:
  std::span<std::byte> workspaceOf(const runtime::CallArguments& a) const {
    return {a.scratch, static_cast<size_t>(workspaceBytes_)};
  }

  /// The library refuses a product over no elements, whose result is what follows it, of zeros: as is the result of a
  /// product over one element that is zero.
  Result<> overNothing(const library::MatMulDims& dims, const runtime::CallArguments& a) const {
    const int64_t longest = dims.batch * std::max(dims.m, dims.n) * byteWidth(product_->desc().a);
    if (longest > kZeroBytes)
      return Diagnostic{"T0704",
                        {},
                        fmt::format("a product over no elements has {} x {} x {} results", dims.batch, dims.m, dims.n),
                        "write zeros for it"};
    std::byte* zeros = a.scratch + workspaceBytes_;
    TK_RETURN_IF_ERROR(
        device_->driver().check(device_->api().fill(reinterpret_cast<uint64_t>(zeros), 0, static_cast<size_t>(longest),
                                                    static_cast<runtime::cuda::Stream>(a.stream)),
                                "zeros for a product"));
    std::vector<void*> buffers(a.buffers.begin(), a.buffers.end());
    buffers[0] = buffers[1] = zeros;
    return product_->run({dims.batch, dims.m, dims.n, 1}, buffers, workspaceOf(a), a.stream);
  }

  std::shared_ptr<const library::DeviceMatMul> product_;
  std::shared_ptr<const runtime::cuda::Device> device_;
  int64_t workspaceBytes_;
};

/// For the extents a call is expected to have; where nobody knows them, as much as the library may want.
Result<int64_t> workspaceFor(const library::DeviceMatMul& product, std::span<const Dim> dims,
                             const DimBindings& hints) {
  std::array<int64_t, 4> extents{};
  for (size_t i = 0; i < extents.size(); ++i) {
    const auto extent = dims[i].eval(hints);
    if (!extent) return library::kDeviceWorkspaceBytes;
    extents[i] = *extent;
  }
  TK_TRY(const int64_t bytes, product.workspaceBytes({extents[0], extents[1], extents[2], extents[3]}));
  return (bytes + 255) / 256 * 256;  // zeros may lie behind it
}

Result<LibraryStep> productStep(const Graph& graph, const Region& region, const Engine& engine,
                                const CudaDevice& device, const DimBindings& hints) {
  MatMulRegion described = describeMatMul(graph, region.contraction, region.epilogue);
  const auto& cublas = engine.cuda->cublas();
  if (!cublas) return cublas.error();
  const runtime::cuda::Device::Current current(*device.device);
  TK_TRY(auto product, (*cublas)->matmul(described.desc, device.device->ordinal()));
  TK_TRY(const int64_t workspace, workspaceFor(*product, described.dims, hints));
  LibraryStep step;
  step.call = std::make_shared<ProductStep>(std::move(product), device.device, workspace);
  step.operands = std::move(described.operands);
  step.dims.assign(described.dims.begin(), described.dims.end());
  const auto inner = described.dims[3].constant();
  step.scratchBytes = workspace + (inner && *inner > 0 ? 0 : kZeroBytes);
  return step;
}

StepFactory deviceSteps(const Lowered& lowered, const CudaKernels& kernels, const Engine& engine,
                        const CudaDevice& device, const DimBindings& hints) {
  StepFactory steps;
  steps.kernel = [&](size_t region, size_t number) -> runtime::Step {
    const CudaKernel& made = kernels[region][number];
    runtime::LaunchStep step;
    step.code = made.code;
    step.grid = made.launch.grid, step.block = made.launch.block;
    step.sharedBytes = made.launch.sharedBytes;
    step.reach = lowered.kernels[region]->launches[number].kernel.reach.value_or(0);
    return step;
  };
  steps.library = [&](const Region& region) { return productStep(lowered.graph, region, engine, device, hints); };
  steps.copy = runtime::cuda::makeCopyCall(device.device);
  return steps;
}

}  // namespace

Result<CompiledCuda> compileCuda(const Graph& graph, const Engine& engine, int ordinal, const CompileOptions& given) {
  TK_RETURN_IF_ERROR(verify(graph));
  CompiledCuda out;
  TK_TRY(out.device, engine.cuda->device(ordinal));
  CompileOptions options = given;
  if (!options.gpu) options.gpu = gpuOf(out.device.device->info());
  TK_TRY(Lowered lowered, lower(graph, engine, options));
  CudaKernels kernels(lowered.kernels.size());
  std::vector<size_t> regions;
  for (size_t i = 0; i < kernels.size(); ++i)
    if (lowered.kernels[i]) regions.push_back(i);
  TK_RETURN_IF_ERROR(loadKernels(lowered, regions, engine, out.device, options, kernels));
  TK_RETURN_IF_ERROR(planSpillingAgain(lowered, engine, out.device, options, kernels));
  const StepFactory steps = deviceSteps(lowered, kernels, engine, out.device, options.hints);
  TK_TRY(runtime::Program program, writeProgram(lowered, steps));
  program.checks = shapeChecks(graph);
  TK_TRY(out.executable, runtime::cuda::Executable::create(
                             std::move(program), {.device = out.device.device, .allocator = out.device.allocator}));
  out.explanation = explanationOf(graph, lowered, options.hints);
  return out;
}

Result<std::vector<runtime::cuda::Tensor>> copyToDevice(const CudaDevice& device, const std::vector<Array>& arrays) {
  std::vector<runtime::cuda::Tensor> out;
  const runtime::cuda::Device::Current current(*device.device);
  for (const Array& array : arrays) {
    TK_TRY(auto block, runtime::cuda::Block::make(device.device, device.allocator, array.bytes(), nullptr));
    if (array.bytes() > 0)
      TK_RETURN_IF_ERROR(device.device->driver().check(
          device.device->api().copyToDevice(reinterpret_cast<uint64_t>(block.data()), array.data(),
                                            static_cast<size_t>(array.bytes()), nullptr),
          fmt::format("{} bytes to cuda:{}", array.bytes(), device.device->ordinal())));
    out.emplace_back(std::move(block), array.dtype(), array.shape());
  }
  return out;
}

Result<std::vector<Array>> copyToHost(const CudaDevice& device, const std::vector<runtime::cuda::Tensor>& tensors) {
  std::vector<Array> out;
  const runtime::cuda::Device::Current current(*device.device);
  const auto& driver = device.device->driver();
  for (const auto& tensor : tensors) {
    Array& array = out.emplace_back(tensor.dtype(), tensor.shape());
    if (array.bytes() > 0)
      TK_RETURN_IF_ERROR(driver.check(driver.api.copyToHost(array.data(), reinterpret_cast<uint64_t>(tensor.data()),
                                                            static_cast<size_t>(array.bytes()), nullptr),
                                      fmt::format("{} bytes from cuda:{}", array.bytes(), device.device->ordinal())));
  }
  TK_RETURN_IF_ERROR(driver.check(driver.api.synchronizeStream(nullptr), "waiting for the device"));
  return out;
}

Result<std::vector<Array>> runOnDevice(const CompiledCuda& compiled, const std::vector<Array>& inputs,
                                       const runtime::cuda::RunOptions& options) {
  TK_TRY(const auto tensors, copyToDevice(compiled.device, inputs));
  std::vector<runtime::TensorRef> refs;
  for (const auto& tensor : tensors) refs.push_back(tensor.ref());
  TK_TRY(const auto outputs, compiled.executable->run(refs, options));
  return copyToHost(compiled.device, outputs);
}

Result<std::string> cudaText(const Lowered& lowered) {
  std::string out;
  for (const auto& scheduled : lowered.kernels) {
    if (!scheduled) continue;
    for (const schedule::Launch& launch : scheduled->launches) {
      TK_TRY(const codegen::cuda::Source source, codegen::cuda::emitCuda(launch.kernel, {.halves = scheduled->halves}));
      const auto& [grid, block, shared] = source.launch;
      out += fmt::format("// {}: {}\n// grid {} x {} x {}, block {} x {} x {}, {} bytes of dynamic shared memory\n",
                         scheduled->scheduler, scheduled->plan, grid[0].str(), grid[1].str(), grid[2].str(),
                         block[0].str(), block[1].str(), block[2].str(), shared.str());
      out += source.text + "\n";
    }
  }
  return out;
}

}  // namespace tokamak
