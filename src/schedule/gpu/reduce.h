#pragma once

#include "schedule/gpu/grid.h"
#include "schedule/gpu/join.h"
#include "schedule/gpu/pointwise.h"
#include "schedule/reduce_lowering.h"

namespace tokamak::schedule::gpu {

/// Folds over some axes of the domain with any pointwise work before, between and after. In rows, the last axis being
/// folded:
///   registers  some threads of a block take a row; each holds a few vectors of it, as they lie in memory, from the
///              first sweep to the last. Of long rows the threads of a whole cluster of blocks do, who join what they
///              found in each other's memory
///   sweeps     the same for rows too long to be held: every sweep reads the row again, from the caches
/// In columns, the last axis being kept: a thread takes a vector of neighbouring columns and every n-th row of them,
/// and stores what it can on the way; the blocks of a cluster may share out the rows of the same columns. Where there
/// are too few rows or columns to fill the machine even so, a fold goes in two launches, pieces and then what was found
/// in them; further sweeps are launches of their own. Folds across
/// (fusion/join_regions.h) are carried by blocks that go from row to row, and finished in a second launch.
///
/// Threads join what they found by warp folds and, where a row has several warps, once through shared memory: every
/// thread sums the warps' results itself, so that one barrier does.
///
/// Vectors lie where memory has its 16-byte borders. Where rows begin elsewhere (odd lengths, lengths not known) the
/// first and the last vector of a row reach into its neighbours and are masked.
struct FoldAxes {
  static constexpr std::string_view name = "reduce";
  enum class Form : uint8_t { registers, sweeps, columns };
  struct Plan {
    Form form = Form::registers;
    int threads = 128;        // of a row; side by side
    int rows = 1;             // of a block
    int cluster = 1;          // blocks that take a row, or the rows of some columns, together
    int batch = 1;            // times as many of a block, held together, where nothing but folds is wanted
    int lanes = 4;            // of a vector
    int vectors = 4;          // a thread holds, or has in flight
    bool straddles = false;   // vectors reach into neighbouring rows
    bool keep = false;        // dear values are kept between sweeps
    int ahead = 0;            // vectors of the next row, or rows of the next round, that are loaded before this one's
                              // are all taken
    int resident = 0;         // blocks of a multiprocessor; 0: as it comes
    int together = 1;         // rows that columns see as one, so that vectors lie at the borders of memory
    bool whole = false;       // such rows go whole, and what was found in them is joined before it is stored
    int64_t piece = 0;        // elements of a fold in one of its pieces, if it goes in two launches
    bool apart = false;       // every sweep goes by itself
    int blocks = 0;           // that go from row to row and carry folds across; 0: a block takes its rows once
    std::vector<Plan> parts;  // of the second launch; of each sweep that folds
    std::optional<Pointwise::Plan> last;  // apart: of the sweep that stores
    std::string str() const;
  };

  Decision accepts(const Graph& graph, const Region& region) const;
  Plan plan(const Graph& graph, const Region& region, const DimBindings& hints, const Device& device) const;
  Scheduled lower(const Graph& graph, const Region& region, const Plan& plan, const std::string& kernelName,
                  std::shared_ptr<RegionMemory> memory = std::make_shared<RegionMemory>()) const;
};

/// Inputs in memory that more than one sweep reads.
std::vector<ValueId> readAgain(const Lowering& l, const Phases& phases);

void lowerRows(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan);
/// The rows of a region with folds across, and what was carried for them: piece by piece, as lowerColumnFinish wants
/// it.
void lowerRowsAcross(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan,
                     const std::vector<PartialBuffers>& partial);
void lowerColumns(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan);

/// Pieces that a fold goes in, and elements of each but the last.
struct Pieces {
  Dim count;
  int64_t size = 0;
};

/// A region of one sweep that stores nothing at full level, in two launches: `pieces` pieces of every fold, and what
/// was found in them.
void lowerRowPieces(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan, const Pieces& pieces,
                    const std::vector<PartialBuffers>& partial);
void lowerRowFinish(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan, const Pieces& pieces,
                    const std::vector<PartialBuffers>& partial);
void lowerColumnPieces(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan, const Pieces& pieces,
                       const std::vector<PartialBuffers>& partial);
void lowerColumnFinish(Lowering& l, const FoldDomain& domain, const FoldAxes::Plan& plan, const Pieces& pieces,
                       const std::vector<PartialBuffers>& partial);

}  // namespace tokamak::schedule::gpu
