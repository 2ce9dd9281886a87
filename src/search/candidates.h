#pragma once

#include "sparse/schedule/schedule.h"

namespace tokamak::search {

/// Sets of statements that may run as one region, as bits: connected by what they read from each other or by a sparse
/// input that they share, and such that nothing outside lies between two of them. Small sets first; at most `most`.
std::vector<uint64_t> candidateRegions(const sparse::Program& program, size_t most);

/// Bits of the statements whose results each statement reads.
std::vector<uint64_t> readMasks(const sparse::Program& program);

}  // namespace tokamak::search
