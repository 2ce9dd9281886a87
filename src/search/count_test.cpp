#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "search/check.h"
#include "sparse/cost/count.h"
#include "sparse/cost/merge.h"
#include "sparse/lower/execute.h"

namespace tokamak::search {

namespace {

using namespace tokamak::sparse;

/// A matrix whose rows and columns are of very different length, as graphs' are.
Tensor skewed(int64_t rows, int64_t columns, const Format& format, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> chance(0, 1);
  std::vector<double> values(static_cast<size_t>(rows * columns), 0.0);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const double density = std::min(1.0, 1.5 / std::sqrt(double(i % 37 + 1)) / std::sqrt(double(j % 29 + 1)) * 0.3);
      if (chance(random) < density) values[static_cast<size_t>(i * columns + j)] = chance(random) + 0.1;
    }
  return fromDense(values, {rows, columns}, format, DType::f64);
}

Bindings dataFor(Program& program, int64_t size) {
  Bindings out;
  uint64_t seed = 1;
  for (Dim& dim : program.dims())
    if (dim.size < 0 || dim.size > 64) dim.size = dim.name == "F" || dim.name == "D" ? size / 2 : size;
  for (const TensorDecl& decl : program.tensors()) {
    if (decl.role != Role::input) continue;
    const Format format = decl.format.value_or(Format::dense(static_cast<int>(decl.dims.size())));
    std::vector<int64_t> shape;
    int64_t count = 1;
    for (const DimId dim : decl.dims) shape.push_back(program.dim(dim).size), count *= shape.back();
    if (!format.isDense()) {
      const int64_t rows = count / shape.back();
      const Tensor flat = skewed(rows, shape.back(), Format::dense(2), ++seed);
      out[decl.name] = fromDense(flat.values, shape, format, DType::f64);
      continue;
    }
    out[decl.name] = fromDense(std::vector<double>(static_cast<size_t>(count), 0.5), shape, format, DType::f64);
  }
  return out;
}

std::string example(const std::string& name) {
  std::ifstream in(std::string(TOKAMAK_SOURCE_DIR) + "/examples/sparse/" + name + ".ein");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class CountedModel : public testing::TestWithParam<const char*> {};

TEST_P(CountedModel, IsCloseToSimulationAtEveryGranularity) {
  Source source = *parseSource(example(GetParam()));
  const std::string name = GetParam();
  const bool deep = name == "mttkrp" || name == "ttv" || name.ends_with("attention") || name == "bigbird";
  const Bindings inputs = dataFor(source.program, deep && name != "graph_attention" ? 32 : 150);
  source.schedules.push_back(automatic());
  for (const Schedule& schedule : source.schedules) {
    const Result<Compiled> compiled = compile(source.program, schedule, &inputs);
    ASSERT_TRUE(compiled.ok()) << compiled.error().str();
    const Result<std::vector<RegionCheck>> checks = checkCosts(*compiled, inputs, {});
    ASSERT_TRUE(checks.ok()) << checks.error().str();
    Estimate counted;
    Measurement simulated;
    for (const RegionCheck& check : *checks) {
      counted += check.counted;
      simulated.operations += check.simulated->operations;
      simulated.bytesRead += check.simulated->bytes();
      simulated.cycles += check.simulated->cycles;
    }
    const std::string where = std::string(GetParam()) + " " + schedule.name + "\n" + checkTable(*checks, {});
    EXPECT_LT(errorOf(counted.operations, simulated.operations), 0.10) << where;
    EXPECT_LT(errorOf(counted.bytesRead + counted.bytesWritten, simulated.bytes()), 0.10) << where;
    EXPECT_LT(errorOf(counted.cycles, simulated.cycles), 0.20) << where;
  }
}

INSTANTIATE_TEST_SUITE_P(Count, CountedModel,
                         testing::Values("gcn", "graphsage", "graph_attention", "autoencoder", "softmax", "layer_norm",
                                         "sddmm", "spmm", "spmm_orders", "spmv", "chain", "mttkrp", "ttv", "attention",
                                         "block_attention", "bigbird"),
                         [](const auto& info) { return std::string(info.param); });

/// Where one operand is walked and the others are located, counts are exact, however uneven the rows.
TEST(Count, PathsOfTwoEdgesAreExact) {
  Program p = *parseProgram(
      "dim N, H = 4\ninput A[N, N]: csr\ninput X[N, H]\noutput Y[N, H]\n"
      "T[i, h] = A[i, k] * X[k, h]\nY[i, h] = A[i, k] * T[k, h]\n");
  const Bindings inputs = dataFor(p, 90);
  Schedule full{.name = "full", .fuse = Schedule::Fuse::all, .algebra = false};
  const Compiled compiled = *compile(p, full, &inputs);
  const RegionCheck check = checkCosts(compiled, inputs, {})->front();
  EXPECT_DOUBLE_EQ(check.counted.operations, check.simulated->operations);
  const Tensor& a = inputs.at("A");
  double paths = 0;
  for (const int32_t k : a.levels[1].crd)
    paths += static_cast<double>(a.levels[1].pos[static_cast<size_t>(k) + 1] - a.levels[1].pos[static_cast<size_t>(k)]);
  EXPECT_GE(check.counted.operations, 2 * 4 * paths);
}

/// An accumulator over rows of very different length: the mean length would say far more distinct columns.
TEST(Count, DistinctCoordinatesOfAnAccumulator) {
  Flow folded{.counts = {1, 100, 1090}};
  folded.sizes.add(1, 90);
  folded.sizes.add(100, 10);
  Flow inner{.counts = {1, 100, 1090, 10900}, .extent = 50};  // ten of fifty columns each
  const Accumulated result = accumulateFlows(folded, {&inner});
  EXPECT_NEAR(result.coordinates[0].elements(), 90 * 10 + 10 * 50, 5);
}

TEST(Count, IntersectionsGoByTheFrequencyOfCoordinates) {
  // Both operands have coordinates 0 and 1 in every fiber and nothing else of a hundred.
  auto often = std::make_shared<std::vector<double>>(100, 0.0);
  (*often)[0] = (*often)[1] = 10;
  const Flow crd{.counts = {1, 10, 20}, .coordinates = often};
  const Flow ref{.counts = {1, 10, 20}};
  const Merged both = mergeFlows(CellKind::intersect, {{&crd, &ref}, {&crd, &ref}}, 100, 1);
  EXPECT_DOUBLE_EQ(both.coordinates.elements(), 20);
  const Merged either = mergeFlows(CellKind::unite, {{&crd, &ref}, {&crd, &ref}}, 100, 1);
  EXPECT_DOUBLE_EQ(either.coordinates.elements(), 20);
  EXPECT_DOUBLE_EQ(either.payloads[1].absent, 0);
}

TEST(Count, LargeRegionsAreOnlyCounted) {
  Program p = *parseProgram("dim N, M\ninput A[N, M]: csr\ninput x[M]\noutput y[N]\ny[i] = A[i, j] * x[j]\n");
  const Bindings inputs = dataFor(p, 40);
  const Compiled compiled = *compile(p, unfused(), &inputs);
  EXPECT_TRUE(checkCosts(compiled, inputs, {}, 1e9)->front().simulated);
  EXPECT_FALSE(checkCosts(compiled, inputs, {}, 10)->front().simulated);
}

class Memory final : public Results {
 public:
  std::optional<Measurement> find(uint64_t key) override {
    const auto known = kept.find(key);
    return known == kept.end() ? std::nullopt : std::optional(known->second);
  }
  void keep(const Choice& choice, const Measurement& measurement) override { kept[choice.key] = measurement; }
  std::map<uint64_t, Measurement> kept;
};

/// Names do not matter, structure does: two equal products are simulated once, one along the columns again.
TEST(Count, EqualRegionsAreSimulatedOnce) {
  Program p = *parseProgram(
      "dim N, H = 4\ninput A[N, N]: csr\ninput B[N, N]: csc\ninput V[N, H]\ninput W[N, H]\n"
      "output X[N, H]\noutput Y[N, H]\noutput Z[N, H]\n"
      "X[i, h] = A[i, k] * V[k, h]\nY[i, h] = A[i, k] * W[k, h]\nZ[i, h] = B[k, i] * V[k, h]\n");
  Bindings inputs = dataFor(p, 60);
  inputs["B"] = convert(inputs.at("A"), *namedFormat("csc", 2));
  const Compiled compiled = *compile(p, unfused(), &inputs);
  Memory memory;
  const std::vector<RegionCheck> checks = *checkCosts(compiled, inputs, {}, 1e300, memory),
                                 again = *checkCosts(compiled, inputs, {}, 1e300, memory),
                                 fresh = *checkCosts(compiled, inputs, {});
  EXPECT_EQ(memory.kept.size(), 2u);
  for (size_t r = 0; r < checks.size(); ++r) {
    EXPECT_EQ(checks[r].simulated->cycles, fresh[r].simulated->cycles) << checks[r].region;
    EXPECT_EQ(again[r].simulated->seconds, checks[r].simulated->seconds) << checks[r].region;
  }
}

}  // namespace

}  // namespace tokamak::search
