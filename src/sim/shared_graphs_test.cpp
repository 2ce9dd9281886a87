#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/simulate.h"
#include "sparse/stream/run/run.h"
#include "sparse/stream/sam.h"

/// The graphs in shared/data/sam beside the checkout (or where TOKAMAK_SHARED_DATA says): exchange files, tensors,
/// expected values and Comal's cycle counts.
namespace tokamak::sim {
namespace {

namespace fs = std::filesystem;

fs::path sharedSam() {
  if (const char* data = std::getenv("TOKAMAK_SHARED_DATA")) return fs::path(data) / "sam";
  return fs::path(TOKAMAK_SOURCE_DIR) / ".." / "shared" / "data" / "sam";
}

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Case {
  stream::Graph graph;
  stream::Storages data;
  std::vector<double> expected;
};

Case load(const std::string& name) {
  const fs::path folder = sharedSam() / name;
  Case result;
  auto graph = stream::readSam(slurp(folder / "graph.bin"), (folder / "graph.bin").string());
  EXPECT_TRUE(graph) << graph.error().str();
  result.graph = std::move(*graph);
  auto data = stream::readSamData(result.graph, folder);
  EXPECT_TRUE(data) << data.error().str();
  result.data = std::move(*data);
  std::ifstream expected(folder / "expected_vals.txt");
  for (double value = 0; expected >> value;) result.expected.push_back(value);
  return result;
}

void expectValues(const stream::Storages& outputs, const std::vector<double>& expected) {
  ASSERT_EQ(outputs.size(), 1u);
  const std::vector<double>& values = outputs.begin()->second.values;
  ASSERT_EQ(values.size(), expected.size());
  for (size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], 2e-5 * std::max(1.0, std::fabs(expected[i]))) << "value " << i;
}

class SharedGraphs : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(sharedSam() / "cycles.json")) GTEST_SKIP() << "no shared data at " << sharedSam();
    cycles_ = nlohmann::json::parse(slurp(sharedSam() / "cycles.json"));
    ASSERT_EQ(cycles_.size(), 16u);
  }
  nlohmann::json cycles_;
};

TEST_F(SharedGraphs, RunnerComputesTheExpectedValues) {
  for (const auto& one : cycles_) {
    SCOPED_TRACE(one["case"].get<std::string>());
    const Case c = load(one["case"]);
    const auto result = stream::run(c.graph, viewsOf(c.data));
    ASSERT_TRUE(result) << result.error().str();
    expectValues(result->outputs, c.expected);
    EXPECT_EQ(result->tokens, one["tokens"].get<uint64_t>());
  }
}

TEST_F(SharedGraphs, ComalAgreesToTheCycle) {
  for (const auto& one : cycles_) {
    SCOPED_TRACE(one["case"].get<std::string>());
    const Case c = load(one["case"]);
    const auto report = simulate(c.graph, viewsOf(c.data));
    ASSERT_TRUE(report) << report.error().str();
    EXPECT_EQ(report->cycles, one["cycles_memory_off"].get<uint64_t>());
    EXPECT_EQ(report->tokens, one["tokens"].get<uint64_t>());
    expectValues(report->outputs, c.expected);
  }
}

TEST_F(SharedGraphs, ComalWithMemoryAgreesWithinThreeCycles) {
  for (const auto& one : cycles_) {
    SCOPED_TRACE(one["case"].get<std::string>());
    const Case c = load(one["case"]);
    Options options;
    options.profile = Profile::comal_hbm;
    const auto report = simulate(c.graph, viewsOf(c.data), options);
    ASSERT_TRUE(report) << report.error().str();
    EXPECT_NEAR(static_cast<double>(report->cycles), one["cycles_memory_on"].get<double>(), 3);
    EXPECT_EQ(report->tokens, one["tokens"].get<uint64_t>());
    expectValues(report->outputs, c.expected);
  }
}

}  // namespace
}  // namespace tokamak::sim
