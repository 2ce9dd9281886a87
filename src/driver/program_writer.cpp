#include "driver/program_writer.h"

namespace tokamak {

namespace {

class ProgramWriter {
 public:
  ProgramWriter(const Lowered& lowered, const StepFactory& steps)
      : lowered_(lowered), graph_(lowered.graph), steps_(steps), slotOf_(graph_.size(), -1) {}

  Result<runtime::Program> run() {
    program_.name = graph_.name;
    std::set<std::string, std::less<>> symbols;
    for (const Node& node : graph_.nodes())
      for (const Dim& d : node.type.shape) d.collectSymbols(symbols);
    program_.symbols.assign(symbols.begin(), symbols.end());
    for (size_t i = 0; i < graph_.inputs().size(); ++i)
      addSlot(graph_.inputs()[i], runtime::SlotKind::input, static_cast<int>(i));
    placeOutputs();
    for (size_t i = 0; i < lowered_.plan.regions.size(); ++i) {
      if (lowered_.kernels[i])
        addKernels(i);
      else
        TK_RETURN_IF_ERROR(addLibraryCall(lowered_.plan.regions[i], i));
    }
    for (auto [from, to] : copies_) addCopy(from, to);
    return std::move(program_);
  }

 private:
  int addSlot(ValueId v, runtime::SlotKind kind, int index) {
    const Node& node = graph_.node(v);
    runtime::Slot slot{graph_.label(v), kind, node.type.dtype, node.type.shape, index, {}};
    if (auto* constant = std::get_if<Constant>(&node.op))
      slot.constant = std::shared_ptr<const void>(constant->data, constant->data->data());
    program_.slots.push_back(std::move(slot));
    return slotOf_[v.index] = static_cast<int>(program_.slots.size()) - 1;
  }

  ValueId home(ValueId v) const {
    while (lowered_.plan.aliasOf[v.index]) v = lowered_.plan.aliasOf[v.index];
    return v;
  }

  /// The first output that shows a computed value is where it is computed; others are copies.
  void placeOutputs() {
    for (size_t k = 0; k < graph_.outputs().size(); ++k) {
      const ValueId v = graph_.outputs()[k], at = home(v);
      const bool given =
          std::holds_alternative<Input>(graph_.node(at).op) || std::holds_alternative<Constant>(graph_.node(at).op);
      const bool fresh = !given && slotOf_[at.index] < 0 && slotOf_[v.index] < 0;
      const int keep = slotOf_[v.index];
      const int slot = addSlot(v, runtime::SlotKind::output, static_cast<int>(k));
      if (!fresh) {
        slotOf_[v.index] = keep;
        copies_.push_back({v, slot});
      } else if (!(at == v)) {
        addSlot(at, runtime::SlotKind::alias, slot);
      }
    }
  }

  int slot(ValueId v) {
    if (slotOf_[v.index] >= 0) return slotOf_[v.index];
    if (lowered_.plan.aliasOf[v.index]) {
      const int of = slot(lowered_.plan.aliasOf[v.index]);
      return addSlot(v, runtime::SlotKind::alias, of);
    }
    const bool constant = std::holds_alternative<Constant>(graph_.node(v).op);
    return addSlot(v, constant ? runtime::SlotKind::constant : runtime::SlotKind::temp, -1);
  }

  void addKernels(size_t i) {
    const schedule::Scheduled& scheduled = *lowered_.kernels[i];
    std::vector<int> scratch;  // slots of the region's own memory
    for (const schedule::Scratch& s : scheduled.scratch) {
      program_.slots.push_back(
          {lowered_.plan.ledger.regions[i].name + "." + s.name, runtime::SlotKind::temp, s.dtype, {s.size}, -1, {}});
      scratch.push_back(static_cast<int>(program_.slots.size()) - 1);
    }
    for (size_t number = 0; number < scheduled.launches.size(); ++number) {
      const schedule::Launch& launch = scheduled.launches[number];
      std::vector<runtime::Operand> operands;
      for (size_t b = 0; b < launch.buffers.size(); ++b) {
        const auto& [value, own] = launch.buffers[b];
        const auto access = static_cast<runtime::OperandAccess>(launch.kernel.buffers[b].access);
        operands.push_back({value ? slot(value) : scratch[static_cast<size_t>(own)], access});
      }
      runtime::Step step = steps_.kernel(i, number);
      // What the region moves is said once, at its first launch.
      const Dim bytes = number == 0 ? movedBytes(lowered_.plan.regions[i]) : Dim(0);
      std::visit([&](auto& s) { fill(s, launch.kernel, std::move(operands), bytes); }, step);
      program_.steps.push_back(std::move(step));
    }
  }

  template <class Step>
  static void fill(Step& step, const kernel::Kernel& kernel, std::vector<runtime::Operand> operands, const Dim& bytes) {
    step.name = kernel.name;
    step.operands = std::move(operands);
    step.predictedBytes = bytes;
    if constexpr (!std::is_same_v<Step, runtime::CallStep>)
      for (const auto& symbol : kernel.symbols) step.symbols.push_back(Dim::symbol(symbol));
  }

  Result<> addLibraryCall(const Region& region, size_t i) {
    TK_TRY(LibraryStep made, steps_.library(region));
    runtime::CallStep step;
    step.name = lowered_.plan.ledger.regions[i].name;
    step.call = std::move(made.call);
    step.dims = std::move(made.dims);
    step.scratchBytes = made.scratchBytes;
    for (ValueId v : made.operands) step.operands.push_back({slot(v), runtime::OperandAccess::in});
    step.operands.push_back({slot(region.outputs[0]), runtime::OperandAccess::out});
    step.predictedBytes = movedBytes(region);
    program_.steps.push_back(std::move(step));
    return Unit{};
  }

  void addCopy(ValueId from, int to) {
    runtime::CallStep step;
    step.name = "copy";
    step.call = steps_.copy;
    step.operands = {{slot(from), runtime::OperandAccess::in}, {to, runtime::OperandAccess::out}};
    step.dims = {graph_.type(from).bytes()};
    step.predictedBytes = graph_.type(from).bytes() * Dim(2);
    program_.steps.push_back(std::move(step));
  }

  Dim movedBytes(const Region& region) const {
    Dim sum = 0;
    for (ValueId v : region.inputs) sum = sum + graph_.type(v).bytes();
    for (ValueId v : region.outputs) sum = sum + graph_.type(v).bytes();
    return sum;
  }

  const Lowered& lowered_;
  const Graph& graph_;
  const StepFactory& steps_;
  std::vector<int> slotOf_;
  std::vector<std::pair<ValueId, int>> copies_;
  runtime::Program program_;
};

}  // namespace

Result<runtime::Program> writeProgram(const Lowered& lowered, const StepFactory& steps) {
  return ProgramWriter(lowered, steps).run();
}

}  // namespace tokamak
