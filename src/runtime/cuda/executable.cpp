#include "runtime/cuda/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/bound_program.h"
#include "runtime/cuda/event_timer.h"
#include "runtime/cuda/kernel_code.h"
#include "runtime/overlap.h"
#include "support/index_limit.h"

namespace tokamak::runtime::cuda {

namespace {

constexpr int64_t kAlign = 256;  // of what is cut from one block
constexpr size_t kInlineWords = 64;
constexpr uintptr_t kVariantAlign = 16;

int64_t alignUp(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

Address addressOf(const void* data) { return reinterpret_cast<Address>(data); }

bool aligned(const TensorRef& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.data) % byteWidth(tensor.dtype) == 0;
}

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

struct Executable::State {
  BoundProgram bound;
  ExecutableOptions options;
  Block constants;                   // of all, one after another
  std::vector<void*> constantBases;  // into it

  const FlatProgram& flat() const { return bound.flat(); }
  const Driver& driver() const { return options.device->driver(); }
  Result<> uploadConstants();
};

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

/// One call: the table of bases, the operands' addresses made from them, and the memory both point into.
class Executable::Invocation {
 public:
  Invocation(const State& state, const Binding& binding, const RunOptions& options)
      : state_(state),
        flat_(state.flat()),
        binding_(binding),
        options_(options),
        allocator_(options.allocator ? options.allocator : state.options.allocator) {}

  Result<> reserve();
  Result<> setInputs(std::span<const TensorRef> inputs);
  Result<> setOutputs(std::span<const TensorRef> inputs, std::span<const TensorRef> outputs);
  Result<std::vector<Tensor>> makeOutputs();
  Result<> execute();
  /// Brings what was written elsewhere to the caller's outputs.
  Result<> deliver(std::span<const TensorRef> outputs) const;

 private:
  Result<> runStep(size_t number, const FlatStep& step) const;
  Result<> launch(const FlatStep& step, void** operands, const int64_t* arguments) const;
  Result<Block> block(int64_t bytes) const {
    return Block::make(state_.options.device, allocator_, bytes, options_.stream);
  }
  void** inputBases() { return bases_.data() + 1; }
  void** outputBases() { return bases_.data() + 1 + flat_.inputCount(); }
  void* const* outputBases() const { return bases_.data() + 1 + flat_.inputCount(); }

  const State& state_;
  const FlatProgram& flat_;
  const Binding& binding_;
  const RunOptions& options_;
  std::shared_ptr<Allocator> allocator_;
  std::vector<void*> bases_, operands_;
  Block arena_, stagedOutputs_;
};

Result<> Executable::Invocation::reserve() {
  bases_.resize(flat_.baseCount());
  operands_.resize(flat_.operandBases().size());
  TK_TRY(arena_, block(binding_.memory.peakBytes));
  bases_[0] = arena_.data();
  std::copy(state_.constantBases.begin(), state_.constantBases.end(), outputBases() + flat_.outputCount());
  return Unit{};
}

Result<> Executable::Invocation::setInputs(std::span<const TensorRef> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool empty = inputs[i].bytes() == 0;
    if (!empty && !inputs[i].data)
      return Diagnostic{
          "T0314", {}, fmt::format("input {} ({}) has no data", i, flat_.input(i).name), "pass its address"};
    if (!empty && (!inputs[i].contiguous() || !aligned(inputs[i])))
      return Diagnostic{"T0615",
                        {},
                        fmt::format("input {} ({}) is not dense and aligned on the device", i, flat_.input(i).name),
                        "make it contiguous first"};
    inputBases()[i] = inputs[i].data;
  }
  return Unit{};
}

Result<> Executable::Invocation::setOutputs(std::span<const TensorRef> inputs, std::span<const TensorRef> outputs) {
  std::vector<Extent> extents;
  const auto add = [&](const TensorRef& tensor, int output) {
    const auto begin = reinterpret_cast<uintptr_t>(tensor.data);
    if (const int64_t bytes = tensor.bytes(); bytes > 0) extents.push_back({begin, begin + bytes, output});
  };
  for (const TensorRef& input : inputs) add(input, -1);
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputBases()[i] = aligned(outputs[i]) ? outputs[i].data : nullptr;
    add(outputs[i], static_cast<int>(i));
  }
  clearOverlapping(extents, outputBases());
  int64_t staged = 0;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!outputBases()[i]) staged += alignUp(binding_.outputBytes[i]);
  if (staged == 0) return Unit{};
  TK_TRY(stagedOutputs_, block(staged));
  auto* at = static_cast<std::byte*>(stagedOutputs_.data());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (binding_.outputBytes[i] == 0 || outputBases()[i]) continue;
    outputBases()[i] = at;
    at += alignUp(binding_.outputBytes[i]);
  }
  return Unit{};
}

