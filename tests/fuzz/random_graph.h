#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "support/array.h"

namespace tokamak::fuzz {

/// What random graphs are made of. Everything is on by default.
struct RandomGraphOptions {
  int minOps = 3, maxOps = 30;
  int64_t maxElements = 1024;  // of one tensor, while symbols are about 7
  bool symbols = true;         // extents such as M, 2*M, M*N
  bool empty = true;           // now and then an extent of 0
  bool wild = true;            // now and then an op outside its domain (log of a negative), so NaN and inf arise
  bool folds = true;           // reduce, scan
  bool shapes = true;          // reshape, transpose, slice, pad, concat, flip, broadcast
  bool indexing = true;        // gather, index_select, scatter
  bool random = true;          // random, dropout
  bool windows = true;         // pools, resize
  bool products = true;        // matmul, conv, attention
  bool composites = true;      // softmax, norms, activations, cross-entropy
  std::vector<DType> dtypes = {DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                               DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64};
};

/// A well-typed graph with one to six outputs and no dead nodes, the same for the same seed and options. It is valid
/// for every value of its symbols from 1 on: indices are in range, folds have elements.
Graph randomGraph(uint64_t seed, const RandomGraphOptions& options = {});

/// Values for the graph's symbols, from 1 to 17.
DimBindings randomDims(const Graph& graph, uint64_t seed);

/// Arrays for the graph's inputs: mostly small multiples of 1/8 and small integers, so that ties and exact results
/// occur. Every eighth seed sprinkles NaN, infinities and signed zeros over float inputs, and extremes over integer
/// ones.
std::vector<Array> randomInputs(const Graph& graph, uint64_t seed, const DimBindings& dims);

}  // namespace tokamak::fuzz
