#include "runtime/binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

/// The part of FlatProgram that runs for every new binding: symbol values, sizes and places.
namespace tokamak::runtime {

namespace {

std::string expected(const Slot& slot) { return fmt::format("{}{}", nameOf(slot.dtype), str(slot.shape)); }

Diagnostic wrongInput(const char* code, int index, const Slot& slot, const TensorRef& got, std::string_view why) {
  return {code,
          {},
          fmt::format("input {} ({}): expected {}, got {}: {}", index, slot.name, expected(slot), got.str(), why),
          "pass a tensor of the expected type and shape"};
}

/// `N (which is 5)`, or the number alone where there is nothing else to say.
std::string withSize(const Dim& dim, int64_t size) {
  return dim.constant() ? std::to_string(size) : fmt::format("{} (which is {})", dim.str(), size);
}

}  // namespace

Result<> FlatProgram::checkKinds(std::span<const TensorRef> inputs) const {
  if (inputs.size() != inputs_.size())
    return Diagnostic{"T0310",
                      {},
                      fmt::format("program {} takes {} inputs, got {}", program_->name, inputs_.size(), inputs.size()),
                      "pass one tensor for every input, in order"};
  for (int i = 0; i < inputCount(); ++i) {
    const Slot& slot = input(i);
    if (inputs[i].dtype != slot.dtype) return wrongInput("T0311", i, slot, inputs[i], "another dtype");
    if (inputs[i].rank != static_cast<int>(slot.shape.size()))
      return wrongInput("T0312", i, slot, inputs[i], fmt::format("rank {}, not {}", inputs[i].rank, slot.shape.size()));
  }
  return Unit{};
}

Result<> FlatProgram::checkExtents(std::span<const TensorRef> inputs, const Binding& binding) const {
  const int64_t* want = binding.inputExtents.data();
  for (int i = 0; i < inputCount(); ++i) {
    for (int axis = 0; axis < inputs[i].rank; ++axis, ++want) {
      if (inputs[i].shape[axis] == *want) [[likely]]
        continue;
      std::string values;
      for (size_t s = 0; s < binding.symbols.size(); ++s)
        values += fmt::format("{}{} = {}", s ? ", " : " with ", program_->symbols[s], binding.symbols[s]);
      return wrongInput("T0313", i, input(i), inputs[i],
                        fmt::format("axis {} must be {}{}", axis, *want, input(i).shape[axis].isConst() ? "" : values));
    }
  }
  return Unit{};
}

Result<> FlatProgram::solve(std::span<const TensorRef> inputs, const DimBindings* dims,
                            std::span<int64_t> values) const {
  for (size_t s = 0; s < sources_.size(); ++s) {
    const Source& source = sources_[s];
    const std::string& name = program_->symbols[s];
    const auto* given = dims ? (dims->find(name) == dims->end() ? nullptr : &dims->find(name)->second) : nullptr;
    if (source.input < 0) {
      if (!given)
        return Diagnostic{"T0315",
                          {},
                          fmt::format("dimension {} has no value: no input's shape determines it", name),
                          fmt::format("give one, as in {}=128", name)};
      values[s] = *given;
    } else {
      const TensorRef& tensor = inputs[source.input];
      int64_t distance = 0;
      const bool overflow = __builtin_sub_overflow(tensor.shape[source.axis], source.constant, &distance);
      if (overflow || distance % source.coefficient != 0)
        return wrongInput("T0313", source.input, input(source.input), tensor,
                          fmt::format("axis {} cannot be {} for a whole {}", source.axis,
                                      input(source.input).shape[source.axis].str(), name));
      values[s] = distance / source.coefficient;
      if (given && *given != values[s])
        return wrongInput("T0313", source.input, input(source.input), tensor,
                          fmt::format("{} was given as {}", name, *given));
    }
    if (values[s] < 0)
      return Diagnostic{"T0313", {}, fmt::format("dimension {} is {}", name, values[s]), "extents are zero or more"};
  }
  return Unit{};
}

Result<> FlatProgram::solve(const DimBindings& dims, std::span<int64_t> values) const {
  for (size_t s = 0; s < values.size(); ++s) {
    const auto it = dims.find(program_->symbols[s]);
    if (it == dims.end() || it->second < 0)
      return Diagnostic{
          "T0315", {}, fmt::format("dimension {} has no value", program_->symbols[s]), "give one that is zero or more"};
    values[s] = it->second;
  }
  return Unit{};
}

Result<int64_t> FlatProgram::slotBytes(int slot, std::span<const int64_t> registers) const {
  int64_t bytes = byteWidth(program_->slots[slot].dtype);
  bool empty = false, overflow = false;
  for (const int r : extentRegisters_[slot]) {
    if (registers[r] < 0)
      return Diagnostic{"T0602",
                        {},
                        fmt::format("{}: an extent of {} is {}", program_->slots[slot].name,
                                    expected(program_->slots[slot]), registers[r]),
                        "make the dimensions it depends on larger"};
    empty |= registers[r] == 0;
    overflow |= __builtin_mul_overflow(bytes, registers[r], &bytes);
  }
  if (empty) return 0;
  if (overflow)
    return Diagnostic{
        "T0602",
        {},
        fmt::format("{} of {} is beyond any memory", program_->slots[slot].name, expected(program_->slots[slot])),
        "make its dimensions smaller"};
  return bytes;
}

Result<> FlatProgram::checkShapes(std::span<const int64_t> symbols) const {
  if (program_->checks.empty()) return Unit{};
  DimBindings dims;
  for (size_t s = 0; s < symbols.size(); ++s) dims[program_->symbols[s]] = symbols[s];
  for (const ShapeCheck& check : program_->checks) {
    TK_TRY(int64_t a, check.a.eval(dims));
    TK_TRY(int64_t b, check.b.eval(dims));
    if (check.kind == ShapeCheck::Kind::equal ? a == b : a <= b) continue;
    const char* relation = check.kind == ShapeCheck::Kind::equal ? "equal" : "be at most";
    return Diagnostic{
        "T0604", check.location,
        fmt::format("{}: {} must {} {}", check.message, withSize(check.a, a), relation, withSize(check.b, b)),
        "give inputs whose sizes fit the program"};
  }
  return Unit{};
}

void FlatProgram::placeTemporaries(std::span<const int64_t> slotBytes, std::span<const int64_t> registers,
                                   Binding& binding) const {
  std::vector<Lifetime> lifetimes = lifetimes_;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    const int slot = lifetimeSlots_[i];
    if (lifetimes[i].last < 0) continue;
    lifetimes[i].bytes = slot >= 0 ? slotBytes[slot] : std::max<int64_t>(0, registers[scratchRegisters_[-1 - slot]]);
  }
  std::vector<Host> hosts;
  hosts.reserve(outputCount());
  for (int i = 0; i < outputCount(); ++i) hosts.push_back({outputFirst_[i], binding.outputBytes[i]});
  const MemoryPlan plan = planMemory(lifetimes, hosts);
  binding.memory.peakBytes = plan.arenaBytes;
  binding.memory.withoutReuseBytes = plan.totalBytes;
  binding.hosts.assign(hosts.size(), 0);
  for (const int host : plan.hosts)
    if (host >= 0) binding.hosts[host] = 1;
  binding.operandBases = operandBases_;
  for (size_t i = 0; i < operandTemps_.size(); ++i) {
    const int temp = operandTemps_[i];
    if (temp >= 0 && plan.hosts[temp] >= 0) binding.operandBases[i] = 1 + inputCount() + plan.hosts[temp];
    binding.operandOffsets.push_back(temp < 0 ? 0 : plan.offsets[temp]);
  }
}

