#pragma once

#include <functional>
#include <optional>

#include "kernel/kernel.h"

namespace tokamak::kernel {

/// Writes a kernel: makes typed, folded, simplified expressions and nests statements. Misuse (mixed types, unequal
/// lanes) is a bug of the scheduler and stops with TK_CHECK.
///
///   Writer w("row_sum");
///   BufferId x = w.global("x", DType::f32, n, Access::in);
///   w.loop("i", w.i64(0), w.dim(m), 1, Binding::parallel, [&](ExprId i) { ... w.store(y, i, sum); });
///   Kernel k = std::move(w).finish();
///
/// Scalars meeting vectors are splatted by `binary`, `select`, `store` and `assign`. Integer constants fold, x + 0, x *
/// 1 and x * 0 (integers) simplify; floats are never re-associated and `x * 0.0` is kept.
class Writer {
 public:
  explicit Writer(std::string name);

  BufferId global(std::string name, DType dtype, Dim size, Access access);
  BufferId local(std::string name, DType dtype, Dim size);
  BufferId shared(std::string name, DType dtype, Dim size);
  BufferId cluster(std::string name, DType dtype, Dim size);
  BufferId inbox(std::string name, DType dtype, Dim size);

  // Expressions
  ExprId imm(Scalar value, DType dtype, int lanes = 1);
  ExprId i64(int64_t value) { return imm(Scalar::of(value), DType::i64); }
  ExprId boolean(bool value, int lanes = 1) {
    return imm(Scalar::of(static_cast<int64_t>(value)), DType::boolean, lanes);
  }
  ExprId dim(const Dim& value);  // i64; registers the symbols it names
  ExprId unary(UnaryKind kind, ExprId a);
  ExprId binary(BinaryKind kind, ExprId a, ExprId b);
  ExprId add(ExprId a, ExprId b) { return binary(BinaryKind::add, a, b); }
  ExprId sub(ExprId a, ExprId b) { return binary(BinaryKind::sub, a, b); }
  ExprId mul(ExprId a, ExprId b) { return binary(BinaryKind::mul, a, b); }
  ExprId both(ExprId a, ExprId b);  // and of two masks, either of which may be absent
  ExprId select(ExprId condition, ExprId a, ExprId b);
  ExprId convert(ExprId a, DType dtype);  // no-op on its own dtype
  ExprId load(BufferId buffer, ExprId index, int lanes = 1, ExprId mask = {}, Cache cache = Cache::normal);
  ExprId splat(ExprId a, int lanes);  // no-op if it has as many lanes already
  ExprId ramp(ExprId base, int lanes);
  ExprId fold(BinaryKind kind, ExprId a);  // a scalar is its own fold
  ExprId prefix(BinaryKind kind, ExprId a);
  ExprId extract(ExprId a, int lane);
  /// Of `width` neighbouring threads, or so far apart; bound to a name, as they must be. The value itself where `width`
  /// is 1.
  ExprId warpFold(BinaryKind kind, ExprId a, int width, int stride = 1);
  ExprId warpPrefix(BinaryKind kind, ExprId a, int width);
  ExprId warpShift(ExprId a, ExprId first, int width);  // `first` where `width` is 1
  ExprId philox(ExprId seed, ExprId offset, ExprId index);
  ExprId within(ExprId a, ExprId extent, ExprId mask);  // no mask: everywhere

  DType bufferType(BufferId b) const { return kernel_.buffer(b).dtype; }
  ValueType type(ExprId a) const { return kernel_.type(a); }
  int lanes(ExprId a) const { return kernel_.type(a).lanes; }
  std::optional<int64_t> asConstant(ExprId a) const;  // of an integer or bool immediate, scalar or in every lane
  /// A number that a scalar integer is known to be a multiple of; 0 for zero.
  int64_t multipleOf(ExprId a) const;

  /// From now on accesses of lanes say that they are aligned where their index shows it.
  void findAligned() { findsAligned_ = true; }
  void setResidentBlocks(int blocks) { kernel_.residentBlocks = blocks; }
  void setClusterBlocks(int blocks) { kernel_.clusterBlocks = blocks; }
  void setReach(Dim reach);

  // Statements, appended to the innermost open block
  using Body = std::function<void(ExprId index)>;
  void loop(std::string_view name, ExprId begin, ExprId end, int64_t step, Binding binding, const Body& body,
            int64_t grain = 1);
  void when(ExprId condition, const std::function<void()>& then, const std::function<void()>& otherwise = {});
  /// Binds a value to a name in the open block and returns the reference. Immediates and references come back as they
  /// are.
  ExprId let(std::string_view name, ExprId value);
  VarId declare(std::string_view name, ExprId value);
  ExprId get(VarId var);
  void assign(VarId var, ExprId value);
  void store(BufferId buffer, ExprId index, ExprId value, ExprId mask = {}, bool streaming = false);
  void prefetch(BufferId buffer, ExprId index, bool near = false);
  void barrier(Barrier::Of of = Barrier::Of::block);

  /// Checks with `verify` in debug builds.
  Kernel finish() &&;

 private:
  void append(StmtNode node) { open_.back().push_back({std::move(node)}); }
  Block collect(const std::function<void()>& body);  // what `body` appends
  void addSymbols(const Dim& value);
  void matchLanes(ExprId& a, ExprId& b);
  ExprId foldBinary(BinaryKind kind, ExprId a, ExprId b);                     // of two integer immediates
  std::optional<ExprId> simplifyBinary(BinaryKind kind, ExprId a, ExprId b);  // integers and bool
  std::optional<ExprId> rejoin(ExprId low, ExprId high);
  std::optional<ExprId> simplifyAddition(ExprId a, ExprId b);
  std::optional<ExprId> simplifyDifference(ExprId a, ExprId b);
  std::optional<ExprId> simplifyProduct(ExprId a, ExprId b);
  std::optional<ExprId> simplifyLogic(BinaryKind kind, ExprId a, ExprId b);
  std::optional<ExprId> simplifySame(BinaryKind kind, ExprId a);  // both operands are `a`
  template <class Node>
  std::optional<Node> match(ExprId a) const {
    const Node* node = std::get_if<Node>(&kernel_.expr(a).node);
    return node ? std::optional<Node>(*node) : std::nullopt;
  }

  bool isAligned(BufferId buffer, ExprId index, int lanes) const;
  ExprId overWarp(ExprNode node, ExprId a);

  Kernel kernel_;
  std::vector<Block> open_;                       // innermost last
  std::unordered_map<VarId, int64_t> multiples_;  // of variables, where above 1
  bool findsAligned_ = false;
};

}  // namespace tokamak::kernel
