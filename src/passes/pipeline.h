#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace tokamak {

struct PipelineOptions {
  bool keepAttention = false;       // the device has a fused attention kernel
  std::vector<DType> channelsLast;  // dtypes whose convolutions the library serves best with channels last
  bool stageFolds = false;          // the device folds rows of a tensor for several uses in one kernel
  bool eagerRounding = false;       // precision = eager: every op rounds to its dtype, so no cast is redundant
};

/// Told of every pass that ran, with the graph as it left it.
using PassObserver = std::function<void(std::string_view passName, const Graph& graph)>;

/// Takes a verified graph to primitives in canonical form, ready for fusion. The only place where passes have an order.
Result<> runPipeline(Graph& graph, const PipelineOptions& options = {}, const PassObserver& observer = {});

/// Names of all passes, alphabetically.
std::vector<std::string_view> passNames();

/// Runs one pass with its default options; a diagnostic lists the names if there is none of this name.
Result<Changed> runPass(std::string_view name, Graph& graph);

}  // namespace tokamak