void FlatProgram::findTurns(Binding& binding) const {
  const int never = static_cast<int>(steps_.size());
  for (int i = 0; i < inputCount(); ++i) binding.inputTurns.push_back({-1, i});
  for (int i = 0; i < outputCount(); ++i) binding.outputTurns.push_back({never, i});
  for (int step = 0; step < never; ++step) {
    for (int i = steps_[step].firstOperand; i < operandEnd(step); ++i) {
      const int input = binding.operandBases[i] - 1, output = input - inputCount();
      if (input < 0 || output >= outputCount()) continue;
      if (output < 0)
        binding.inputTurns[input].step = step;
      else
        binding.outputTurns[output].step = std::min(binding.outputTurns[output].step, step);
    }
  }
  std::ranges::stable_sort(binding.inputTurns, {}, &Turn::step);
  std::ranges::stable_sort(binding.outputTurns, {}, &Turn::step);
}

Result<std::shared_ptr<const Binding>> FlatProgram::bind(std::span<const int64_t> symbols) const {
  auto binding = std::make_shared<Binding>();
  binding->symbols.assign(symbols.begin(), symbols.end());
  std::vector<int64_t> registers(shapes_.registerCount());
  std::copy(symbols.begin(), symbols.end(), registers.begin());
  TK_RETURN_IF_ERROR(shapes_.eval(registers));
  TK_RETURN_IF_ERROR(checkShapes(symbols));

  std::vector<int64_t> bytes(program_->slots.size());
  for (int s = 0; s < static_cast<int>(bytes.size()); ++s) {
    TK_TRY(bytes[s], slotBytes(s, registers));
    if (program_->slots[s].kind == SlotKind::constant) binding->memory.constantBytes += bytes[s];
  }
  for (int s = 0; s < static_cast<int>(bytes.size()); ++s) {
    const int root = roots_[s].slot;
    if (bytes[s] > bytes[root])
      return broken(fmt::format("alias {} of {} bytes is larger than {} of {}", program_->slots[s].name, bytes[s],
                                program_->slots[root].name, bytes[root]));
  }
  for (const auto& [slots, extents] :
       {std::pair(&inputs_, &binding->inputExtents), {&outputs_, &binding->outputExtents}})
    for (const int slot : *slots)
      for (const int r : extentRegisters_[slot]) extents->push_back(registers[r]);
  for (const int slot : outputs_) {
    binding->outputBytes.push_back(bytes[slot]);
    binding->memory.outputBytes += bytes[slot];
  }

  placeTemporaries(bytes, registers, *binding);
  findTurns(*binding);
  for (const int r : argumentRegisters_) binding->arguments.push_back(registers[r]);
  for (const int r : bytesRegisters_) binding->stepBytes.push_back(registers[r]);
  for (const FlatStep& step : steps_) {
    bool any = false, skip = true;
    for (int i = step.firstOperand; i < step.firstOperand + step.operands; ++i) {
      if (!operandWrites_[i]) continue;
      any = true;
      skip = skip && bytes[operandSlots_[i]] == 0;
    }
    binding->skipped.push_back(any && skip);
  }
  return std::shared_ptr<const Binding>(std::move(binding));
}

}  // namespace tokamak::runtime
