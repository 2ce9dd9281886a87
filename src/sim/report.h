#pragma once

#include "sparse/stream/run/data.h"
#include "sparse/stream/run/recorder.h"

namespace tokamak::sim {

/// What a node did with its cycles. Waits are counted where the profile knows their cause.
struct NodeReport {
  stream::NodeId node;
  uint64_t cycles = 0;                          // its clock at the end
  uint64_t busy = 0;                            // cycles in which it did something
  uint64_t operations = 0;                      // numbers that an alu, reduce or spacc computed or folded
  std::vector<uint64_t> waitInput, waitOutput;  // for tokens of each input, for room in each output
  uint64_t waitMemory = 0, waitCompute = 0;     // for an answer, for a free compute unit
  uint64_t workspace = 0;                       // entries of an accumulator at its fullest
  std::vector<uint64_t> timeline;               // busy cycles of each stretch; where the run was watched
  std::vector<stream::Slice> slices;            // of the window that was asked for
};

struct StreamReport {
  stream::StreamId stream;
  uint64_t tokens = 0;
  uint64_t peak = 0;  // tokens that it held at once; of the comal profiles where the run was watched
};

/// Positions, coordinates and values of a tensor that went over the wires. `hw`: whole bursts; the others: four bytes
/// for each that a scan, an array or a write touched, whether it was touched before or not.
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
  uint64_t stretch = 0;      // cycles of each stretch of the timelines; 0 where there are none
  std::vector<NodeReport> nodes;
  std::vector<StreamReport> streams;
  std::vector<TensorReport> tensors;
  MemoryReport memory;
  stream::Storages outputs;

  uint64_t operations() const {
    uint64_t sum = 0;
    for (const NodeReport& node : nodes) sum += node.operations;
    return sum;
  }
  uint64_t bytesRead() const {
    uint64_t sum = 0;
    for (const TensorReport& tensor : tensors) sum += tensor.bytesRead;
    return sum;
  }
  uint64_t bytesWritten() const {
    uint64_t sum = 0;
    for (const TensorReport& tensor : tensors) sum += tensor.bytesWritten;
    return sum;
  }
};

}  // namespace tokamak::sim
