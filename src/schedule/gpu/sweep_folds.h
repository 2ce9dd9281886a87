#pragma once

#include "schedule/gpu/join.h"
#include "schedule/phases.h"

namespace tokamak::schedule::gpu {

/// The folds of one sweep in one thread, pairs (see FoldPair) among them:
///   moments       sums of x - c and (x - c)^2, where c is the mean of the fold's first few elements: so few digits
///                 are lost when the square of the first is taken from the second
///   exponentials  the largest x so far, and the sum of exp(x - largest), made smaller whenever that grows
class SweepFolds {
 public:
  /// What c is, given x: a scalar, or a lane each where lanes fold columns of their own.
  using FirstOf = std::function<ExprId(ValueId x)>;

  /// Declares registers for vectors of `lanes` lanes. `staged`: found by pieces, of which `found` tells c as well.
  SweepFolds(Lowering& l, const Sweep& sweep, LaneCount lanes, const Dim& count, bool staged, const FirstOf& firstOf);

  /// For `bind` alone, of a sweep that was staged.
  SweepFolds(Lowering& l, const Sweep& sweep, const Dim& count);

  /// A vector that the folds take in: lanes where `counts` (absent: everywhere) holds.
  struct Taken {
    At at;
    Index position;
    ExprId counts;
  };
  /// Loads what the folds take of them later, in this scope.
  void load(const std::vector<Taken>& vectors);
  /// All vectors' values first, so that their loads are in flight together.
  void take(const std::vector<Taken>& vectors);

  /// What this thread found: a lane each, or of all lanes.
  std::vector<Found> found(bool lanewise);
  /// Binds the folds for readers, given what all threads found (of all pieces, if staged).
  void bind(const std::vector<Found>& joined);

 private:
  struct Plain {
    ValueId fold;
    std::optional<FoldState> state;
  };
  struct Pair {
    FoldPair pair;
    DType type;
    kernel::VarId first, second;
    ExprId shift;  // of moments
  };
  void takePlain(Plain& p, const std::vector<Taken>& vectors);
  void takeMoments(Pair& p, const std::vector<Taken>& vectors);
  void takeExponentials(Pair& p, const std::vector<Taken>& vectors);
  void bindMoments(const Pair& p, ExprId shift, ExprId sum, ExprId squares);
  void bindExponentials(const Pair& p, const Found& found);
  ExprId valueOf(ValueId v, DType type, const At& at);
  ExprId counted(ExprId x, const Taken& t);
  ExprId sumOf(std::vector<ExprId> terms);

  Lowering& l_;
  Writer& w_;
  LaneCount lanes_;
  Dim count_;
  bool staged_;
  bool addsByTree_ = false;  // vectors that come together: no half is read, whose digits a sum in order keeps too
  std::vector<Plain> plain_;
  std::vector<Pair> pairs_;
};

/// Whether nothing that a region reads or stores is a half, so that sums are to be as exact as f32 can say.
bool hasNoHalves(const Lowering& l);

/// Types of what `found` gives for a sweep that is staged, in order.
struct FoundType {
  ReduceKind kind;
  DType type;
  bool where = false, sum = false;
};
std::vector<FoundType> stagedTypes(const Graph& graph, const Sweep& sweep);

}  // namespace tokamak::schedule::gpu
