#include "driver/tune.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace tokamak {
namespace {

constexpr std::string_view kProgram = R"(graph @mlp(%x: f32[M, 64], %w: f32[64, 32]) {
  %p = matmul %x, %w : f32[M, 32]
  %y = relu %p : f32[M, 32]
  return %y
})";

struct Tuned : testing::Test {
  Tuned() : graph(*parseGraph(kProgram)) {
    folder = std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder);
    options.hints["M"] = 16;
    tuning = {.seconds = 0.02, .progress = [this](std::string_view line) { measured.emplace_back(line); }};
  }
  Engine engine() const { return Engine({.threads = 1, .cacheFolder = folder.string()}); }

  Graph graph;
  std::filesystem::path folder;
  CompileOptions options;
  TuneOptions tuning;
  std::vector<std::string> measured;
};

TEST_F(Tuned, MeasuresNeighboursOnceAndRemembersTheWinner) {
  {
    const Engine first = engine();
    const auto compiled = tune(graph, first, options, tuning);
    ASSERT_TRUE(compiled) << compiled.error().str();
    EXPECT_GE(measured.size(), 3u);
    ASSERT_FALSE(compiled->explanation.ledger.notes.empty());
    EXPECT_EQ(compiled->explanation.ledger.notes.back().substr(0, 6), "tuned:");
  }
  measured.clear();
  const Engine second = engine();
  const auto again = tune(graph, second, options, tuning);
  ASSERT_TRUE(again);
  EXPECT_TRUE(measured.empty()) << "the winner was on disk";
  EXPECT_EQ(again->explanation.ledger.notes.back().substr(0, 13), "tuned before:");
  options.hints["M"] = 32;
  ASSERT_TRUE(tune(graph, second, options, tuning));
  EXPECT_FALSE(measured.empty()) << "another size is measured on its own";
}

TEST_F(Tuned, GivesTheSameNumbersAsTheCostModelsPlan) {
  const Engine here = engine();
  const auto plain = compile(graph, here, options), tuned = tune(graph, here, options, tuning);
  ASSERT_TRUE(plain && tuned);
  std::vector<float> x(16 * 64), w(64 * 32);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3.0f;
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 5) - 2.0f;
  const int64_t xs[] = {16, 64}, ws[] = {64, 32};
  const runtime::TensorRef inputs[] = {{x.data(), DType::f32, 2, xs}, {w.data(), DType::f32, 2, ws}};
  const auto a = plain->executable->run(inputs), b = tuned->executable->run(inputs);
  ASSERT_TRUE(a && b);
  for (int64_t i = 0; i < (*a)[0].size(); ++i) EXPECT_EQ((*a)[0].as<float>()[i], (*b)[0].as<float>()[i]);
}

TEST_F(Tuned, LeavesSizesThatNobodyKnowsToTheCostModel) {
  options.hints.clear();
  const Engine here = engine();
  const auto compiled = tune(graph, here, options, tuning);
  ASSERT_TRUE(compiled);
  EXPECT_TRUE(measured.empty());
  EXPECT_EQ(compiled->explanation.ledger.notes.back(), "not tuned: M has no likely size");
}

}  // namespace
}  // namespace tokamak
