#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "kernel/kernel.h"

namespace tokamak::kernel {

/// Prints expressions of one kernel. An immediate is written bare (`0`, `0.5`, `true`) where its place gives its type:
/// the declared type of the variable it is bound to, the type of the other operand or arm; elsewhere bare means i64,
/// f32, bool, and others carry theirs: `0:i32`, `0.0:f32x16`. In the same places directly below a declared type,
/// `load`, `splat` and `ramp` need no lane count.
class ExprPrinter {
 public:
  explicit ExprPrinter(const Kernel& kernel);

  /// `wanted`: the declared type of what the expression is bound to.
  std::string str(ExprId id, std::optional<ValueType> wanted = {}) const;
  /// In parentheses unless it is a name, a number or a call.
  std::string primary(ExprId id) const;
  std::string symbol(const std::string& name) const;  // `M`, or `$load` where a bare name would mean something else

  /// From now on `id` prints as `name`.
  void bind(ExprId id, const std::string& name) { bound_[id] = name; }
  void unbindAll() { bound_.clear(); }

  std::string freshName();                                        // that nothing in the kernel has
  int64_t treeSize(ExprId id) const { return sizes_[id.index]; }  // printed nodes, saturated
  int depth(ExprId id) const { return depths_[id.index]; }

 private:
  enum class Level { comparison, sum, product, primary };
  void append(std::string& out, ExprId id, Level level, bool typed, std::optional<ValueType> wanted) const;
  void appendImm(std::string& out, const Imm& imm, ValueType type, bool typed) const;
  void appendInfix(std::string& out, const Bin& bin, std::string_view symbol, Level own, Level level) const;
  void appendOperand(std::string& out, ExprId id, ExprId other, Level level) const;
  void appendLoad(std::string& out, const Load& load, ValueType type, bool lanesKnown) const;
  bool isImm(ExprId id) const;

  const Kernel& kernel_;
  std::vector<int64_t> sizes_;
  std::vector<int> depths_;
  std::unordered_map<ExprId, std::string> bound_;
  std::unordered_set<std::string> names_;  // of buffers, variables and symbols
  int lastFresh_ = 0;
};

}  // namespace tokamak::kernel
