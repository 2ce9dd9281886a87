#pragma once

#include "sparse/stream/run/data.h"

namespace tokamak::sim {

/// A random stream graph with data: a loop nest over a few tensors (scans, n-ary joins, locates, repeats), arithmetic
/// on their values, then reductions, accumulators, values repeated back down, lanes, dropped fibers. The same seed
/// gives the same program. `extent`: values are square blocks of that many rows, all elements of one the same.
struct RandomProgram {
  stream::Graph graph;
  stream::Storages data;
};
RandomProgram randomProgram(uint64_t seed, int64_t extent = 1);

}  // namespace tokamak::sim
