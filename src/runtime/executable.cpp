#include "runtime/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <ranges>

#include "runtime/bound_program.h"
#include "runtime/overlap.h"

namespace tokamak::runtime {

namespace {

constexpr int64_t kLine = 64;
constexpr int kInlinePointers = 160;  // tables of small programs stay on the stack
constexpr int kInlineExtents = 32;

int64_t alignUp(int64_t bytes) { return (bytes + kLine - 1) & ~(kLine - 1); }

/// What an empty arena points to; never read or written.
alignas(64) std::byte nothing[64];

bool aligned(const TensorRef& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.data) % byteWidth(tensor.dtype) == 0;
}
/// Whether temporaries of any dtype may live in it.
bool hostable(const TensorRef& tensor) { return reinterpret_cast<uintptr_t>(tensor.data) % 16 == 0; }
bool readInPlace(const TensorRef& tensor) { return tensor.contiguous() && aligned(tensor); }

int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

struct Executable::State {
  BoundProgram bound;
  ExecutableOptions options;
  const FlatProgram& flat() const { return bound.flat(); }
};

/// One call: the table of bases, the operands' addresses made from them, and the memory both point into.
class Executable::Invocation {
 public:
  Invocation(const State& state, const Binding& binding) : state_(state), flat_(state.flat()), binding_(binding) {}

  Result<> reserve(const RunOptions& options);
  Result<> setInputs(std::span<const TensorRef> inputs, const RunOptions& options);
  Result<> setOutputs(std::span<const TensorRef> inputs, std::span<const TensorRef> outputs);
  Result<std::vector<Tensor>> makeOutputs(const RunOptions& options);
  Result<> execute(Profile* profile);
  /// Makes the outputs and tells of inputs as their turns come.
  Result<std::vector<Tensor>> executeInTurn(const RunOptions& options);
  /// Brings what was written elsewhere to the caller's outputs.
  void deliver(std::span<const TensorRef> outputs) const;

 private:
  Result<Tensor> makeOutput(int i, std::span<const int64_t> extents, Growth growth);
  void findOperands(int begin, int end);
  Result<> runStep(size_t i, Profile* profile) const;
  Result<> runStep(const FlatStep& step) const;
  void** inputBases() const { return bases_ + 1; }
  void** outputBases() const { return bases_ + 1 + flat_.inputCount(); }

  const State& state_;
  const FlatProgram& flat_;
  const Binding& binding_;
  void** bases_ = nullptr;
  void** operands_ = nullptr;
  PoolBlock arena_, copiedInputs_, stagedOutputs_;
  std::array<void*, kInlinePointers> inline_;
};

Result<> Executable::Invocation::reserve(const RunOptions& options) {
  const int64_t pointers = flat_.baseCount() + flat_.operandCount();
  const int64_t tableBytes = pointers > kInlinePointers ? pointers * static_cast<int64_t>(sizeof(void*)) : 0;
  const int64_t arenaBytes = binding_.memory.peakBytes;
  if (arenaBytes > INT64_MAX - tableBytes) return state_.options.pool->allocate(arenaBytes).error();
  std::byte* base = nothing;
  if (arenaBytes + tableBytes > 0) {
    int64_t wanted = arenaBytes + tableBytes;
    if (auto* shared = options.sharedArena) {
      int64_t largest = shared->load(std::memory_order_relaxed);
      while (largest < wanted && !shared->compare_exchange_weak(largest, wanted, std::memory_order_relaxed)) {}
      wanted = std::max(wanted, largest);
    }
    TK_TRY(arena_, state_.options.pool->allocate(wanted, options.growth));
    base = arena_.data();
  }
  bases_ = tableBytes ? reinterpret_cast<void**>(base + arenaBytes) : inline_.data();
  operands_ = bases_ + flat_.baseCount();
  bases_[0] = base;
  const auto constants = flat_.constants();
  std::copy(constants.begin(), constants.end(), outputBases() + flat_.outputCount());
  return Unit{};
}

Result<> Executable::Invocation::setInputs(std::span<const TensorRef> inputs, const RunOptions& options) {
  int64_t copied = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t bytes = inputs[i].bytes();
    if (bytes > 0 && !inputs[i].data)
      return Diagnostic{
          "T0314", {}, fmt::format("input {} ({}) has no data", i, flat_.input(i).name), "pass its address"};
    inputBases()[i] = inputs[i].data;
    if (!readInPlace(inputs[i])) copied += alignUp(bytes);
  }
  if (copied == 0) return Unit{};
  TK_TRY(copiedInputs_, state_.options.pool->allocate(copied, options.growth));
  std::byte* at = copiedInputs_.data();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (readInPlace(inputs[i])) continue;
    copyDense(inputs[i], at, *state_.options.host);
    inputBases()[i] = at;
    at += alignUp(inputs[i].bytes());
  }
  return Unit{};
}

