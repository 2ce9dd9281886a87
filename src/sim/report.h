#pragma once

#include "sparse/stream/run/data.h"

namespace tokamak::sim {

/// What a node did with its cycles. Waits are counted where the profile knows their cause.
struct NodeReport {
  stream::NodeId node;
  uint64_t cycles = 0;                          // its clock at the end
  uint64_t busy = 0;                            // cycles in which it did something
  uint64_t operations = 0;                      // numbers computed or folded
  std::vector<uint64_t> waitInput, waitOutput;  // for tokens of each input, for room in each output
  uint64_t waitMemory = 0, waitCompute = 0;     // for an answer, for a free compute unit
  uint64_t workspace = 0;                       // entries of an accumulator at its fullest
};

struct StreamReport {
  stream::StreamId stream;
  uint64_t tokens = 0;
  uint64_t peak = 0;  // tokens that it held at once
};

struct TensorReport {
  std::string tensor;
  uint64_t bytesRead = 0, bytesWritten = 0;
};

/// Of the memory of `hw`.
struct MemoryReport {
  uint64_t bursts = 0, rowHits = 0, rowMisses = 0;
  uint64_t bankConflictCycles = 0, spilledAccesses = 0;
  double bandwidthUsed = 0;  // of what the channels could carry
};

struct Report {
  uint64_t cycles = 0;  // the largest final clock of any node
  uint64_t tokens = 0;  // put into streams; a broadcast counts once for each reader, a repeat its signals too
  double seconds = 0;
  uint64_t bufferBytes = 0;  // of all channels, at their largest
  std::vector<NodeReport> nodes;
  std::vector<StreamReport> streams;
  std::vector<TensorReport> tensors;
  MemoryReport memory;
  stream::Storages outputs;
};

}  // namespace tokamak::sim
