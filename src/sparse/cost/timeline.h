#pragma once

#include "sparse/cost/flow.h"
#include "sparse/table/table.h"

namespace tokamak::sparse {

/// What one block does in a run.
struct BlockWork {
  double steps = 0;    // cycles in which it does something
  double flushes = 0;  // of a fold: how often it lets go of what it has gathered; 0: each token goes on at once
  const FiberSizes* sizes = nullptr;  // of the fibers that it reads from memory
  double fibersRead = 0, coordinatesRead = 0, valuesRead = 0, coordinatesWritten = 0, valuesWritten = 0;
};

/// When the first and the last token leave each block, with streams of any length: a block starts when all its operands
/// have, takes its steps, and ends behind the last of its operands. A fold's first result waits for its first fiber.
class Timeline {
 public:
  void add(const Cell& cell, const BlockWork& work);
  double cycles() const { return last_; }
  double cyclesWithMemory() const { return std::max(lastWithMemory_, requests_ * kServe / kChannels); }

 private:
  struct Span {
    double first = 0, last = 0;
  };
  static Span span(const Cell& cell, const std::vector<Span>& known, double steps, double flushes);

  static constexpr double kBatch = 8, kLatency = 19, kServe = 2, kChannels = 8;  // of comal-hbm
  std::vector<Span> plain_, withMemory_;                                         // by cell
  double last_ = 0, lastWithMemory_ = 0, requests_ = 0;
};

}  // namespace tokamak::sparse
