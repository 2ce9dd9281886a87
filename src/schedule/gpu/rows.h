#pragma once

#include "schedule/gpu/join.h"
#include "schedule/gpu/reduce.h"
#include "schedule/gpu/sweep_folds.h"

namespace tokamak::schedule::gpu {

/// One thread's part of the rows of a region. rows.cpp takes a row through its sweeps, rows_batch.cpp
/// several at once, row_pieces.cpp cuts rows into pieces, rows_across.cpp goes from row to row and carries folds of the
/// columns along.
class Rows {
 public:
  Rows(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan, const Phases& phases);

  /// The row or rows of block b, through all sweeps.
  void run(ExprId b, ExprId t);
  /// The rows of block b, `plan.batch` times as many, of a region of one sweep that stores nothing at full level: the
  /// loads of all of them are in flight together, and threads join once.
  static void runBatch(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan, const Phases& phases,
                       ExprId b, ExprId t);
  /// Stage one of two: folds a piece of a row and stores what was found in it.
  void runPiece(ExprId b, ExprId t, const Pieces& pieces, const std::vector<PartialBuffers>& partial);
  /// Stage two: folds what was found in the pieces of a row.
  void runPieces(ExprId b, ExprId t, const Pieces& pieces, const std::vector<PartialBuffers>& partial);
  /// Every row whose turn is with block b of `plan.blocks`; leaves in piece b (a row of the block each) what was
  /// carried for the columns.
  void runAcross(ExprId b, ExprId t, const std::vector<PartialBuffers>& partial);

 private:
  struct Chunk {
    At at;
    Index position;   // of its first lane in the row, from the border of memory on where vectors straddle
    size_t held = 0;  // which of the thread's vectors it is
  };

  ReduceKind kindOf(ValueId fold) const { return std::get<Reduce>(l_.graph.node(fold).op).kind; }
  int64_t stride() const {
    return int64_t{plan_.cluster} * plan_.threads * plan_.lanes;
  }  // elements of a row that its threads take

  void placeThread(ExprId t, ExprId rank = {});
  void placeRow(ExprId first);
  void holdLoads();
  void fetchNext();
  void beginAhead(ExprId first);
  void loadAhead(ExprId first);
  Chunk chunk(ExprId from, bool low, bool high);
  At keptPlace();

  void sweepAll(const std::function<void()>& afterFirst = {});
  SweepFolds begin(const Sweep& sweep, bool staged = false);
  void overHeld(const Sweep& sweep, SweepFolds& folds);
  /// Elements [begin, begin + size) of the row, counted from its start or the border before it, or all of them: whole
  /// rounds of `vectors` vectors a thread first, then vector by vector.
  void overLoops(const Sweep& sweep, SweepFolds& folds, ExprId begin = {}, int64_t size = 0);
  void take(const Sweep& sweep, SweepFolds& folds, const std::vector<Chunk*>& chunks);
  void store(const Sweep& sweep, const std::vector<Chunk*>& chunks);
  void carry(const Sweep& sweep, const Chunk& chunk);
  std::vector<Found> join(SweepFolds& folds, bool exact = false);
  /// With positions counted from the row's start.
  std::vector<Found> fromRowStart(std::vector<Found> found) const;
  void finish(const Sweep& sweep, SweepFolds& folds, const std::vector<Found>& found);
  void storeOnce();

  Lowering& l_;
  Writer& w_;
  const FoldDomain& domain_;
  const FoldAxes::Plan& plan_;
  const Phases& phases_;
  std::vector<Index> index_;
  Dim rows_ = 1;
  bool wholeBlocks_ = true;    // no block reaches past the last row
  bool rowsFirst_ = true;      // a row lies in one piece
  bool wholeVectors_ = false;  // a vector that holds some of a row holds nothing beyond the last one
  ExprId thread_, lane_, rank_, slot_, row_, rowHere_, own_, start_, border_, shift_;
  std::vector<Chunk> chunks_;
  kernel::VarId turn_;
  std::vector<std::pair<ValueId, std::vector<kernel::VarId>>> ahead_;  // inputs, and the next row's vectors of them
  std::vector<std::vector<kernel::VarId>> carried_;                    // a fold across each, a vector each
  std::unordered_map<uint32_t, std::vector<std::pair<std::vector<Index>, ExprId>>> kept_;
};

/// Inputs in halves of which an element is read where it is at, and loaded when it is.
std::vector<ValueId> plainHalves(const Lowering& l);
/// Those of them that only the first sweep of a row reads: registers that are free from then on may take those of the
/// next row.
std::vector<ValueId> loadedAhead(const Lowering& l, const Phases& phases);

Dim rowsOf(const FoldDomain& domain);
/// How far index arithmetic goes beyond the buffers.
Dim rowSlack(const FoldDomain& domain, const FoldAxes::Plan& plan);

}  // namespace tokamak::schedule::gpu
