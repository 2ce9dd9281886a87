#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/binding.h"

/// The part of FlatProgram that runs once: checks the program and flattens it.
namespace tokamak::runtime {

namespace {

bool writes(OperandAccess access) { return access == OperandAccess::out || access == OperandAccess::inout; }
bool reads(OperandAccess access) { return access == OperandAccess::in || access == OperandAccess::inout; }

const std::vector<Operand>& operandsOf(const Step& step) {
  return std::visit([](const auto& s) -> const std::vector<Operand>& { return s.operands; }, step);
}

}  // namespace

Diagnostic FlatProgram::broken(std::string message) const {
  return {"T0603", {}, fmt::format("program {}: {}", program_->name, message), "this is a fault of the compiler"};
}

Result<FlatProgram> FlatProgram::create(Program program) {
  FlatProgram flat;
  flat.program_ = std::make_shared<const Program>(std::move(program));
  const auto& symbols = flat.program_->symbols;
  if (std::set<std::string>(symbols.begin(), symbols.end()).size() != symbols.size())
    return flat.broken("two symbols have the same name");
  flat.shapes_ = ShapeProgram(symbols);
  TK_RETURN_IF_ERROR(flat.indexSlots());
  TK_RETURN_IF_ERROR(flat.flattenSteps());
  TK_RETURN_IF_ERROR(flat.compileShapes());
  flat.findSources();
  return flat;
}

Result<> FlatProgram::indexSlots() {
  const auto& slots = program_->slots;
  auto place = [&](std::vector<int>& list, int slot) {
    const int index = slots[slot].index;
    if (index < 0 || index >= static_cast<int>(slots.size())) return false;
    if (index >= static_cast<int>(list.size())) list.resize(index + 1, -1);
    return std::exchange(list[index], slot) == -1;
  };
  for (int s = 0; s < static_cast<int>(slots.size()); ++s) {
    const Slot& slot = slots[s];
    if ((slot.kind == SlotKind::input && !place(inputs_, s)) || (slot.kind == SlotKind::output && !place(outputs_, s)))
      return broken(
          fmt::format("{} {} has index {}, which is taken or out of range", nameOf(slot.kind), slot.name, slot.index));
  }
  for (const auto* list : {&inputs_, &outputs_})
    for (size_t i = 0; i < list->size(); ++i)
      if ((*list)[i] < 0) return broken(fmt::format("no slot for {} {}", list == &inputs_ ? "input" : "output", i));

  roots_.resize(slots.size());
  for (int s = 0; s < static_cast<int>(slots.size()); ++s) {
    int root = s, hops = 0;
    while (slots[root].kind == SlotKind::alias) {
      root = slots[root].index;
      if (root < 0 || root >= static_cast<int>(slots.size()) || ++hops > static_cast<int>(slots.size()))
        return broken(fmt::format("alias {} leads nowhere", slots[s].name));
    }
    roots_[s].slot = root;
  }
  for (int s = 0; s < static_cast<int>(slots.size()); ++s) {
    const Slot& slot = slots[s];
    Root& root = roots_[s];
    if (slot.kind == SlotKind::input) root.base = 1 + slot.index;
    if (slot.kind == SlotKind::output) root.base = 1 + inputCount() + slot.index;
    if (slot.kind == SlotKind::constant) {
      root.base = 1 + inputCount() + outputCount() + static_cast<int>(constants_.size());
      constants_.push_back(const_cast<void*>(slot.constant.get()));
    }
    if (slot.kind == SlotKind::temp) {
      root.temp = static_cast<int>(lifetimes_.size());
      lifetimes_.push_back({INT32_MAX, -1, 0});
      lifetimeSlots_.push_back(s);
    }
  }
  for (int s = 0; s < static_cast<int>(slots.size()); ++s) roots_[s] = roots_[roots_[s].slot];
  return Unit{};
}

Result<> FlatProgram::checkOrder(int number, const std::string& name, const Operand& operand,
                                 std::vector<char>& written) const {
  const auto& slots = program_->slots;
  if (operand.slot < 0 || operand.slot >= static_cast<int>(slots.size()))
    return broken(fmt::format("step {} {} uses slot {}, which does not exist", number, name, operand.slot));
  const int root = roots_[operand.slot].slot;
  const SlotKind kind = slots[root].kind;
  const bool given = kind == SlotKind::input || kind == SlotKind::constant;
  if (given && operand.access != OperandAccess::in)
    return broken(fmt::format("step {} {} writes {} {}", number, name, nameOf(kind), slots[root].name));
  if (operand.access == OperandAccess::scratch && kind != SlotKind::temp)
    return broken(fmt::format("step {} {} uses {} {} as scratch", number, name, nameOf(kind), slots[root].name));
  if (!given && reads(operand.access) && !written[root])
    return broken(fmt::format("step {} {} reads {} before it is written", number, name, slots[root].name));
  if (writes(operand.access)) written[root] = 1;
  return Unit{};
}

int FlatProgram::useTemp(int temp, int step) {
  if (temp < 0) return -1;
  lifetimes_[temp].first = std::min(lifetimes_[temp].first, step);
  lifetimes_[temp].last = std::max(lifetimes_[temp].last, step);
  return temp;
}

Result<> FlatProgram::flattenStep(int number, const std::string& name, const std::vector<Operand>& operands) {
  FlatStep flat;
  flat.name = &name;
  flat.firstOperand = static_cast<int>(operandBases_.size());
  flat.operands = static_cast<int>(operands.size());
  flat.firstArgument = static_cast<int>(argumentRegisters_.size());
  for (const Operand& operand : operands) {
    const Root& root = roots_[operand.slot];
    operandBases_.push_back(root.base);
    operandSlots_.push_back(operand.slot);
    operandWrites_.push_back(writes(operand.access));
    operandTemps_.push_back(useTemp(root.temp, number));
    if (program_->slots[root.slot].kind == SlotKind::output) {
      int& first = outputFirst_[program_->slots[root.slot].index];
      first = std::min(first, number);
    }
  }
  const Step& step = program_->steps[number];
  const std::vector<Dim>* arguments = nullptr;
  std::vector<Dim> shape;  // of a launch
  Dim bytes, scratch = 0;
  if (const auto* kernel = std::get_if<KernelStep>(&step)) {
    if (!kernel->function) return broken(fmt::format("step {} {} has no code", number, name));
    flat.function = kernel->function;
    arguments = &kernel->symbols, bytes = kernel->predictedBytes;
  } else if (const auto* launch = std::get_if<LaunchStep>(&step)) {
    if (!launch->code) return broken(fmt::format("step {} {} has no code", number, name));
    flat.code = launch->code.get();
    arguments = &launch->symbols, bytes = launch->predictedBytes;
    shape.insert(shape.end(), launch->grid.begin(), launch->grid.end());
    shape.insert(shape.end(), launch->block.begin(), launch->block.end());
    shape.push_back(launch->sharedBytes);
    shape.push_back(launch->reach);
  } else {
    const auto& call = std::get<CallStep>(step);
    if (!call.call) return broken(fmt::format("step {} {} has nothing to call", number, name));
    flat.call = call.call.get();
    arguments = &call.dims, bytes = call.predictedBytes, scratch = call.scratchBytes;
    lifetimes_.push_back({number, number, 0});
    lifetimeSlots_.push_back(-1 - number);
    operandBases_.push_back(0), operandSlots_.push_back(-1), operandWrites_.push_back(0);
    operandTemps_.push_back(static_cast<int>(lifetimes_.size()) - 1);
  }
  for (const auto* list : {arguments, static_cast<const std::vector<Dim>*>(&shape)})
    for (const Dim& argument : *list) {
      TK_TRY(const int r, shapes_.add(argument));
      argumentRegisters_.push_back(r);
    }
  flat.arguments = static_cast<int>(arguments->size());
  TK_TRY(const int scratchRegister, shapes_.add(scratch));
  TK_TRY(const int bytesRegister, shapes_.add(bytes));
  scratchRegisters_.push_back(scratchRegister), bytesRegisters_.push_back(bytesRegister);
  steps_.push_back(flat);
  return Unit{};
}

Result<> FlatProgram::flattenSteps() {
  std::vector<char> written(program_->slots.size(), 0);
  outputFirst_.assign(outputs_.size(), INT32_MAX);
  for (int number = 0; number < static_cast<int>(program_->steps.size()); ++number) {
    const Step& step = program_->steps[number];
    const auto& name = std::visit([](const auto& s) -> const std::string& { return s.name; }, step);
    // Reads come first: a step may not read what it only writes itself.
    for (const Operand& operand : operandsOf(step))
      if (!writes(operand.access)) TK_RETURN_IF_ERROR(checkOrder(number, name, operand, written));
    for (const Operand& operand : operandsOf(step))
      if (writes(operand.access)) TK_RETURN_IF_ERROR(checkOrder(number, name, operand, written));
    TK_RETURN_IF_ERROR(flattenStep(number, name, operandsOf(step)));
  }
  for (int slot : outputs_)
    if (!written[slot]) return broken(fmt::format("output {} is never written", program_->slots[slot].name));
  for (Lifetime& l : lifetimes_)
    if (l.last < 0) l.first = 0;  // never used: takes no room
  return Unit{};
}

Result<> FlatProgram::compileShapes() {
  for (const Slot& slot : program_->slots) {
    auto& registers = extentRegisters_.emplace_back();
    for (const Dim& extent : slot.shape) {
      TK_TRY(const int r, shapes_.add(extent));
      registers.push_back(r);
    }
  }
  return Unit{};
}

/// A symbol is found from an extent `c*S + k`; one that stands alone is preferred.
void FlatProgram::findSources() {
  const auto& symbols = program_->symbols;
  sources_.resize(symbols.size());
  for (int i = 0; i < inputCount(); ++i) {
    const Shape& shape = input(i).shape;
    for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
      const auto& terms = shape[axis].terms();
      if (terms.empty() || terms.size() > 2 || terms[0].factors.size() != 1) continue;
      if (terms.size() == 2 && !terms[1].factors.empty()) continue;
      const Dim::Atom& atom = terms[0].factors[0];
      if (atom.kind != Dim::AtomKind::symbol) continue;
      const auto it = std::find(symbols.begin(), symbols.end(), atom.name);
      if (it == symbols.end()) continue;
      Source& source = sources_[it - symbols.begin()];
      const bool plain = shape[axis].isSymbol();
      const bool alreadyPlain = source.coefficient == 1 && source.constant == 0;
      if (source.input >= 0 && (alreadyPlain || !plain)) continue;
      source = {i, axis, terms[0].coefficient, terms.size() == 2 ? terms[1].coefficient : 0};
    }
  }
}

}  // namespace tokamak::runtime
