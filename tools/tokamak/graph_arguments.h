#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "support/array.h"

namespace tokamak::tool {

/// Parses and verifies a graph file; `-` is stdin.
Result<Graph> loadGraph(const std::string& path);

/// `M=128,N=64` in any number of pieces. T0804 on anything else.
Result<DimBindings> parseDims(const std::vector<std::string>& pieces);

/// The same for a graph, which must have these dimensions.
Result<DimBindings> dimsOf(const Graph& graph, const std::vector<std::string>& pieces);

/// Adds the planner's guess of 1024 for every symbol that has no size.
void assumeSizes(const Graph& graph, DimBindings& dims);

/// Where the arrays of a graph's inputs come from.
struct InputOptions {
  std::vector<std::string> files;  // NAME=FILE.npy
  std::optional<uint64_t> seed;    // random values for the others
  std::vector<std::string> dims;

  /// Adds --input, --random and --dims.
  void addTo(CLI::App& app);
};

struct Inputs {
  std::vector<Array> arrays;  // in the order of the graph's inputs
  DimBindings dims;           // of all symbols
};

/// Reads or makes an array for every input. Sizes come from --dims and from the files; a size that neither gives, an
/// input that has neither file nor --random, and whatever does not fit are diagnostics (T0804, T0806, T0807, T03xx).
Result<Inputs> makeInputs(const Graph& graph, const InputOptions& options);

/// What random elements of an input are made of, by what the graph does with it.
struct RandomKindOf {
  int64_t bound = 10;     // integers are in [0, bound): the extent of the axis they index, if they do
  double scale = 1;       // floats are normal(0, scale): 1/sqrt(k) for the weights of a product over k elements
  bool positive = false;  // or as far above 1/2 as those are from 0: a variance
};
RandomKindOf randomKind(const Graph& graph, ValueId input, const DimBindings& dims);

/// Random elements; bool evenly. Deterministic in seed, name and type.
Array randomArray(DType dtype, const std::vector<int64_t>& shape, uint64_t seed, std::string_view name,
                  const RandomKindOf& kind);

}  // namespace tokamak::tool
