#pragma once

#include <set>

#include "sparse/table/loops.h"

namespace tokamak::sparse {

/// The work on one variable of one loop nest: which operands have a level there, which coordinates are visited, and
/// where each operand stands at them.
class TableBuilder::LevelJoin {
 public:
  LevelJoin(TableBuilder& builder, VarId var, const Scope& scope)
      : b_(builder), program_(builder.program_), var_(var), scope_(scope), known_(program_.exprCount()) {}

  Result<> run(const std::vector<ExprId>& roots, const Demand& demand, Scope& out);

 private:
  /// An operand with a level at the variable.
  struct Participant {
    ExprId leaf;
    bool dense = false;           // a dense level: every coordinate is there, and nothing needs to be joined
    Port crd, payload;            // of the others
    bool computed = false;        // a fold, its payload values
    std::vector<LoopLevel> rest;  // further levels of a fold
  };
  /// A payload along coordinates. `complete`: it is there wherever the operand has the coordinate; in a * b + c, where
  /// the factors were met first, a is not there without b, which does no harm as long as nothing else uses a. `covers`:
  /// the coordinates are at least all of the operand's.
  struct Aligned {
    Port payload;
    bool absent = false, complete = true, covers = true;
  };
  /// Coordinates with the payloads that run along them, by participant.
  struct Joined {
    Port crd;
    std::map<size_t, Aligned> payloads;
    Port carrier;  // some payload that runs along the coordinates
  };

  Result<Patterns::Id> pattern(ExprId id);
  Result<Patterns::Id> patternNew(ExprId id);
  Result<Patterns::Id> ofAccess(ExprId id);
  Result<Patterns::Id> ofApply(const Expr& e);
  Result<Patterns::Id> ofReduce(ExprId id);
  Result<Patterns::Id> visited(const std::vector<ExprId>& roots, const Demand& demand);
  bool isLater(const std::vector<VarId>& vars) const;

  void findShared(const std::vector<ExprId>& roots);
  void forgetIncomplete(Joined& joined) const;
  Joined realize(Patterns::Id id);
  Joined merged(const Patterns::Node& node);
  void streamsOf(Patterns::Id id, std::vector<Patterns::Id>& out) const;
  Patterns::Id eachStreamOnce(Patterns::Id id);
  Joined allCoordinates();
  void alignDense(Joined& joined, bool all);
  Result<> alignSparse(Joined& joined, bool all);
  Diagnostic severalLevels(ExprId leaf) const;
  Result<> keep(const Joined& joined, Scope& out);
  void place(size_t participant, std::string rule) { b_.place(var_, parts_[participant].leaf, std::move(rule)); }
  const std::string& name() const { return program_.var(var_).name; }

  TableBuilder& b_;
  const Program& program_;
  VarId var_;
  const Scope& scope_;
  Patterns patterns_;
  std::vector<Participant> parts_;
  std::vector<std::optional<Patterns::Id>> known_;  // by expression
  std::set<ExprId> shared_;                         // leaves that are used in several places
};

}  // namespace tokamak::sparse
