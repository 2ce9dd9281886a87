#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "kernel/expr.h"
#include "support/dim.h"
#include "support/result.h"

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

// ---- statements ----

/// What runs the iterations of a loop. On a GPU every thread of every block runs the whole body of the kernel, and a
/// bound loop is the one iteration that is the thread's own, or none. Grid and block are as large as the longest loop
/// bound to them.
enum class Binding : uint8_t {
  serial,    // one after another
  unroll,    // serial, with the body repeated by the code generator; constant extent
  parallel,  // CPU threads: any order, at the same time; all are done when the loop ends. Outermost loops only
  block_x,   // GPU grid
  block_y,
  block_z,
  thread_x,  // GPU block
  thread_y,
  thread_z
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
/// `let v: f32 = load x[i]`. Immutable; lives to the end of its block, as all variables do.
struct Let {
  VarId var;
  ExprId value;
};
/// `var acc: f32 = 0.0`. Mutable.
struct Declare {
  VarId var;
  ExprId value;
};
/// `acc = acc + v`.
struct Assign {
  VarId var;
  ExprId value;
};
/// `store y[i] mask m aligned = v streaming`. Scalar index with a vector value: consecutive elements. Vector index: one
/// element a lane (distinct). `aligned` is as for loads. `streaming` hints that the bytes will not be read back soon.
struct Store {
  BufferId buffer;
  ExprId index;
  ExprId value;
  ExprId mask;
  bool streaming = false;
  bool aligned = false;
};
/// `prefetch x[i] near`. Asks for the cache line of an element that will be read soon, `near`: within a few thousand
/// cycles, so that it belongs in the first cache. An index out of bounds is allowed and does nothing.
struct Prefetch {
  BufferId buffer;
  ExprId index;
  bool near = false;
};
/// `if i < n { ... } else { ... }`.
struct If {
  ExprId condition;
  Block then, otherwise;
};
/// `barrier`: all threads of a block meet; shared memory written before is visible after. `barrier cluster`: those of a
/// cluster's blocks, for cluster memory as well. `barrier inbox`, once a kernel: those of a block, and the first block
/// of a cluster goes on when all elements of all inboxes have come; the other blocks need not wait for each other.
struct Barrier {
  enum class Of : uint8_t { block, cluster, inbox } of = Of::block;
};

using StmtNode = std::variant<For, Let, Declare, Assign, Store, Prefetch, If, Barrier>;
struct Stmt {
  StmtNode node;
};

// ---- kernels ----

enum class Scope : uint8_t {
  global,   // a parameter, flat, in caller's memory
  cluster,  // one a cluster of blocks: every block has a copy that all stores reach; ordered by cluster barriers alone
  inbox,  // one a cluster, which its first block reads after `barrier inbox`; each element is stored once, by any block
  shared,  // one a block
  local    // one an iteration of the enclosing parallel or thread loops; contents do not survive it
};
enum class Access : uint8_t {  // of global buffers
  in,
  out,
  inout,
  scratch  // the caller's memory, contents of no meaning
};

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

/// Whether blocks other than the one that stores may read a buffer of this scope.
constexpr bool isOfCluster(Scope scope) { return scope == Scope::cluster || scope == Scope::inbox; }

class Kernel {
 public:
  std::string name = "kernel";
  std::vector<std::string> symbols;  // i64 parameters, in call order
  std::vector<Buffer> buffers;       // global ones in call order, then shared and local ones
  std::vector<Variable> variables;
  Block body;
  /// GPU: so many blocks are to share a multiprocessor, which bounds the registers of a thread; 0: as it comes.
  int residentBlocks = 0;
  /// GPU: so many blocks, neighbours along x, form a cluster: they run at the same time and share cluster memory. The
  /// grid's x is a multiple of it.
  int clusterBlocks = 1;
  /// No index expression (see index_exprs.h) goes beyond this or below its negative, so that a back end may compute
  /// them in 32 bits where that is enough. Absent: nothing is known.
  std::optional<Dim> reach;

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
/// is bound to a declared type: `load<16> x[i]`. Masks and hints follow the index: `store y[i] mask m aligned = v`.
/// What holds for the kernel follows its parameters: `kernel @k(in x: f32[M]; M) resident 2 cluster 4 reach [4*M] {`.
/// Expressions that share large parts print those as `let`s of their own, so that the text stays as small as the
/// kernel.
std::string print(const Kernel& kernel);
Result<Kernel> parseKernel(std::string_view text, std::string_view file = {});

/// Types, lane counts, scopes, definitions before uses, writes only to writable buffers and mutable variables (no
/// assignment from within a parallel, block or thread loop to a variable outside it). Nesting: parallel and block loops
/// in no serial loop; thread loops, shared buffers and barriers within a block loop; parallel loops not in one kernel
/// with those of a GPU; bounds of block and thread loops made of symbols and numbers. Warp operations as expr.h has
/// them.
Result<> verify(const Kernel& kernel);

}  // namespace tokamak::kernel

template <>
struct tokamak::EnumNames<tokamak::kernel::Binding> {
  static constexpr std::array<std::string_view, 9> names = {"serial",  "unroll",   "parallel", "block.x", "block.y",
                                                            "block.z", "thread.x", "thread.y", "thread.z"};
};
template <>
struct tokamak::EnumNames<tokamak::kernel::Scope> {
  static constexpr std::array<std::string_view, 5> names = {"global", "cluster", "inbox", "shared", "local"};
};
template <>
struct tokamak::EnumNames<tokamak::kernel::Barrier::Of> {
  static constexpr std::array<std::string_view, 3> names = {"block", "cluster", "inbox"};
};
template <>
struct tokamak::EnumNames<tokamak::kernel::Access> {
  static constexpr std::array<std::string_view, 4> names = {"in", "out", "inout", "scratch"};
};
