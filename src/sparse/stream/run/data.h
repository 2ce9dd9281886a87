#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sparse/stream/graph.h"

namespace tokamak::stream {

/// One level of a tensor's data. compressed: children of p are crd[pos[p]] .. crd[pos[p+1]-1]; singleton: crd[p].
struct LevelView {
  LevelFormat format = LevelFormat::dense;
  int64_t size = 0;
  std::span<const int64_t> pos;
  std::span<const int32_t> crd;
};

/// Someone else's tensor, levels outermost first; a value (or a block of values, row by row) for each position of the
/// last.
struct TensorView {
  std::vector<LevelView> levels;
  std::span<const double> values;
};

/// A tensor's data owned: what a graph writes, or what a file held. Every level has `size`; `pos` and `crd` as above.
struct LevelStorage {
  LevelFormat format = LevelFormat::compressed;
  int64_t size = 0;
  std::vector<int64_t> pos;
  std::vector<int32_t> crd;
  bool operator==(const LevelStorage&) const = default;
};
struct TensorStorage {
  std::vector<LevelStorage> levels;
  std::vector<int64_t> block;  // as in Tensor
  std::vector<double> values;
  bool operator==(const TensorStorage&) const = default;

  TensorView view() const;
  int64_t bytes() const;
};

using Inputs = std::map<std::string, TensorView>;
using Storages = std::map<std::string, TensorStorage>;

Inputs viewsOf(const Storages& storages);

/// Row-major values of a tensor with its levels' sizes as extents; a blocked tensor's blocks are laid in place. Absent
/// entries are zero.
std::vector<double> toDense(const TensorStorage& tensor);

/// Fills in sizes that the graph leaves to the data, and checks that every tensor it reads is there, with the declared
/// formats, positions that rise within bounds and coordinates within sizes. T0952 and T0953 name tensor, level and
/// place.
Result<> bindSizes(Graph& graph, const Inputs& inputs);

}  // namespace tokamak::stream
