#pragma once

#include <array>

#include "kernel/kernel.h"

namespace tokamak::kernel::simt {

/// One lane of a register. Integers and bool are in `i`, floats of every width in `d`, which holds them exactly.
union Lane {
  int64_t i;
  double d;
};

struct Inst;
using Compute = void (*)(Lane* registers, const Inst& inst);

enum class Op : uint8_t {
  compute,  // inst.compute
  bounded,  // the same, and no lane of the result goes beyond the kernel's reach
  within,   // the same, of a at extent b: every lane under mask c is at least 0 and below it
  load,
  store,          // of `buffer`: dst or a at index b, under mask c
  copy,           // dst = a
  jump,           // to `target`
  jump_unless,    // a
  loop_test,      // leaves to `target` unless a < b
  loop_step,      // a += step, back to `target`
  parallel_test,  // as loop_test; every iteration is a thread of its own, all have met when the loop is left
  pick,           // dst = a + step * the thread's place in `axis`; leaves to `target` unless it is < b
  leave_thread,   // the end of a thread loop
  meet,           // of a warp: `dst` is what `meeting` makes of `a` (and b) in groups of `step` threads
  barrier,
  end
};

/// Registers are named by where they start in the register file; kNone is an absent mask.
struct Inst {
  static constexpr uint32_t kNone = 0xffffffffu;

  Op op = Op::end;
  DType dtype = DType::i64;  // of the operands (compute) or the elements (load, store)
  DType to = DType::i64;     // of a cast's result
  UnaryKind unary{};
  BinaryKind binary{};
  uint8_t axis = 0;      // of pick: Binding - block_x
  Barrier::Of of{};      // of a barrier
  bool gather = false;   // load and store: an index a lane
  bool aligned = false;  // load and store: the address is a multiple of the lanes' size, 16 bytes at most
  enum class Meeting : uint8_t { fold, prefix, shift } meeting = Meeting::fold;
  int lanes = 1;
  uint32_t dst = kNone, a = kNone, b = kNone, c = kNone;
  uint32_t buffer = 0, target = 0, statement = 0;
  int64_t step = 1;  // of loops; the lane of an extract; the width of a meet
  int stride = 1;    // of a meet
  Compute compute = nullptr;
};

/// A kernel as a flat list of instructions, so that any thread can stop at a barrier and go on later.
struct Program {
  struct Statement {
    const Stmt* stmt;
    std::vector<VarId> loops;  // around it, outermost first
  };
  struct Preset {  // a register that holds a constant throughout
    uint32_t at;
    int lanes;
    Lane value;
  };
  std::vector<Inst> code;
  std::vector<Statement> statements;
  std::vector<uint32_t> variables;  // register of each
  std::vector<Preset> presets;
  uint32_t registers = 0;                               // lanes in all
  std::array<int64_t, 6> extents = {1, 1, 1, 1, 1, 1};  // of the grid and a block: the longest loop bound to each axis
  bool gpu = false;
  int64_t reach = 0;  // of `bounded`
};

/// Needs a verified kernel that outlives the program, and a value for each of its symbols.
Program translate(const Kernel& kernel, const DimBindings& symbols);

/// Chosen by what the expression does and the type of its operands. Loads are none of these.
Compute computeFor(const Kernel& kernel, const Expr& expr);

/// One lane of a fold or prefix: x joined with y by inst.binary.
Lane join(const Inst& inst, Lane x, Lane y);

}  // namespace tokamak::kernel::simt
