#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "support/dim.h"
#include "support/dtype.h"
#include "support/enum_names.h"
#include "support/kernel_abi.h"
#include "support/result.h"

/// What the compiler hands to the runtime: plain data, filled in by `driver`, checked and made ready by
/// `Executable::create`.
namespace tokamak::runtime {

namespace cuda {
class KernelCode;
}

enum class SlotKind : uint8_t {
  input,     // the caller's tensor number `index`
  output,    // the caller's, or the pool's, tensor number `index`
  temp,      // placed in the arena between its first and its last use
  constant,  // bytes that live as long as the program
  alias      // the same memory as slot `index` (of any kind, no cycles), seen with a shape of as many or fewer bytes
};

/// One tensor of the program, always dense and row-major.
struct Slot {
  std::string name;  // for messages: what the user calls it
  SlotKind kind = SlotKind::temp;
  DType dtype = DType::f32;
  Shape shape;
  int index = -1;
  std::shared_ptr<const void> constant;  // of kind constant: its bytes, 64-byte aligned
};

enum class OperandAccess : uint8_t { in, out, inout, scratch };

/// A slot as a step uses it. A scratch operand is a temp whose contents matter only during the step.
struct Operand {
  int slot = -1;
  OperandAccess access = OperandAccess::in;
};

/// Calls a compiled kernel with its global buffers and symbols, both in the kernel's order.
struct KernelStep {
  std::string name;
  KernelFunction function = nullptr;
  std::shared_ptr<const void> keepAlive;  // owns the code
  std::vector<Operand> operands;
  std::vector<Dim> symbols;  // values to pass, as expressions over Program::symbols
  Dim predictedBytes = 0;    // moved, for the profile
};

/// Launches a kernel on a GPU, with its global buffers and symbols as arguments, both in the kernel's order.
struct LaunchStep {
  std::string name;
  std::shared_ptr<const cuda::KernelCode> code;
  std::vector<Operand> operands;
  std::vector<Dim> symbols;                                // values to pass, as expressions over Program::symbols
  std::array<Dim, 3> grid = {1, 1, 1}, block = {1, 1, 1};  // the same
  Dim sharedBytes = 0;                                     // dynamic
  Dim reach = 0;                                           // the largest index the kernel forms
  Dim predictedBytes = 0;                                  // moved, for the profile
};

/// What a call step is given: addresses in the order of its operands, the values of its dims, its own scratch (64-byte
/// aligned, of the bytes it asked for) and the threads to use; on a GPU addresses are the device's, and work goes to
/// the stream.
struct CallArguments {
  std::span<void* const> buffers;
  std::span<const int64_t> dims;
  std::byte* scratch = nullptr;
  const KernelHost* host = nullptr;
  void* stream = nullptr;  // of CUDA
};

/// Work that is not a compiled kernel: a library's matrix product, a copy. May be called from many threads at once.
class Call {
 public:
  virtual ~Call() = default;
  virtual Result<> run(const CallArguments& arguments) const = 0;
};

struct CallStep {
  std::string name;
  std::shared_ptr<const Call> call;
  std::vector<Operand> operands;
  std::vector<Dim> dims;  // values to pass, as expressions over Program::symbols
  Dim scratchBytes = 0;
  Dim predictedBytes = 0;
};

using Step = std::variant<KernelStep, CallStep, LaunchStep>;

/// What must hold of the symbols for the program to be right, where that could not be proved when compiling.
struct ShapeCheck {
  enum class Kind : uint8_t { equal, atMost } kind = Kind::equal;
  Dim a, b;
  std::string message;  // says which op wants it
  Location location;    // of that op
};

/// Steps run in order. Every slot is written before it is read; inputs and constants are never written.
///
///   symbols [M]
///   slot 0 input 0 x: f32[M, 64]; slot 1 temp t: f32[M, 64]; slot 2 output 0 y: f32[M]
///   step kernel @a(in 0, out 1; M); step kernel @b(in 1, out 2; M)
struct Program {
  std::string name = "program";
  std::vector<std::string> symbols;
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<ShapeCheck> checks;
};

/// A call that copies operand 0 to operand 1; dims: [bytes].
std::shared_ptr<const Call> makeCopyCall();

}  // namespace tokamak::runtime

template <>
struct tokamak::EnumNames<tokamak::runtime::SlotKind> {
  static constexpr std::array<std::string_view, 5> names = {"input", "output", "temp", "constant", "alias"};
};
template <>
struct tokamak::EnumNames<tokamak::runtime::OperandAccess> {
  static constexpr std::array<std::string_view, 4> names = {"in", "out", "inout", "scratch"};
};
