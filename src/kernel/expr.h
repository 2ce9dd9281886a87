#pragma once

#include <string>
#include <variant>

#include "support/ids.h"
#include "support/scalar.h"
#include "support/scalar_op.h"

/// Expressions of the kernel IR: pure, hash-consed in their kernel, named by ExprId. Each is evaluated where a
/// statement uses it: bind a load with `let` to keep its value over a store.
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

/// A number: `0.5`, `0:i32x16` (the same in every lane).
struct Imm {
  Scalar value;
  bool operator==(const Imm&) const = default;
};

/// The value of a symbolic dimension, an i64: `M`.
struct Symbol {
  std::string name;
  bool operator==(const Symbol&) const = default;
};

/// The value of a loop's, `let`'s or `var`'s variable: `acc`.
struct Var {
  VarId var;
  bool operator==(const Var&) const = default;
};

/// `exp(x)`.
struct Un {
  UnaryKind kind;
  ExprId a;
  bool operator==(const Un&) const = default;
};

/// `x + y`, `max(x, y)`, `i < n`. Both operands have one type.
struct Bin {
  BinaryKind kind;
  ExprId a, b;
  bool operator==(const Bin&) const = default;
};

/// `select(m, x, y)`: x where m (bool, as many lanes) holds, y elsewhere. Both are evaluated.
struct Sel {
  ExprId condition, a, b;
  bool operator==(const Sel&) const = default;
};

/// `cast<f32>(x)`: converts as graph::Cast does.
struct Convert {
  ExprId a;
  bool operator==(const Convert&) const = default;
};

/// How long the bytes of a load are worth keeping in the caches: evict_first and evict_last speak of the first cache,
/// `streaming` of all (they will not be read again). A hint: it never changes a result.
enum class Cache : uint8_t { normal, evict_first, evict_last, streaming };

/// `load x[i]`, `load<16> x[i] mask m aligned evict_last`. Indices are i64 or i32 (signed). Scalar index: `lanes`
/// elements from there on. Vector index: one element a lane (a gather). Lanes whose mask (bool, as many lanes; absent =
/// all) is false read nothing and give 0.
///
/// `aligned` (scalar index, 2^k lanes): the first element's address is a multiple of the size of the lanes, or of 16
/// bytes where they are more, given that the buffer begins at a multiple of 16 bytes. A back end for which that matters
/// moves 16 bytes at once; under a mask, where all lanes of the 16 bytes are on.
struct Load {
  BufferId buffer;
  ExprId index;
  ExprId mask;
  bool aligned = false;
  Cache cache = Cache::normal;
  bool operator==(const Load&) const = default;
};

/// `splat<16>(x)`: a scalar in every lane.
struct Splat {
  ExprId a;
  bool operator==(const Splat&) const = default;
};

/// `ramp<4>(i)`: i, i + 1, i + 2, i + 3; i64 or i32.
struct Ramp {
  ExprId base;
  bool operator==(const Ramp&) const = default;
};

/// `fold(add, x)`: add, mul, max, min, and, or over the lanes, in an order of the back end's choice; a scalar.
struct Fold {
  BinaryKind kind;
  ExprId a;
  bool operator==(const Fold&) const = default;
};

/// `prefix(add, x)`: inclusive running add, mul, max, min over the lanes.
struct Prefix {
  BinaryKind kind;
  ExprId a;
  bool operator==(const Prefix&) const = default;
};

/// `warpfold(add, x, 32)`: add, mul, max, min, and, or, lane by lane, over the group of `width` (2, 4, ... 32)
/// consecutive threads that this one is in; every one of them gets the result. Neighbours at distance width/2 are
/// joined first, then width/4, ... 1, so that the bits are the same on every machine. `warpfold(add, x, 2, 16)`: over
/// threads that are 16 (1, 2, 4, ...) apart, so far as a warp goes.
///
/// All kinds of warp operation are the whole value of a `let`, `var` or assignment, in blocks whose threads are a
/// multiple of 32, and all 32 threads of the warp reach them together. They order no memory accesses.
struct WarpFold {
  BinaryKind kind;
  ExprId a;
  int width = 32;
  int stride = 1;
  bool operator==(const WarpFold&) const = default;
};

/// `warpprefix(add, x, 32)`: inclusive running add, mul, max, min over the threads of the group, from its first thread
/// on: joined with the thread at distance 1 before, then 2, 4, ... width/2.
struct WarpPrefix {
  BinaryKind kind;
  ExprId a;
  int width = 32;
  bool operator==(const WarpPrefix&) const = default;
};

/// `warpshift(x, 0.0, 32)`: x of the thread before this one in its group; the first thread of the group gets `first`.
struct WarpShift {
  ExprId a, first;
  int width = 32;
  bool operator==(const WarpShift&) const = default;
};

/// `extract(x, 3)`: one lane, a scalar.
struct Extract {
  ExprId a;
  int lane;
  bool operator==(const Extract&) const = default;
};

/// `philox(seed, offset, i)`: 32 random bits, zero-extended to i64, for element `index` (i64, any lanes; seed and
/// offset are scalar i64): Philox-4x32-10 as graph::Random has it.
struct Philox {
  ExprId seed, offset, index;
  bool operator==(const Philox&) const = default;
};

/// `within(i, n, m)`: i (i64, any lanes), which the program promises to be at least 0 and below n (a scalar i64) where
/// m (bool, as many lanes) holds; elsewhere the value means nothing. A back end that can stop a kernel does where the
/// promise is broken, the others clamp.
struct Within {
  ExprId a, extent, mask;
  bool operator==(const Within&) const = default;
};

using ExprNode = std::variant<Imm, Symbol, Var, Un, Bin, Sel, Convert, Load, Splat, Ramp, Fold, Prefix, WarpFold,
                              WarpPrefix, WarpShift, Extract, Philox, Within>;

struct Expr {
  ExprNode node;
  ValueType type;
  bool operator==(const Expr&) const = default;
};

}  // namespace tokamak::kernel

template <>
struct tokamak::EnumNames<tokamak::kernel::Cache> {
  static constexpr std::array<std::string_view, 4> names = {"normal", "evict_first", "evict_last", "streaming"};
};
