#pragma once

#include "schedule/lowering.h"

namespace tokamak::schedule {

/// How far ahead a stream asks for its lines: far enough for memory to answer, near enough to stay in a core's cache.
constexpr int64_t kFetchAheadBytes = 4096;

/// Asks for the cache lines that the loads of a vector at `at` want `bytes` further on, for every stream of the region:
/// a load that moves one element a step of axis `along` and that no other axis repeats.
///
/// Worth it where much is computed an element: then too few loads are in flight to keep memory busy. Streams may be
/// asked for past their end. `near`: into the first cache.
void fetchAhead(Lowering& l, const AccessMap& accesses, const At& at, size_t along, int64_t bytes = kFetchAheadBytes,
                bool near = true);

/// Asks for the `lanes` elements from `first` on of the buffer that holds `value`.
void fetch(Lowering& l, ValueId value, ExprId first, int lanes, bool near = false);

}  // namespace tokamak::schedule