Result<> Executable::Invocation::setOutputs(std::span<const TensorRef> inputs, std::span<const TensorRef> outputs) {
  std::array<Extent, kInlineExtents> small;
  const size_t most = inputs.size() + outputs.size();
  Extent* extents =
      most <= small.size() ? small.data() : reinterpret_cast<Extent*>(threadScratch(most * sizeof(Extent)));
  size_t count = 0;
  auto add = [&](const TensorRef& tensor, int output) {
    const auto begin = reinterpret_cast<uintptr_t>(tensor.data);
    const int64_t bytes = tensor.bytes();
    if (bytes > 0) extents[count++] = {begin, begin + bytes, output};
  };
  for (const TensorRef& input : inputs)
    if (readInPlace(input)) add(input, -1);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool inPlace = binding_.hosts[i] ? hostable(outputs[i]) : aligned(outputs[i]);
    outputBases()[i] = inPlace ? outputs[i].data : nullptr;
    add(outputs[i], static_cast<int>(i));
  }
  clearOverlapping({extents, count}, outputBases());
  int64_t staged = 0;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!outputBases()[i]) staged += alignUp(binding_.outputBytes[i]);
  if (staged == 0) return Unit{};
  TK_TRY(stagedOutputs_, state_.options.pool->allocate(staged));
  std::byte* at = stagedOutputs_.data();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (binding_.outputBytes[i] == 0 || outputBases()[i]) continue;
    outputBases()[i] = at;
    at += alignUp(binding_.outputBytes[i]);
  }
  return Unit{};
}

Result<std::vector<Tensor>> Executable::Invocation::makeOutputs(const RunOptions& options) {
  std::vector<Tensor> outputs;
  outputs.reserve(flat_.outputCount());
  auto extent = binding_.outputExtents.begin();
  for (int i = 0; i < flat_.outputCount(); ++i) {
    const auto end = extent + static_cast<int64_t>(flat_.output(i).shape.size());
    TK_TRY(Tensor output, makeOutput(i, {extent, end}, options.growth));
    outputs.push_back(std::move(output));
    extent = end;
  }
  return outputs;
}

Result<Tensor> Executable::Invocation::makeOutput(int i, std::span<const int64_t> extents, Growth growth) {
  TK_TRY(PoolBlock block, state_.options.pool->allocate(binding_.outputBytes[i], growth));
  outputBases()[i] = block.data();
  return Tensor(std::move(block), flat_.output(i).dtype, std::vector<int64_t>(extents.begin(), extents.end()));
}

Result<> Executable::Invocation::runStep(const FlatStep& step) const {
  const int64_t* arguments = binding_.arguments.data() + step.firstArgument;
  void** operands = operands_ + step.firstOperand;
  const KernelHost* host = state_.options.host.get();
  if (step.function) {
    step.function(operands, arguments, host);
    return Unit{};
  }
  return step.call->run({{operands, static_cast<size_t>(step.operands)},
                         {arguments, static_cast<size_t>(step.arguments)},
                         static_cast<std::byte*>(operands[step.operands]),
                         host});
}

void Executable::Invocation::findOperands(int begin, int end) {
  for (int i = begin; i < end; ++i)
    operands_[i] = static_cast<std::byte*>(bases_[binding_.operandBases[i]]) + binding_.operandOffsets[i];
}

Result<> Executable::Invocation::runStep(size_t i, Profile* profile) const {
  const FlatStep& step = flat_.steps()[i];
  const bool skipped = binding_.skipped[i];
  const int64_t start = profile ? nowNs() : 0;
  if (!skipped) TK_RETURN_IF_ERROR(runStep(step));
  if (profile) profile->entries.push_back({*step.name, skipped ? 0 : nowNs() - start, binding_.stepBytes[i], skipped});
  return Unit{};
}

Result<> Executable::Invocation::execute(Profile* profile) {
  findOperands(0, flat_.operandCount());
  for (size_t i = 0; i < flat_.steps().size(); ++i) TK_RETURN_IF_ERROR(runStep(i, profile));
  return Unit{};
}

