#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "search/check.h"
#include "search/model.h"
#include "search/search.h"
#include "search/store.h"
#include "sparse/io/io.h"
#include "sparse/lower/inputs.h"

namespace tokamak::search {

namespace {

using namespace tokamak::sparse;
namespace fs = std::filesystem;

/// The graphs in shared/data/graphs beside the checkout (or where TOKAMAK_SHARED_DATA says); without them the tests are
/// skipped.
fs::path sharedGraphs() {
  if (const char* given = std::getenv("TOKAMAK_SHARED_DATA")) return fs::path(given) / "graphs";
  return fs::path(TOKAMAK_SOURCE_DIR) / ".." / "shared" / "data" / "graphs";
}

/// With self loops, each entry divided by the roots of both degrees.
Tensor normalised(Entries edges) {
  const auto n = static_cast<int32_t>(edges.shape[0]);
  for (int32_t i = 0; i < n; ++i) edges.add({i, i}, 1);
  std::vector<double> degree(static_cast<size_t>(n), 0);
  for (int64_t e = 0; e < edges.count(); ++e) degree[static_cast<size_t>(edges.at[static_cast<size_t>(2 * e)])] += 1;
  for (int64_t e = 0; e < edges.count(); ++e) {
    const auto at = [&](int64_t axis) { return static_cast<size_t>(edges.at[static_cast<size_t>(2 * e + axis)]); };
    edges.values[static_cast<size_t>(e)] = 1 / std::sqrt(degree[at(0)] * degree[at(1)]);
  }
  return *pack(edges, *namedFormat("csr", 2), DType::f32);
}

struct OnGraph {
  Program program;
  Bindings inputs;
};

OnGraph load(const std::string& model, const std::string& graph) {
  std::ifstream in(std::string(TOKAMAK_SOURCE_DIR) + "/examples/sparse/" + model + ".ein");
  std::stringstream text;
  text << in.rdbuf();
  OnGraph out{parseSource(text.str())->program, {}};
  out.inputs["A"] = normalised(*readTensor((sharedGraphs() / (graph + "_adj.mtx")).string()));
  out.inputs["X"] =
      *pack(*readTensor((sharedGraphs() / (graph + "_feat.mtx")).string()), *namedFormat("csr", 2), DType::f32);
  const auto size = [&](const char* dim, int64_t extent) {
    out.program.dims()[out.program.findDim(dim).index].size = extent;
  };
  size("N", out.inputs["X"].shape[0]);
  size("F", out.inputs["X"].shape[1]);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> value(-1, 1);
  for (const TensorDecl& decl : out.program.tensors()) {
    if (decl.role != Role::input || out.inputs.contains(decl.name)) continue;
    std::vector<int64_t> shape;
    int64_t count = 1;
    for (const DimId dim : decl.dims) shape.push_back(out.program.dim(dim).size), count *= shape.back();
    std::vector<double> values(static_cast<size_t>(count));
    for (double& v : values) v = value(random);
    out.inputs[decl.name] = fromDense(values, shape, Format::dense(static_cast<int>(shape.size())), DType::f32);
  }
  return out;
}

struct Case {
  const char *model, *graph;
  double cycles;
};

class RealGraph : public testing::TestWithParam<Case> {};

/// Cycles of `comal`, single lane, features stored sparse; FuseFlow's best on the same data takes about three times as
/// many.
TEST_P(RealGraph, TheSearchKeepsItsPromise) {
  if (!fs::exists(sharedGraphs() / "cora_adj.mtx")) GTEST_SKIP() << "no graphs at " << sharedGraphs();
  const OnGraph data = load(GetParam().model, GetParam().graph);
  const Model model = *prepare(data.program, data.inputs, wholeProgram(true));
  const Space space = *Space::explore(model.program, *model.data, {.ordersPerRegion = 16, .iterate = false});
  NoStore none;
  SearchOptions options;
  options.front = false;
  const Outcome outcome = *search(space, *model.data, options, none);
  EXPECT_LE(outcome.best->cost, GetParam().cycles);
  EXPECT_LE(outcome.simulated, space.choices().size() / 10);
}

TEST_P(RealGraph, CostsAreCountedWell) {
  if (!fs::exists(sharedGraphs() / "cora_adj.mtx")) GTEST_SKIP() << "no graphs at " << sharedGraphs();
  const OnGraph data = load(GetParam().model, GetParam().graph);
  for (const Schedule& schedule : {unfused(), automatic()}) {
    const Compiled compiled = *compile(data.program, schedule, &data.inputs);
    const std::vector<RegionCheck> checks = *checkCosts(compiled, data.inputs, {});
    for (const RegionCheck& check : checks)
      EXPECT_LT(errorOf(check.counted.cycles, check.simulated->cycles), 0.2) << checkTable(checks, {});
  }
}

INSTANTIATE_TEST_SUITE_P(Search, RealGraph,
                         testing::Values(Case{"gcn", "cora", 1.5e6}, Case{"gcn", "cora_ml", 3.5e6},
                                         Case{"graphsage", "cora", 2.5e6}),
                         [](const auto& info) { return std::string(info.param.model) + "_" + info.param.graph; });

}  // namespace

}  // namespace tokamak::search