Result<std::vector<Tensor>> Executable::Invocation::makeOutputs() {
  std::vector<Tensor> outputs;
  auto shapes = state_.bound.outputShapes(binding_);
  for (int i = 0; i < flat_.outputCount(); ++i) {
    TK_TRY(Block memory, block(binding_.outputBytes[i]));
    outputBases()[i] = memory.data();
    outputs.emplace_back(std::move(memory), flat_.output(i).dtype, std::move(shapes[i]));
  }
  return outputs;
}

Result<> Executable::Invocation::launch(const FlatStep& step, void** operands, const int64_t* arguments) const {
  std::array<int64_t, kInlineWords> small;
  std::vector<int64_t> large;
  const size_t count = static_cast<size_t>(step.operands + step.arguments);
  int64_t* words = small.data();
  if (count > small.size()) large.resize(count), words = large.data();
  uintptr_t all = 0;
  for (int i = 0; i < step.operands; ++i) {
    const auto address = reinterpret_cast<uintptr_t>(operands[i]);
    all |= address;
    words[i] = static_cast<int64_t>(address);
  }
  std::copy_n(arguments, step.arguments, words + step.operands);
  const int64_t* shape = arguments + step.arguments;
  const LaunchShape launched{{shape[0], shape[1], shape[2]}, {shape[3], shape[4], shape[5]}, shape[6]};
  int64_t largest = shape[7];
  for (int i = 0; i < step.arguments; ++i) largest = std::max(largest, arguments[i]);
  const Variant variant{largest < kNarrowIndexLimit, all % kVariantAlign == 0};
  return step.code->launch(variant, launched, words, count, options_.stream);
}

Result<> Executable::Invocation::runStep(size_t number, const FlatStep& step) const {
  const int64_t* arguments = binding_.arguments.data() + step.firstArgument;
  void** operands = const_cast<void**>(operands_.data()) + step.firstOperand;
  if (step.code) return launch(step, operands, arguments);
  if (!step.call)
    return Diagnostic{"T0603",
                      {},
                      fmt::format("step {} {} is code of the host", number, *step.name),
                      "this is a fault of the compiler"};
  return step.call->run({{operands, static_cast<size_t>(step.operands)},
                         {arguments, static_cast<size_t>(step.arguments)},
                         static_cast<std::byte*>(operands[step.operands]),
                         nullptr,
                         options_.stream});
}

Result<> Executable::Invocation::execute() {
  const auto operandBases = flat_.operandBases();
  for (size_t i = 0; i < operandBases.size(); ++i)
    operands_[i] = static_cast<std::byte*>(bases_[operandBases[i]]) + binding_.operandOffsets[i];
  const auto steps = flat_.steps();
  EventTimer timer(*state_.options.device, options_.stream, options_.profile ? steps.size() : 0);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!binding_.skipped[i]) TK_RETURN_IF_ERROR(runStep(i, steps[i]));
    TK_RETURN_IF_ERROR(timer.mark());
  }
  if (!options_.profile) return Unit{};
  TK_TRY(const std::vector<int64_t> times, timer.nanoseconds());
  for (size_t i = 0; i < steps.size(); ++i)
    options_.profile->entries.push_back(
        {*steps[i].name, times[i], binding_.stepBytes[i], static_cast<bool>(binding_.skipped[i])});
  return Unit{};
}

Result<> Executable::Invocation::deliver(std::span<const TensorRef> outputs) const {
  if (!stagedOutputs_) return Unit{};
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputBases()[i] != outputs[i].data && binding_.outputBytes[i] > 0)
      TK_RETURN_IF_ERROR(state_.driver().check(
          state_.driver().api.copyOnDevice(addressOf(outputs[i].data), addressOf(outputBases()[i]),
                                           static_cast<size_t>(binding_.outputBytes[i]), options_.stream),
          fmt::format("output {} to its place", i)));
  return Unit{};
}

Executable::Executable(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executable::~Executable() = default;

Result<std::shared_ptr<const Executable>> Executable::create(Program program, ExecutableOptions options) {
  TK_CHECK(options.device, "an executable needs a device");
  if (!options.allocator) options.allocator = makeStreamAllocator(options.device);
  TK_TRY(BoundProgram bound, BoundProgram::create(std::move(program), options.cachedBindings));
  auto state = std::make_unique<State>(State{std::move(bound), std::move(options), {}, {}});
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
  TK_RETURN_IF_ERROR(call.execute());
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
  TK_RETURN_IF_ERROR(call.execute());
  return call.deliver(outputs);
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