Result<std::vector<Tensor>> Executable::Invocation::executeInTurn(const RunOptions& options) {
  std::vector<Tensor> outputs(flat_.outputCount());
  std::vector<std::span<const int64_t>> extents;
  size_t at = 0;
  for (int i = 0; i < flat_.outputCount(); ++i) {
    const size_t rank = flat_.output(i).shape.size();
    extents.push_back(std::span(binding_.outputExtents).subspan(at, rank));
    at += rank;
  }
  auto output = binding_.outputTurns.begin();
  auto makeThrough = [&](int step) -> Result<> {
    for (; output != binding_.outputTurns.end() && output->step <= step; ++output) {
      const int i = output->index;
      TK_TRY(outputs[i], makeOutput(i, extents[i], options.growth));
    }
    return Unit{};
  };
  auto input = binding_.inputTurns.begin();
  const int steps = static_cast<int>(flat_.steps().size());
  for (int i = 0; i < steps; ++i) {
    TK_RETURN_IF_ERROR(makeThrough(i));
    findOperands(flat_.steps()[i].firstOperand, flat_.operandEnd(i));
    TK_RETURN_IF_ERROR(runStep(i, options.profile));
    for (; input != binding_.inputTurns.end() && input->step <= i; ++input) (*options.finished)(input->index);
  }
  TK_RETURN_IF_ERROR(makeThrough(steps));
  return outputs;
}

void Executable::Invocation::deliver(std::span<const TensorRef> outputs) const {
  if (!stagedOutputs_) return;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputBases()[i] != outputs[i].data) std::memcpy(outputs[i].data, outputBases()[i], binding_.outputBytes[i]);
}

Executable::Executable(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executable::~Executable() = default;

Result<std::shared_ptr<const Executable>> Executable::create(Program program, ExecutableOptions options) {
  TK_CHECK(options.pool && options.host, "an executable needs a memory pool and a host");
  TK_TRY(BoundProgram bound, BoundProgram::create(std::move(program), options.cachedBindings));
  auto state = std::make_unique<State>(State{std::move(bound), std::move(options)});
  return std::shared_ptr<const Executable>(new Executable(std::move(state)));
}

const Program& Executable::program() const { return state_->flat().program(); }
int Executable::inputCount() const { return state_->flat().inputCount(); }
int Executable::outputCount() const { return state_->flat().outputCount(); }

Result<std::vector<Tensor>> Executable::run(std::span<const TensorRef> inputs, const RunOptions& options) const {
  std::shared_ptr<const Binding> keep;
  TK_TRY(const Binding* binding, state_->bound.bind(inputs, options.dims, keep));
  Invocation call(*state_, *binding);
  TK_RETURN_IF_ERROR(call.reserve(options));
  TK_RETURN_IF_ERROR(call.setInputs(inputs, options));
  if (options.finished) return call.executeInTurn(options);
  TK_TRY(std::vector<Tensor> outputs, call.makeOutputs(options));
  TK_RETURN_IF_ERROR(call.execute(options.profile));
  return outputs;
}

Result<> Executable::run(std::span<const TensorRef> inputs, std::span<const TensorRef> outputs,
                         const RunOptions& options) const {
  std::shared_ptr<const Binding> keep;
  TK_TRY(const Binding* binding, state_->bound.bind(inputs, options.dims, keep));
  TK_RETURN_IF_ERROR(state_->bound.checkOutputs(outputs, *binding));
  Invocation call(*state_, *binding);
  TK_RETURN_IF_ERROR(call.reserve(options));
  TK_RETURN_IF_ERROR(call.setInputs(inputs, options));
  TK_RETURN_IF_ERROR(call.setOutputs(inputs, outputs));
  TK_RETURN_IF_ERROR(call.execute(options.profile));
  call.deliver(outputs);
  return Unit{};
}

Result<std::vector<std::vector<int64_t>>> Executable::outputShapes(std::span<const TensorRef> inputs,
                                                                   const RunOptions& options) const {
  std::shared_ptr<const Binding> keep;
  TK_TRY(const Binding* binding, state_->bound.bind(inputs, options.dims, keep));
  return state_->bound.outputShapes(*binding);
}

Result<MemoryReport> Executable::memory(std::span<const TensorRef> inputs, const RunOptions& options) const {
  std::shared_ptr<const Binding> keep;
  TK_TRY(const Binding* binding, state_->bound.bind(inputs, options.dims, keep));
  return binding->memory;
}

Result<MemoryReport> Executable::memory(const DimBindings& dims) const {
  TK_TRY(const auto binding, state_->bound.bind(dims));
  return binding->memory;
}

}  // namespace tokamak::runtime
