#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sparse/einsum/function.h"
#include "sparse/format/format.h"
#include "support/dtype.h"
#include "support/ids.h"
#include "support/result.h"

namespace tokamak::sparse {

struct DimTag;
using DimId = Id<DimTag>;
struct VarTag;
using VarId = Id<VarTag>;
struct TensorTag;
using TensorId = Id<TensorTag>;
struct ExprTag;
using ExprId = Id<ExprTag>;

/// A dimension: a name with a size, or a size alone (its name is the number). -1: the data say it.
struct Dim {
  std::string name;
  int64_t size = -1;
  bool operator==(const Dim&) const = default;
};

/// An index variable: a name and the dimension it runs over.
struct Var {
  std::string name;
  DimId dim;
  bool operator==(const Var&) const = default;
};

enum class Role : uint8_t { input, output, temp };

struct TensorDecl {
  std::string name;
  Role role = Role::input;
  std::vector<DimId> dims;
  DType dtype = DType::f32;
  std::optional<Format> format;  // without: dense for inputs and outputs, the compiler's choice for temps
  bool declared = true;          // false: a temp known only from its statement
  Location location;
};

enum class ExprKind : uint8_t { constant, extent, access, apply, where, reduce };

/// A node of an expression; equal nodes are one node.
///   constant  value
///   extent    the size of `dim`
///   access    tensor[vars]
///   apply     fn(args...)
///   where     args[1] where args[0], an access, has a stored entry; 0 elsewhere
///   reduce    folds args[0] over vars; with further args, accesses, only where all of these have stored entries.
///             A fold over nothing is 0.
struct Expr {
  ExprKind kind = ExprKind::constant;
  double value = 0;
  DimId dim;
  TensorId tensor;
  Fn fn = Fn::add;
  Fold fold = Fold::sum;
  std::vector<VarId> vars;
  std::vector<ExprId> args;
  bool operator==(const Expr&) const = default;
};

/// tensor[vars] = value: every variable of `vars` once.
struct Statement {
  TensorId tensor;
  std::vector<VarId> vars;
  ExprId value;
  Location location;
};

/// A tensor program in index notation. An absent entry is zero: the meaning of a program is that of its dense form, and
/// what is to be done for stored entries alone says so with `where` or `in`.
///
///   dim N, F = 1433, H = 16
///   input A[N, N]: csr
///   input X[N, F]: csr
///   input W[F, H]
///   input b[H]
///   output Y[N, H]
///
///   T[i, h] = X[i, f] * W[f, h]                    // f is summed over: it is not on the left
///   Y[i, h] = relu(sum(k: A[i, k] * T[k, h]) + b[h])
///
/// `parse` reads this text and `print` writes it; a Program can be built by calls as well.
class Program {
 public:
  DimId addDim(std::string name, int64_t size = -1);
  VarId addVar(std::string_view name, DimId dim);  // the same for the same name and dimension
  TensorId addTensor(TensorDecl tensor);
  void rename(TensorId id, std::string name);
  void addStatement(Statement statement) { statements_.push_back(std::move(statement)); }

  ExprId constant(double value);
  ExprId extent(DimId dim);
  ExprId access(TensorId tensor, std::vector<VarId> vars);
  ExprId apply(Fn fn, std::vector<ExprId> args);
  ExprId where(ExprId pattern, ExprId body);
  ExprId reduce(Fold fold, std::vector<VarId> vars, ExprId body, const std::vector<ExprId>& patterns = {});

  std::vector<Dim>& dims() { return dims_; }
  const std::vector<Dim>& dims() const { return dims_; }
  const std::vector<TensorDecl>& tensors() const { return tensors_; }
  std::vector<TensorDecl>& tensors() { return tensors_; }  // all but their number and their names may be changed
  const std::vector<Statement>& statements() const { return statements_; }
  std::vector<Statement>& statements() { return statements_; }
  const Dim& dim(DimId id) const { return dims_[id.index]; }
  const Var& var(VarId id) const { return vars_[id.index]; }
  const TensorDecl& tensor(TensorId id) const { return tensors_[id.index]; }
  const Expr& expr(ExprId id) const { return exprs_[id.index]; }
  size_t exprCount() const { return exprs_.size(); }
  size_t varCount() const { return vars_.size(); }
  int64_t size(VarId id) const { return dim(var(id).dim).size; }
  DimId findDim(std::string_view name) const;
  TensorId findTensor(std::string_view name) const;

  /// The variables that are free in an expression, in rising order of id. Found once when the expression is made.
  const std::vector<VarId>& freeVars(ExprId id) const { return free_[id.index]; }
  std::vector<int64_t> shape(TensorId id) const;

  /// Equal dimensions, tensors and statements; locations do not count.
  bool operator==(const Program& other) const;

 private:
  ExprId intern(Expr expr);

  std::vector<Dim> dims_;
  std::vector<Var> vars_;
  std::vector<TensorDecl> tensors_;
  std::vector<Statement> statements_;
  std::vector<Expr> exprs_;
  std::vector<std::vector<VarId>> free_;
  std::unordered_multimap<size_t, ExprId> interned_;
  std::map<std::pair<std::string, uint32_t>, VarId, std::less<>> varIds_;
  std::map<std::string, TensorId, std::less<>> tensorIds_;
};

/// One program; the diagnostic has line and column.
Result<Program> parseProgram(std::string_view text, std::string_view file = {});
std::string print(const Program& program);
std::string print(const Program& program, ExprId expr);
/// For messages: what lies deep inside is `...`.
std::string printBriefly(const Program& program, ExprId expr);
/// The statements alone; those that would be very long, briefly.
std::string printStatements(const Program& program);

}  // namespace tokamak::sparse
