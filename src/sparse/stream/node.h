#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "support/enum_names.h"

/// The blocks of a stream graph. Streams carry tokens: values, stops S(n) (end of n+1 nested fibers), N (an absent
/// operand) and D (done). The rank of a stream is the number of its stop levels. Inputs and outputs stand in the order
/// that each block's comment gives; `crd`, `ref` and `val` are the kinds of streams, `any` keeps the kind it is given.
namespace tokamak::stream {

enum class StreamKind : uint8_t { crd, ref, val };

/// -> ref. Reference 0, then D: where the walk of a tensor begins. Rank 0.
struct Root {
  std::string tensor;
  bool operator==(const Root&) const = default;
};

/// ref -> crd, ref. Walks the fiber of each reference: its coordinates and the references of its children. N is an
/// empty fiber. Raises the rank by one.
struct Scan {
  std::string tensor;
  int level = 0;
  bool operator==(const Scan&) const = default;
};

enum class JoinKind : uint8_t { intersect, unite };
/// crd, any, crd, any, ... -> crd, any, any, ...: n coordinate streams with a payload (ref or val) each; the merged
/// coordinates and the n payloads. `unite` puts N for an operand without the coordinate. Keeps the rank.
struct Joiner {
  JoinKind kind = JoinKind::intersect;
  bool operator==(const Joiner&) const = default;
};

/// any, along -> any. Each token of the first stream once for each value of the second, which has one more rank and any
/// kind. A signal maker and a repeater in one. The result has the rank of `along`.
struct Repeat {
  bool operator==(const Repeat&) const = default;
};

/// crd, ref, [parent ref] -> ref, ref, crd. Random access to a dense level of `tensor`: parent * size + coordinate,
/// then the given reference and coordinate again. Without a parent (no third stream) the level is at the root. Keeps
/// the rank.
struct Locate {
  std::string tensor;
  int level = 0;
  bool operator==(const Locate&) const = default;
};

/// ref -> val. Loads values (or blocks of values); N loads as 0.
struct Array {
  std::string tensor;
  bool operator==(const Array&) const = default;
};

enum class AluOp : uint8_t {
  // of two operands; on blocks element by element, where an extent of 1 stretches
  add,
  sub,
  mul,
  div,
  max,
  min,
  pow,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  logical_and,
  logical_or,
  // of two blocks: the matrix product, with the second or the first operand transposed
  matmul,
  matmul_nt,
  matmul_tn,
  // of three: where the first is not 0 the second, else the third
  select,
  // of one
  neg,
  abs,
  exp,
  log,
  sqrt,
  rsqrt,
  reciprocal,
  tanh,
  sigmoid,
  relu,
  gelu,
  gelu_tanh,
  silu,
  sin,
  cos,
  erf,
  logical_not,
  // of one block: its transpose, and folds over its columns (one value a row) or its rows (one value a column)
  transpose,
  row_sum,
  row_max,
  row_min,
  col_sum,
  col_max,
  col_min
};
/// val, ... -> val. Computes token by token; stops pass through, N reads as 0. With `scalar` the number stands for the
/// last operand, or for the first with `scalarFirst`: `alu sub 1.0, %x`.
struct Alu {
  AluOp op = AluOp::add;
  std::optional<double> scalar;
  bool scalarFirst = false;
  bool operator==(const Alu&) const = default;
};

enum class FoldOp : uint8_t { add, max, min, mul };
/// val -> val. Folds each innermost fiber to one value; an empty fiber gives `init`, which is the fold's identity
/// unless said (then every fold starts from it). Lowers the rank by one.
struct Reduce {
  FoldOp op = FoldOp::add;
  std::optional<double> init;
  bool operator==(const Reduce&) const = default;
};

/// outer crd 1..k, inner crd, val -> outer crd 2..k, inner crd, val. Folds over the outermost of its k+1 coordinates
/// with a workspace over the other k; outermost first. Rank of outer 1 is r, of outer 2 r+1, ... of inner and val r+k;
/// the results have ranks r, r+1, ... r+k-1: the workspace takes the place of the folded fiber.
///
///   X(i,j) = sum(k) B(i,k) * C(k,j), loops i k j:   %c, %v = spacc add 1 %k, %j, %val
struct Spacc {
  int order = 1;
  FoldOp op = FoldOp::add;
  bool operator==(const Spacc&) const = default;
};

/// outer crd, inner (crd or val) -> outer crd, inner. Drops outer coordinates whose inner fiber is empty, and those
/// fibers. The inner rank is the outer rank + 1.
struct CrdDrop {
  bool operator==(const CrdDrop&) const = default;
};

/// outer crd, inner crd -> outer crd, inner crd. The outer coordinate again for each inner one: both have the inner
/// rank.
struct CrdHold {
  bool operator==(const CrdHold&) const = default;
};

/// any -> any, any, ...: the same stream to each reader. Every stream has exactly one reader; `shareStreams` puts
/// broadcasts where it has more.
struct Broadcast {
  bool operator==(const Broadcast&) const = default;
};

/// any -> any, any, ...: values in turn to the lanes, stops and D to all.
struct Fork {
  bool operator==(const Fork&) const = default;
};

/// any, any, ... -> any: undoes a fork. Takes from each lane in turn what one forked value became: the value itself
/// (depth 0) or a nest of `depth` fibers, where the lanes were scanned further down.
struct Join {
  int depth = 1;
  bool operator==(const Join&) const = default;
};

/// crd ->. Stores the coordinates of one level of the result `tensor`.
struct WriteLevel {
  std::string tensor;
  int level = 0;
  bool operator==(const WriteLevel&) const = default;
};

/// val ->. Stores the values of the result `tensor`.
struct WriteValues {
  std::string tensor;
  bool operator==(const WriteValues&) const = default;
};

using Block = std::variant<Root, Scan, Joiner, Repeat, Locate, Array, Alu, Reduce, Spacc, CrdDrop, CrdHold, Broadcast,
                           Fork, Join, WriteLevel, WriteValues>;

/// How many operands an op takes, a scalar among them.
int arity(AluOp op);

}  // namespace tokamak::stream

template <>
struct tokamak::EnumNames<tokamak::stream::StreamKind> {
  static constexpr std::array<std::string_view, 3> names = {"crd", "ref", "val"};
};
template <>
struct tokamak::EnumNames<tokamak::stream::JoinKind> {
  static constexpr std::array<std::string_view, 2> names = {"intersect", "union"};
};
template <>
struct tokamak::EnumNames<tokamak::stream::AluOp> {
  static constexpr std::array<std::string_view, 43> names = {
      "add",       "sub",     "mul",     "div",       "max",     "min",     "pow",    "eq",         "ne",
      "lt",        "le",      "gt",      "ge",        "and",     "or",      "matmul", "matmul_nt",  "matmul_tn",
      "select",    "neg",     "abs",     "exp",       "log",     "sqrt",    "rsqrt",  "reciprocal", "tanh",
      "sigmoid",   "relu",    "gelu",    "gelu_tanh", "silu",    "sin",     "cos",    "erf",        "not",
      "transpose", "row_sum", "row_max", "row_min",   "col_sum", "col_max", "col_min"};
};
template <>
struct tokamak::EnumNames<tokamak::stream::FoldOp> {
  static constexpr std::array<std::string_view, 4> names = {"add", "max", "min", "mul"};
};
