#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "support/dim.h"
#include "support/dtype.h"
#include "support/ids.h"
#include "support/result.h"
#include "support/scalar.h"
#include "support/scalar_op.h"

/// Kernel IR: one kernel is a loop nest over flat buffers. Loops carry bindings that say what runs them (a CPU's
/// threads, a GPU's blocks and threads, one after another); values are scalars or short vectors of lanes; buffers have
/// a scope. Schedulers write it, code generators translate it statement by statement, the SIMT interpreter runs it.
///
///   kernel @row_sum(in x: f32[4096*M], out y: f32[M]; M) {
///     for i in 0..M parallel {
///       var acc: f32x16 = 0.0
///       for j in 0..4096 step 16 {
///         let v: f32x16 = load x[i*4096 + j]
///         acc = acc + v
///       }
///       store y[i] = fold(add, acc)
///     }
///   }
namespace tokamak::kernel {

struct ExprTag;
using ExprId = Id<ExprTag>;
struct VarTag;
using VarId = Id<VarTag>;
struct BufferTag;
using BufferId = Id<BufferTag>;

/// Element type and number of lanes: `f32`, `f32x16`. Halves are storage types: values of theirs are loaded, cast,
/// splatted, bound to variables and stored, nothing else; there are no immediates of them.
struct ValueType {
  DType dtype = DType::f32;
  int lanes = 1;
  bool operator==(const ValueType&) const = default;
  std::string str() const;
};

// ---- expressions: pure, hash-consed in their kernel, named by ExprId ----

struct Imm {
  Scalar value;
  bool operator==(const Imm&) const = default;
};  // scalar, or the same in every lane
struct Symbol {
  std::string name;
  bool operator==(const Symbol&) const = default;
};  // i64: a symbolic dimension
struct Var {
  VarId var;
  bool operator==(const Var&) const = default;
};
struct Un {
  UnaryKind kind;
  ExprId a;
  bool operator==(const Un&) const = default;
};
struct Bin {
  BinaryKind kind;
  ExprId a, b;
  bool operator==(const Bin&) const = default;
};  // same types
struct Sel {
  ExprId condition, a, b;
  bool operator==(const Sel&) const = default;
};  // condition: bool, as many lanes
struct Convert {
  ExprId a;
  bool operator==(const Convert&) const = default;
};  // to the expression's dtype, as graph::Cast
/// Indices are i64 or i32 (signed). Scalar index: `lanes` elements from there on. Vector index: one element a lane (a
/// gather). Lanes whose mask (bool, as many lanes; absent = all) is false read nothing and give 0.
struct Load {
  BufferId buffer;
  ExprId index;
  ExprId mask;
  bool operator==(const Load&) const = default;
};
struct Splat {
  ExprId a;
  bool operator==(const Splat&) const = default;
};  // scalar to every lane
struct Ramp {
  ExprId base;
  bool operator==(const Ramp&) const = default;
};  // base, base + 1, ...: i64 or i32
struct Fold {
  BinaryKind kind;
  ExprId a;
  bool operator==(const Fold&) const = default;
};  // add mul max min and or over the lanes: scalar
struct Prefix {
  BinaryKind kind;
  ExprId a;
  bool operator==(const Prefix&) const = default;
};  // inclusive running add mul max min over the lanes
struct Extract {
  ExprId a;
  int lane;
  bool operator==(const Extract&) const = default;
};  // one lane: scalar
/// 32 random bits, zero-extended to i64, for element `index` (i64, any lanes; seed and offset are scalar i64):
/// Philox-4x32-10 as graph::Random has it.
struct Philox {
  ExprId seed, offset, index;
  bool operator==(const Philox&) const = default;
};

using ExprNode =
    std::variant<Imm, Symbol, Var, Un, Bin, Sel, Convert, Load, Splat, Ramp, Fold, Prefix, Extract, Philox>;

struct Expr {
  ExprNode node;
  ValueType type;
  bool operator==(const Expr&) const = default;
};

// ---- statements ----

/// What runs the iterations of a loop.
enum class Binding : uint8_t {
  serial,    // one after another
  unroll,    // serial, with the body repeated by the code generator; constant extent
  parallel,  // CPU threads: any order, at the same time; all are done when the loop ends. Outermost loops only
  block_x,
  block_y,
  block_z,  // GPU grid
  thread_x,
  thread_y,
  thread_z  // GPU block
};

struct Stmt;
using Block = std::vector<Stmt>;

/// for var in begin..end step s binding {body}. `step` is constant and positive. `grain` (parallel): iterations below
/// which another thread is not worth its cost.
struct For {
  VarId var;
  ExprId begin, end;
  int64_t step = 1;
  Binding binding = Binding::serial;
  int64_t grain = 1;
  Block body;
};
struct Let {
  VarId var;
  ExprId value;
};  // immutable
struct Declare {
  VarId var;
  ExprId value;
};  // mutable from here to the end of its block
struct Assign {
  VarId var;
  ExprId value;
};
/// Scalar index with a vector value: consecutive elements. Vector index: one element a lane (distinct). `streaming`
/// hints that the bytes will not be read back soon.
struct Store {
  BufferId buffer;
  ExprId index;
  ExprId value;
  ExprId mask;
  bool streaming = false;
};
struct If {
  ExprId condition;
  Block then, otherwise;
};
struct Barrier {};  // all threads of a block meet; shared memory written before is visible after

using StmtNode = std::variant<For, Let, Declare, Assign, Store, If, Barrier>;
struct Stmt {
  StmtNode node;
};

// ---- kernels ----

enum class Scope : uint8_t {
  global,  // a parameter, flat, in caller's memory
  shared,  // one a block
  local    // one an iteration of the enclosing parallel or thread loops; contents do not survive it
};
enum class Access : uint8_t {
  in,
  out,
  inout,
  scratch
};  // of global buffers; scratch: caller's memory, contents of no meaning

struct Buffer {
  std::string name;
  DType dtype = DType::f32;
  Dim size;  // elements
  Scope scope = Scope::global;
  Access access = Access::in;
  bool operator==(const Buffer&) const = default;
};

struct Variable {
  std::string name;  // unique in its kernel
  ValueType type;
  bool isMutable = false;
  bool operator==(const Variable&) const = default;
};

class Kernel {
 public:
  std::string name = "kernel";
  std::vector<std::string> symbols;  // i64 parameters, in call order
  std::vector<Buffer> buffers;       // global ones in call order, then shared and local ones
  std::vector<Variable> variables;
  Block body;

