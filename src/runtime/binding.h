#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/executable.h"
#include "runtime/memory_plan.h"
#include "runtime/program.h"
#include "runtime/shape_program.h"

namespace tokamak::runtime {

/// An input or output, and the step at which its turn comes.
struct Turn {
  int step = 0, index = 0;
};

/// Everything about one call that depends on the values of the symbols only.
struct Binding {
  std::vector<int64_t> symbols;
  std::vector<int64_t> inputExtents, outputExtents;  // of all inputs, outputs, one after another
  std::vector<int64_t> outputBytes;
  std::vector<int> operandBases;        // of every operand of every step: its base's number
  std::vector<int64_t> operandOffsets;  // and how far from it
  std::vector<char> hosts;              // outputs in whose memory temporaries live before it is written
  std::vector<int64_t> arguments;       // kernels' symbols and calls' dims, of all steps
  std::vector<int64_t> stepBytes;       // predicted, for the profile
  std::vector<char> skipped;            // steps whose results are all empty
  std::vector<Turn> outputTurns;        // by the step that touches an output first, also as a host
  std::vector<Turn> inputTurns;         // by the step that touches an input last
  MemoryReport memory;
};

/// A step as the run loop sees it: ranges of the flat tables.
struct FlatStep {
  KernelFunction function = nullptr;  // or
  const Call* call = nullptr;         // or
  const cuda::KernelCode* code = nullptr;
  const std::string* name = nullptr;
  int firstOperand = 0, operands = 0;    // a call's scratch is one more operand behind these
  int firstArgument = 0, arguments = 0;  // behind a launch's: grid, block, shared bytes, reach
};

/// A program checked and flattened. Operand addresses are a base plus an offset; the bases are, in this order: the
/// arena, the inputs, the outputs, the constants. A temporary's base is the arena or, if it is over before some output
/// is first written, that output.
class FlatProgram {
 public:
  /// T0603 on a program that breaks its rules.
  static Result<FlatProgram> create(Program program);

  const Program& program() const { return *program_; }
  int inputCount() const { return static_cast<int>(inputs_.size()); }
  int outputCount() const { return static_cast<int>(outputs_.size()); }
  const Slot& input(int i) const { return program_->slots[inputs_[i]]; }
  const Slot& output(int i) const { return program_->slots[outputs_[i]]; }
  std::span<void* const> constants() const { return constants_; }
  std::span<const FlatStep> steps() const { return steps_; }
  /// Behind the last operand of a step, a call's scratch included.
  int operandEnd(size_t step) const {
    return step + 1 < steps_.size() ? steps_[step + 1].firstOperand : operandCount();
  }
  int operandCount() const { return static_cast<int>(operandBases_.size()); }
  int baseCount() const { return 1 + inputCount() + outputCount() + static_cast<int>(constants_.size()); }

  /// Symbol values from the inputs' extents and `dims`, into `values`. Extents of other forms are not looked at.
  Result<> solve(std::span<const TensorRef> inputs, const DimBindings* dims, std::span<int64_t> values) const;
  Result<> solve(const DimBindings& dims, std::span<int64_t> values) const;
  Result<std::shared_ptr<const Binding>> bind(std::span<const int64_t> symbols) const;

  /// Count, dtypes and ranks, which do not depend on symbols.
  Result<> checkKinds(std::span<const TensorRef> inputs) const;
  /// All extents against the binding's.
  Result<> checkExtents(std::span<const TensorRef> inputs, const Binding& binding) const;

 private:
  /// symbol = (extent of an input's axis - constant) / coefficient
  struct Source {
    int input = -1, axis = 0;
    int64_t coefficient = 1, constant = 0;
  };
  struct Root {
    int slot = -1, base = 0;
    int temp = -1;  // number among the lifetimes
  };

  Result<> indexSlots();
  Result<> flattenSteps();
  Result<> flattenStep(int number, const std::string& name, const std::vector<Operand>& operands);
  Result<> checkOrder(int number, const std::string& name, const Operand& operand, std::vector<char>& written) const;
  Result<> compileShapes();
  void findSources();
  int useTemp(int temp, int step);
  void placeTemporaries(std::span<const int64_t> slotBytes, std::span<const int64_t> registers, Binding& binding) const;
  void findTurns(Binding& binding) const;
  Result<> checkShapes(std::span<const int64_t> symbols) const;
  Result<int64_t> slotBytes(int slot, std::span<const int64_t> registers) const;
  Diagnostic broken(std::string message) const;

  std::shared_ptr<const Program> program_;  // steps point into it
  std::vector<int> inputs_, outputs_;       // slots
  std::vector<int> outputFirst_;            // one an output: the step that writes it first
  std::vector<void*> constants_;
  std::vector<Root> roots_;  // one a slot
  std::vector<FlatStep> steps_;
  std::vector<int> operandBases_, operandSlots_;  // slot -1: a call's scratch
  std::vector<char> operandWrites_;
  std::vector<Lifetime> lifetimes_;  // bytes are filled in by `bind`
  std::vector<int> lifetimeSlots_;   // slot, or -1 - step for a call's scratch
  std::vector<int> operandTemps_;    // lifetime, or -1
  ShapeProgram shapes_;
  std::vector<std::vector<int>> extentRegisters_;  // one list a slot
  std::vector<int> argumentRegisters_, scratchRegisters_, bytesRegisters_;
  std::vector<Source> sources_;  // one a symbol
};

}  // namespace tokamak::runtime
