#pragma once

#include <functional>

#include "schedule/fold_state.h"

namespace tokamak::schedule::gpu {

/// What a thread found of one fold, a scalar or a lane each; `position` (i64) of arg kinds, INT32_MAX, INT64_MAX or
/// negative where it saw no element.
///
/// `sum`, where set, goes with a largest `value`: the sum of exp(x - value) over what was seen.
struct Found {
  ReduceKind kind;
  ExprId value, position, sum;
};

/// A sum of exp(x - from) as one of exp(x - to). Where both are infinite alike it stays as it is.
ExprId rescaled(Writer& w, ExprId sum, ExprId from, ExprId to);
/// All lanes' results as one (of no arg kind).
Found overLanes(Writer& w, const Found& found);

/// How the threads of a block stand to rows: `threads` neighbours take one. A power of two up to 32, or a multiple.
///
/// Or all threads of every block of a cluster take one, the block `rank` its part.
struct RowThreads {
  ExprId thread;  // in the block
  int threads = 32, rows = 1;
  int cluster = 1;
  ExprId rank;
  ExprId turn;  // 0 and 1 by turns where rows follow one another: what is left for one is still read during the next
  bool exact = false;  // sums of f32 are joined in f64
};

/// Joins what the threads of each row found; every one of them gets the result. Rows of more than a warp meet at one
/// barrier, for all of `found` together; those of a cluster at one more.
std::vector<Found> joinThreads(Writer& w, const RowThreads& row, const std::vector<Found>& found);

/// How the threads of a block stand to columns: `across` of them side by side, `down` rows of such.
struct DownThreads {
  ExprId x, y;
  int across = 32, down = 8;
  bool exact = false;  // sums of f32 are joined in f64

  ExprId index(Writer& w) const;  // of a thread in its block
};

/// Joins, lane by lane, what the threads of each column found; every one of them gets the result. `down` is a power of
/// two. They meet at a barrier, and at one more each time that eight rows of results have become one.
std::vector<Found> joinDown(Writer& w, const DownThreads& threads, const std::vector<Found>& found);

/// Joins what the threads of each column found in the `blocks` blocks of a cluster, each of which folded rows of its
/// own; `rank` is this block's. Calls `body` in a thread of the first block for each column of the strip. The blocks
/// meet at one barrier. There are no fewer threads down than lanes.
void joinCluster(Writer& w, const DownThreads& threads, int blocks, ExprId rank, const std::vector<Found>& found,
                 const std::function<void(ExprId column, const std::vector<Found>&)>& body);

/// Joins what threads found that stand before several rows of `columns` columns side by side. Calls `body` in a thread
/// for each column, with what was found there in all of them.
void joinSideBySide(Writer& w, const DownThreads& threads, int columns, const std::vector<Found>& found,
                    const std::function<void(ExprId column, const std::vector<Found>&)>& body);

/// Where stage one of a fold in two stages leaves what it found in pieces of a row.
struct PartialBuffers {
  BufferId value, where, sum;  // the last two where there is such
};

/// Stores what was found in one piece, and loads it again: `lanes` of it from `at` on.
void storePiece(Writer& w, const PartialBuffers& to, ExprId at, const Found& found, ExprId mask = {});
Found loadPiece(Writer& w, const PartialBuffers& from, ReduceKind kind, ExprId at, int lanes, ExprId mask = {});

/// Takes in such results, one a lane.
class PieceFold {
 public:
  PieceFold(Writer& w, ReduceKind kind, const PartialBuffers& from, int lanes);
  void take(const Found& found);
  Found found() const;

 private:
  Writer& w_;
  ReduceKind kind_;
  kernel::VarId value_, where_, sum_;
};

}  // namespace tokamak::schedule::gpu
