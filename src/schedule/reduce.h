#pragma once

#include "schedule/lowering.h"

namespace tokamak::schedule {

/// Folds over some axes of the domain with any pointwise work before, between and after: sums, norms, softmax, argmax,
/// ... Three forms, by where the last axis lies and how much there is to share out:
///   row     the last axis is folded: a parallel iteration takes a row through all sweeps, vectors run along it
///   column  the last axis is kept: a parallel iteration takes a strip of columns, vectors run across them
///   split   few rows, long folds: stage one folds pieces in parallel, stage two folds the pieces' results; the pieces
///   do not
///           depend on the number of threads, so neither does the result
struct FoldAxes {
  static constexpr std::string_view name = "reduce";
  enum class Form : uint8_t { row, column, split };
  /// Whether a fold of one sweep asks for lines that it will read, and into which cache; `far`: into the second, early
  /// and for one line of a few.
  enum class Fetch : uint8_t { no, first, second, far };
  struct Plan {
    Form form = Form::row;
    int lanes = 16;  // of one machine vector
    int64_t grain = 1;
    int64_t piece = 0;  // split: elements (row-like) or rows (column-like) of a piece
    bool keep = true;   // dear values are kept between sweeps
    Fetch fetch = Fetch::no;
    int64_t aheadBytes = 0;
    Streaming streaming = Streaming::no;
    double streamBytes = 0;
    std::string str() const;
  };

  Decision accepts(const Graph& graph, const Region& region) const;
  Plan plan(const Graph& graph, const Region& region, const DimBindings& hints, const Device& device) const;
  Scheduled lower(const Graph& graph, const Region& region, const Plan& plan, const std::string& kernelName) const;
};

}  // namespace tokamak::schedule
