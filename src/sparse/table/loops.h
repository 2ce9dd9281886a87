#pragma once

#include <deque>
#include <tuple>
#include <unordered_map>

#include "sparse/table/build.h"
#include "sparse/table/emit.h"
#include "sparse/table/pattern.h"

namespace tokamak::sparse {

/// One level of a computed operand: a variable and the stream of its coordinates.
struct LoopLevel {
  VarId var;
  Port crd;
  bool all = false;  // every coordinate was visited on the way: best stored dense
  bool operator==(const LoopLevel&) const = default;
};

/// A computed operand below a scope: levels outermost first, and values at the last. `number` is set where the value is
/// the same number everywhere; then there is no stream of values.
struct Bundle {
  std::vector<LoopLevel> levels;
  Port val;
  std::optional<double> number;
  bool operator==(const Bundle&) const = default;
};

/// Where an access stands: the stream of its positions, below its first `levels` levels. `absent`: it may be without a
/// position at some elements.
struct Walk {
  Port ref;
  bool absent = false;
  size_t levels = 0;
  bool operator==(const Walk&) const = default;
};

/// One loop: a variable with the stream of coordinates that it visits, inside the loops of `parent`.
struct Scope {
  const Scope* parent = nullptr;
  VarId var;
  int depth = 0;
  Port crd;
  bool all = false;                            // every coordinate is visited
  std::unordered_map<ExprId, Walk> walks;      // accesses that have a level at this variable
  std::unordered_map<ExprId, Bundle> results;  // folds that were computed before, with the levels that are left

  bool binds(VarId v) const {
    for (const Scope* s = this; s->parent; s = s->parent)
      if (s->var == v) return true;
    return false;
  }
};

/// What a loop nest must visit besides what its value needs.
struct Demand {
  std::vector<ExprId> patterns;  // accesses whose stored entries alone are visited
  Fold fold = Fold::sum;         // max and min see every element: absent ones count
  std::vector<VarId> folded;
};

/// Builds the table: loops, values, folds.
class TableBuilder {
 public:
  TableBuilder(const Region& region, const TableOptions& options, Table& table);
  Result<> run();

 private:
  class LevelJoin;  // the work on one variable of one loop nest

  Result<> statement(const Statement& statement);
  void dropEmptyFibers(const Statement& statement, const Bundle& bundle, std::vector<Port>& crds, Port& val);
  bool isNeverEmpty(Port crd) const;
  Result<Bundle> iterate(const std::vector<ExprId>& roots, const std::vector<VarId>& vars, const Scope& scope,
                         const Demand& demand);
  int lanesOf(const Scope& scope);
  Result<> checkLanes() const;
  Result<Bundle> inLanes(const std::vector<ExprId>& roots, const std::vector<VarId>& vars, const Scope& scope,
                         const Demand& demand, int lanes);
  Result<const Scope*> enter(const std::vector<ExprId>& roots, VarId var, const Scope& scope, const Demand& demand);
  Result<Bundle> fold(ExprId id, const Scope& scope);
  Bundle foldOut(Bundle bundle, const Expr& e);

  /// The value of an expression all of whose variables are bound.
  Result<Bundle> valueAt(ExprId id, const Scope& scope);
  Result<Bundle> computeAt(ExprId id, const Scope& scope);
  Result<Bundle> applied(ExprId id, const Scope& scope);
  Result<Bundle> selected(const std::vector<Bundle>& args, const Scope& scope);
  Port streamOf(const Bundle& value, const Scope& scope);
  Port numberStream(double number, const Scope& scope, const std::vector<ExprId>& roots = {});

  Walk walkAt(ExprId access, const Scope& scope);
  Diagnostic playedAgain(ExprId id, VarId var) const;
  bool isFree(VarId v, ExprId id) const;
  bool hasAllBound(ExprId id, const Scope& scope) const;
  std::vector<VarId> sorted(std::vector<VarId> vars, const Scope& scope) const;
  int rank(VarId v) const { return ranks_[v.index]; }

  /// The tensor of an access as the table knows it.
  const std::string& tensorOf(ExprId access);
  std::string onesOf(const std::string& tensor);
  std::string rangeOf(DimId dim);
  std::vector<VarId> levelVars(ExprId access);
  const Format& formatOf(ExprId access);
  int columnOf(ExprId id);
  void place(VarId row, ExprId column, std::string rule);
  void placeValue(ExprId column, std::string rule);
  Scope& newScope() { return scopes_.emplace_back(); }
  const Scope* shared(Scope& scope);

  const Region& region_;
  const Program& program_;
  const TableOptions& options_;
  Table& table_;
  Emitter emit_;
  std::vector<int> ranks_;  // by variable: its row
  std::deque<Scope> scopes_;
  std::map<std::tuple<const Scope*, VarId, Port>, std::vector<Scope*>> entered_;  // scopes by parent and coordinates
  std::map<std::pair<ExprId, const Scope*>, Bundle> values_, folds_;
  std::map<ExprId, std::string> tensorNames_;
  std::map<ExprId, Format> formats_;
  std::map<ExprId, int> columns_;
  std::set<VarId> inLanes_;  // variables some loop of which has lanes
  int statementColumn_ = 0;
};

}  // namespace tokamak::sparse
