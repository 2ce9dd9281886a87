#include "gpu_plans/run.h"

#include <gtest/gtest.h>

#include "fuzz/compare.h"
#include "fuzz/random_graph.h"

namespace tokamak::gpu_plans {

const Engine& engine() {
  static const Engine instance({.diskCache = false});
  return instance;
}

std::string complaint(const Graph& graph, uint64_t seed, const DimBindings& dims, const CompileOptions& given) {
  CompileOptions options = given;
  if (!options.gpu) options.gpu.emplace();
  const auto inputs = fuzz::randomInputs(graph, seed, dims);
  const auto outputs = runSimtGraph(graph, inputs, engine(), options);
  if (!outputs) return outputs.error().str();
  const auto same = fuzz::compareOutputs(graph, inputs, *outputs);
  return same ? "" : same.error().str();
}

std::string plansOf(std::string_view program, const DimBindings& dims, const CompileOptions& given) {
  CompileOptions options = given;
  if (!options.gpu) options.gpu.emplace();
  options.library = false;
  const auto graph = parseGraph(program);
  if (!graph) {
    ADD_FAILURE() << graph.error().str();
    return {};
  }
  const auto lowered = lower(*graph, engine(), options);
  if (!lowered) {
    ADD_FAILURE() << lowered.error().str();
    return {};
  }
  std::string plans, kernels;
  for (const LedgerRegion& region : lowered->plan.ledger.regions) plans += region.schedule + "\n";
  for (const auto& scheduled : lowered->kernels)
    for (const auto& launch : scheduled->launches) kernels += kernel::print(launch.kernel);
  const std::string wrong = complaint(*graph, 7, dims, options);
  EXPECT_EQ(wrong, "") << plans << kernels;
  return plans;
}

}  // namespace tokamak::gpu_plans
