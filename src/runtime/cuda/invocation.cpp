#include "runtime/cuda/invocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runtime/cuda/event_timer.h"
#include "runtime/overlap.h"
#include "support/index_limit.h"

namespace tokamak::runtime::cuda {

namespace {

constexpr int64_t kAlign = 256;  // of what is cut from one block
constexpr size_t kInlineWords = 64;
constexpr uintptr_t kVariantAlign = 16;

int64_t alignUp(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

bool aligned(const TensorRef& tensor) {
  return reinterpret_cast<uintptr_t>(tensor.data) % byteWidth(tensor.dtype) == 0;
}
size_t wordsOf(const FlatStep& step) { return static_cast<size_t>(step.operands) + step.arguments; }
/// Whether temporaries may live in it.
bool hostable(const TensorRef& tensor) { return reinterpret_cast<uintptr_t>(tensor.data) % kAlign == 0; }

}  // namespace

Result<> Executable::Invocation::reserve() {
  bases_.resize(flat_.baseCount());
  operands_.resize(flat_.operandCount());
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
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool inPlace = binding_.hosts[i] ? hostable(outputs[i]) : aligned(outputs[i]);
    outputBases()[i] = inPlace ? outputs[i].data : nullptr;
  }
  if (!options_.freshOutputs) {
    std::vector<Extent> extents;
    const auto add = [&](const TensorRef& tensor, int output) {
      const auto begin = reinterpret_cast<uintptr_t>(tensor.data);
      if (const int64_t bytes = tensor.bytes(); bytes > 0) extents.push_back({begin, begin + bytes, output});
    };
    for (const TensorRef& input : inputs) add(input, -1);
    for (size_t i = 0; i < outputs.size(); ++i) add(outputs[i], static_cast<int>(i));
    clearOverlapping(extents, outputBases());
  }
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

void Executable::Invocation::placeOperands() {
  const auto& operandBases = binding_.operandBases;
  for (size_t i = 0; i < operandBases.size(); ++i)
    operands_[i] = static_cast<std::byte*>(bases_[operandBases[i]]) + binding_.operandOffsets[i];
}

/// What the addresses and sizes of this call allow the code to take for granted.
Variant Executable::Invocation::variantOf(const FlatStep& step) const {
  uintptr_t addresses = 0;
  for (int i = 0; i < step.operands; ++i)
    addresses |= reinterpret_cast<uintptr_t>(operands_[static_cast<size_t>(step.firstOperand) + i]);
  const int64_t* arguments = binding_.arguments.data() + step.firstArgument;
  int64_t largest = arguments[step.arguments + 7];
  for (int i = 0; i < step.arguments; ++i) largest = std::max(largest, arguments[i]);
  return {largest < kNarrowIndexLimit, addresses % kVariantAlign == 0};
}

/// Writes the arguments to `words`.
Launch Executable::Invocation::launchOf(const FlatStep& step, int64_t* words) const {
  for (int i = 0; i < step.operands; ++i)
    words[i] = reinterpret_cast<int64_t>(operands_[static_cast<size_t>(step.firstOperand) + i]);
  const int64_t* arguments = binding_.arguments.data() + step.firstArgument;
  std::copy_n(arguments, step.arguments, words + step.operands);
  const int64_t* shape = arguments + step.arguments;
  return {step.code,
          variantOf(step),
          {{shape[0], shape[1], shape[2]}, {shape[3], shape[4], shape[5]}, shape[6]},
          {words, wordsOf(step)}};
}

/// Puts the launches from step `number` up to the next call on the stream; `number` is then that call's.
Result<> Executable::Invocation::launchFrom(size_t& number, Stream stream) const {
  const auto steps = flat_.steps();
  const size_t first = number;
  size_t count = 0, total = 0;
  for (; number < steps.size() && steps[number].code; ++number)
    if (!binding_.skipped[number]) ++count, total += wordsOf(steps[number]);
  if (count == 0) return Unit{};
  std::array<int64_t, kInlineWords> small;
  std::vector<int64_t> large;
  int64_t* words = small.data();
  if (total > small.size()) large.resize(total), words = large.data();
  std::vector<Launch> launches;
  launches.reserve(count);
  for (size_t i = first; i < number; ++i) {
    if (binding_.skipped[i]) continue;
    launches.push_back(launchOf(steps[i], words));
    words += wordsOf(steps[i]);
  }
  return state_.graphs->launch(first, launches, stream);
}

Result<> Executable::Invocation::call(size_t number, const FlatStep& step, Stream stream) const {
  if (!step.call)
    return Diagnostic{"T0603",
                      {},
                      fmt::format("step {} {} is code of the host", number, *step.name),
                      "this is a fault of the compiler"};
  const int64_t* arguments = binding_.arguments.data() + step.firstArgument;
  void* const* operands = operands_.data() + step.firstOperand;
  return step.call->run({{operands, static_cast<size_t>(step.operands)},
                         {arguments, static_cast<size_t>(step.arguments)},
                         static_cast<std::byte*>(operands[step.operands]),
                         nullptr,
                         stream});
}

Result<> Executable::Invocation::prepare() {
  placeOperands();
  const auto steps = flat_.steps();
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].code && !binding_.skipped[i]) TK_RETURN_IF_ERROR(steps[i].code->prepare(variantOf(steps[i])));
  return Unit{};
}

