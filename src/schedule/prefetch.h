#pragma once

#include "schedule/lowering.h"

namespace tokamak::schedule {

/// How far ahead a stream asks for its lines: far enough for memory to answer, near enough to stay in a core's cache.
constexpr int64_t kFetchAheadBytes = 4096;
/// A processor that follows streams by itself wants to be told early where one goes on, and brings the lines after that
/// one.
constexpr int64_t kFarAheadBytes = 16384, kLinesBroughtAlong = 4;

/// Asks for the cache lines that the loads of a vector at `at` want `bytes` further on, for every stream of the region:
/// a load that moves one element a step of axis `along` and that no other axis repeats.
///
/// Worth it where much is computed an element: then too few loads are in flight to keep memory busy. Streams may be
/// asked for past their end. `near`: into the first cache. `every`: one line of so many.
void fetchAhead(Lowering& l, const AccessMap& accesses, const At& at, size_t along, int64_t bytes = kFetchAheadBytes,
                bool near = true, int64_t every = 1);

/// Asks for what the region's index_selects read at `ahead`, a place with the lanes of the vector at hand in a row that
/// comes later. The rows of a table lie anywhere, so that nothing but the program knows where the next one is.
void fetchPicked(Lowering& l, const At& ahead);
/// How many rows (of `row` elements) ahead: some 16 KiB, for the second cache. 0 if no table is too large for that.
int64_t rowsAheadOf(const Graph& graph, const Region& region, double row, const DimBindings& hints,
                    const Device& device);

/// Asks for the `lanes` elements from `first` on of the buffer that holds `value`.
void fetch(Lowering& l, ValueId value, ExprId first, int lanes, bool near = false, int64_t every = 1);

}  // namespace tokamak::schedule
