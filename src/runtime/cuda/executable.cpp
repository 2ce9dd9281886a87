#include "runtime/cuda/executable.h"

#include <fmt/format.h>

#include "runtime/cuda/invocation.h"
#include "runtime/cuda/recording.h"

namespace tokamak::runtime::cuda {

namespace {

constexpr int64_t kAlign = 256;  // of what is cut from one block

int64_t alignUp(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

Address addressOf(const void* data) { return reinterpret_cast<Address>(data); }

class CopyCall final : public Call {
 public:
  explicit CopyCall(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
  Result<> run(const CallArguments& a) const override {
    return device_->driver().check(
        device_->api().copyOnDevice(addressOf(a.buffers[1]), addressOf(a.buffers[0]), static_cast<size_t>(a.dims[0]),
                                    static_cast<Stream>(a.stream)),
        fmt::format("a copy of {} bytes on cuda:{}", a.dims[0], device_->ordinal()));
  }

 private:
  std::shared_ptr<const Device> device_;
};

}  // namespace

std::shared_ptr<const Call> makeCopyCall(std::shared_ptr<const Device> device) {
  return std::make_shared<CopyCall>(std::move(device));
}

/// Once, when the executable is made; the copy is waited for.
Result<> Executable::State::uploadConstants() {
  std::vector<std::pair<const void*, int64_t>> parts;
  int64_t total = 0;
  for (const Slot& slot : flat().program().slots) {
    if (slot.kind != SlotKind::constant) continue;
    TK_TRY(const int64_t elements, elementCount(slot.shape).eval({}));
    parts.emplace_back(slot.constant.get(), elements * byteWidth(slot.dtype));
    total += alignUp(parts.back().second);
  }
  TK_TRY(constants, Block::make(options.device, options.allocator, total, nullptr));
  auto* at = static_cast<std::byte*>(constants.data());
  const Device::Current current(*options.device);
  for (auto [data, bytes] : parts) {
    constantBases.push_back(at);
    if (bytes > 0)
      TK_RETURN_IF_ERROR(
          driver().check(driver().api.copyToDevice(addressOf(at), data, static_cast<size_t>(bytes), nullptr),
                         fmt::format("a constant of {} bytes to cuda:{}", bytes, options.device->ordinal())));
    at += alignUp(bytes);
  }
  if (parts.empty()) return Unit{};
  return driver().check(driver().api.synchronizeStream(nullptr), "constants to the device");
}

Executable::Executable(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executable::~Executable() = default;

Result<std::shared_ptr<const Executable>> Executable::create(Program program, ExecutableOptions options) {
  TK_CHECK(options.device, "an executable needs a device");
  if (!options.allocator) options.allocator = makeStreamAllocator(options.device);
  TK_TRY(BoundProgram bound, BoundProgram::create(std::move(program), options.cachedBindings));
  auto state = std::make_unique<State>(State{std::move(bound), std::move(options), {}, {}, {}});
  state->graphs = std::make_unique<LaunchGraphs>(state->options.device, state->flat().steps().size());
  TK_RETURN_IF_ERROR(state->uploadConstants());
  return std::shared_ptr<const Executable>(new Executable(std::move(state)));
}

const Program& Executable::program() const { return state_->flat().program(); }
const Device& Executable::device() const { return *state_->options.device; }
int Executable::inputCount() const { return state_->flat().inputCount(); }
int Executable::outputCount() const { return state_->flat().outputCount(); }

Result<std::vector<Tensor>> Executable::run(std::span<const TensorRef> inputs, const RunOptions& options) const {
  std::shared_ptr<const Binding> keep;
  TK_TRY(const Binding* binding, state_->bound.bind(inputs, options.dims, keep));
  const Device::Current current(*state_->options.device);
  Invocation call(*state_, *binding, options);
  TK_RETURN_IF_ERROR(call.reserve());
  TK_RETURN_IF_ERROR(call.setInputs(inputs));
  TK_TRY(std::vector<Tensor> outputs, call.makeOutputs());
  TK_RETURN_IF_ERROR(call.execute({}, options.stream));
  return outputs;
}

Result<> Executable::run(std::span<const TensorRef> inputs, std::span<const TensorRef> outputs,
                         const RunOptions& options) const {
  std::shared_ptr<const Binding> keep;
  TK_TRY(const Binding* binding, state_->bound.bind(inputs, options.dims, keep));
  TK_RETURN_IF_ERROR(state_->bound.checkOutputs(outputs, *binding));
  const Device::Current current(*state_->options.device);
  Invocation call(*state_, *binding, options);
  TK_RETURN_IF_ERROR(call.reserve());
  TK_RETURN_IF_ERROR(call.setInputs(inputs));
  TK_RETURN_IF_ERROR(call.setOutputs(inputs, outputs));
  return call.execute(outputs, options.stream);
}

Result<std::shared_ptr<const Recording>> Executable::record(std::span<const TensorRef> inputs,
                                                            std::span<const TensorRef> outputs,
                                                            const RunOptions& options) const {
  std::shared_ptr<const Binding> keep;
  TK_TRY(const Binding* binding, state_->bound.bind(inputs, options.dims, keep));
  TK_RETURN_IF_ERROR(state_->bound.checkOutputs(outputs, *binding));
  const Device::Current current(*state_->options.device);
  Invocation call(*state_, *binding, options);
  TK_RETURN_IF_ERROR(call.reserve());
  TK_RETURN_IF_ERROR(call.setInputs(inputs));
  TK_RETURN_IF_ERROR(call.setOutputs(inputs, outputs));
  TK_RETURN_IF_ERROR(call.prepare());  // nothing may be loaded while a stream is captured
  return Recording::capture(state_->options.device, program().name, [&](Stream stream) -> Result<std::vector<Block>> {
    TK_RETURN_IF_ERROR(call.execute(outputs, stream));
    return call.takeMemory();
  });
}

Result<std::vector<std::vector<int64_t>>> Executable::outputShapes(std::span<const TensorRef> inputs,
                                                                   const DimBindings* dims) const {
  std::shared_ptr<const Binding> keep;
  TK_TRY(const Binding* binding, state_->bound.bind(inputs, dims, keep));
  return state_->bound.outputShapes(*binding);
}

Result<MemoryReport> Executable::memory(std::span<const TensorRef> inputs, const DimBindings* dims) const {
  std::shared_ptr<const Binding> keep;
  TK_TRY(const Binding* binding, state_->bound.bind(inputs, dims, keep));
  return binding->memory;
}

}  // namespace tokamak::runtime::cuda