Result<> Executable::Invocation::execute(std::span<const TensorRef> outputs, Stream stream) {
  placeOperands();
  if (options_.profile) {
    TK_RETURN_IF_ERROR(measure(stream));
    return deliver(outputs, stream);
  }
  const auto steps = flat_.steps();
  for (size_t i = 0; i < steps.size();) {
    if (steps[i].code) {
      TK_RETURN_IF_ERROR(launchFrom(i, stream));
      continue;
    }
    if (!binding_.skipped[i]) TK_RETURN_IF_ERROR(call(i, steps[i], stream));
    ++i;
  }
  return deliver(outputs, stream);
}

/// Every step by itself, between events.
Result<> Executable::Invocation::measure(Stream stream) const {
  const auto steps = flat_.steps();
  EventTimer timer(*state_.options.device, stream, steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!binding_.skipped[i] && steps[i].code) {
      std::vector<int64_t> words(wordsOf(steps[i]));
      const Launch l = launchOf(steps[i], words.data());
      TK_RETURN_IF_ERROR(l.code->launch(l.variant, l.shape, words.data(), words.size(), stream));
    } else if (!binding_.skipped[i]) {
      TK_RETURN_IF_ERROR(call(i, steps[i], stream));
    }
    TK_RETURN_IF_ERROR(timer.mark());
  }
  TK_TRY(const std::vector<int64_t> times, timer.nanoseconds());
  for (size_t i = 0; i < steps.size(); ++i)
    options_.profile->entries.push_back(
        {*steps[i].name, times[i], binding_.stepBytes[i], static_cast<bool>(binding_.skipped[i])});
  return Unit{};
}

Result<> Executable::Invocation::deliver(std::span<const TensorRef> outputs, Stream stream) const {
  if (!stagedOutputs_) return Unit{};
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputBases()[i] != outputs[i].data && binding_.outputBytes[i] > 0)
      TK_RETURN_IF_ERROR(
          state_.driver().check(state_.driver().api.copyOnDevice(reinterpret_cast<Address>(outputs[i].data),
                                                                 reinterpret_cast<Address>(outputBases()[i]),
                                                                 static_cast<size_t>(binding_.outputBytes[i]), stream),
                                fmt::format("output {} to its place", i)));
  return Unit{};
}

std::vector<Block> Executable::Invocation::takeMemory() {
  std::vector<Block> out;
  out.push_back(std::move(arena_));
  out.push_back(std::move(stagedOutputs_));
  return out;
}

}  // namespace tokamak::runtime::cuda
