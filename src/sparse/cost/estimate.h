#pragma once

#include <map>
#include <string>

#include "sparse/format/tensor.h"
#include "sparse/table/table.h"

namespace tokamak::sparse {

/// How full each level of a tensor is: children a position, on average, outermost level first.
struct LevelStatistics {
  std::vector<double> fanout;
};

/// From a stored tensor, counted.
LevelStatistics statisticsOf(const Tensor& tensor);
/// From sizes and a share of stored entries, spread evenly.
LevelStatistics assumedStatistics(const Format& format, const std::vector<int64_t>& sizes, double density);

/// What a table is expected to cost. Coordinates are taken as spread evenly, so it is an estimate, exact where a single
/// operand is walked.
struct Estimate {
  double operations = 0;        // arithmetic on values
  double tokens = 0;            // through all streams
  double cycles = 0;            // of the busiest block: what a fully pipelined graph takes
  double cyclesWithMemory = 0;  // likewise with the memory of `comal-hbm`; 0: not estimated
  double bytesRead = 0, bytesWritten = 0;
  double workspace = 0;  // entries of the largest accumulator

  Estimate& operator+=(const Estimate& other);  // one after another
};

/// The number of elements in a stream and of innermost fibers they stand in.
struct StreamEstimate {
  double elements = 0, fibers = 0;
};

/// `statistics` by the table's names for its tensors.
Estimate estimate(const Table& table, const std::map<std::string, LevelStatistics>& statistics,
                  std::vector<std::vector<StreamEstimate>>* streams = nullptr);

}  // namespace tokamak::sparse