  const Expr& expr(ExprId id) const { return exprs_[id.index]; }
  ValueType type(ExprId id) const { return exprs_[id.index].type; }
  const Buffer& buffer(BufferId id) const { return buffers[id.index]; }
  const Variable& variable(VarId id) const { return variables[id.index]; }
  size_t exprCount() const { return exprs_.size(); }

  /// Both make the name an identifier of the text form that no other buffer or variable has: `x`, `x_1`, `x_2`.
  BufferId addBuffer(Buffer buffer);
  VarId addVariable(std::string baseName, ValueType type, bool isMutable);
  /// The id of an equal expression, or a new one. No checking, no simplification.
  ExprId intern(Expr expr);

 private:
  std::string uniqueName(std::string_view base);
  void growSlots();

  std::vector<Expr> exprs_;
  std::vector<uint64_t> hashes_;                     // of exprs_
  std::vector<uint32_t> slots_;                      // open hash table of positions in exprs_
  std::unordered_map<std::string, int> lastSuffix_;  // by name in use or base name asked for
};

/// Kernels that print alike are equal. Numbers take their type from where they stand (the declared type, the other
/// operand) or are i64, f32 and bool; others say it: `0:i32x16`. A load, splat or ramp of lanes says how many unless it
/// is bound to a declared type: `load<16> x[i]`. Masks follow the index: `store y[i] mask m = v streaming`. Expressions
/// that share large parts print those as `let`s of their own, so that the text stays as small as the kernel.
std::string print(const Kernel& kernel);
Result<Kernel> parseKernel(std::string_view text, std::string_view file = {});

/// Types, lane counts, scopes, definitions before uses, writes only to writable buffers and mutable variables (no
/// assignment from within a parallel, block or thread loop to a variable outside it). Nesting: parallel and block loops
/// in no serial loop; thread loops, shared buffers and barriers within a block loop; parallel loops not in one kernel
/// with those of a GPU; bounds of block and thread loops made of symbols and numbers.
Result<> verify(const Kernel& kernel);

}  // namespace tokamak::kernel

template <>
struct tokamak::EnumNames<tokamak::kernel::Binding> {
  static constexpr std::array<std::string_view, 9> names = {"serial",  "unroll",   "parallel", "block.x", "block.y",
                                                            "block.z", "thread.x", "thread.y", "thread.z"};
};
template <>
struct tokamak::EnumNames<tokamak::kernel::Scope> {
  static constexpr std::array<std::string_view, 3> names = {"global", "shared", "local"};
};
template <>
struct tokamak::EnumNames<tokamak::kernel::Access> {
  static constexpr std::array<std::string_view, 4> names = {"in", "out", "inout", "scratch"};
};
