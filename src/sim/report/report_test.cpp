#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/random_stream_test.h"
#include "sim/report/critical_path.h"
#include "sim/report/page.h"
#include "sim/simulate.h"
#include "sparse/stream/run/occupancy.h"
#include "sparse/stream/run/spill_memory.h"

namespace tokamak::sim {
namespace {

using nlohmann::json;

/// x(i) = 2 B(i): the array loads a value a cycle, then the alu, then the write.
const char* const kScale = R"(stream @scale {
  tensor @B[100] compressed
  output @x[100] compressed
  %r0 = root @B
  %c, %r = scan @B 0 %r0
  %v = array @B %r
  %w = alu mul %v, 2
  write_level @x 0 %c
  write_values @x %w
}
)";

stream::Storages every(int64_t stride) {
  stream::TensorStorage tensor;
  tensor.levels = {{stream::LevelFormat::compressed, 100, {0, 100 / stride}, {}}};
  for (int64_t i = 0; i < 100 / stride; ++i) {
    tensor.levels[0].crd.push_back(static_cast<int32_t>(i * stride));
    tensor.values.push_back(static_cast<double>(i));
  }
  return {{"B", tensor}};
}

Summary simulated(Profile profile, bool watch) {
  const auto graph = stream::parse(kScale);
  EXPECT_TRUE(graph) << graph.error().str();
  const stream::Storages data = every(2);
  Options options;
  options.profile = profile;
  options.watch = watch;
  options.window = {0, 40};
  auto report = simulate(*graph, viewsOf(data), options);
  EXPECT_TRUE(report) << report.error().str();
  Summary summary{.name = "scale", .profile = std::string(nameOf(profile)), .against = "functional runner"};
  summary.parts.push_back({*graph, std::move(*report)});
  return summary;
}

TEST(SimReport, JsonHoldsCountsBytesAndStalls) {
  const json out = json::parse(reportJson(simulated(Profile::comal, true)));
  for (const char* key : {"cycles", "tokens", "seconds", "values_checked", "peak_memory"})
    EXPECT_TRUE(out.contains(key)) << key;
  EXPECT_EQ(out["operations"], 50);             // one product a value
  EXPECT_EQ(out["bytes_read"], 4 * (2 + 100));  // two segment ends, 50 coordinates, 50 values
  EXPECT_EQ(out["bytes_written"], 4 * (50 + 2 + 50));
  const json& graph = out["graphs"][0];
  EXPECT_EQ(graph["cycles"], out["cycles"]);
  for (const json& node : graph["nodes"]) EXPECT_LE(node["utilisation"].get<double>(), 1.0) << node.dump();
  for (const json& one : graph["streams"]) {
    EXPECT_GE(one["peak"].get<int>(), 1) << one.dump();
    EXPECT_LE(one["peak"].get<int>(), 2) << one.dump();  // every block takes a token a cycle: nothing piles up
  }
  EXPECT_FALSE(graph["critical_path"].empty());
}

TEST(SimReport, MemoryHoldsUpWhatReadsIt) {
  const Summary summary = simulated(Profile::comal_hbm, true);
  const Report& report = summary.parts[0].report;
  uint64_t memory = 0, piled = 0;
  for (const NodeReport& node : report.nodes) memory += node.waitMemory;
  EXPECT_GT(memory, 50u * 19);  // each value is written with a request of its own
  for (const StreamReport& one : report.streams) piled = std::max(piled, one.peak);
  EXPECT_GT(piled, 20u);  // before the write
  const std::vector<PathStep> path = criticalPath(summary.parts[0].graph, report);
  ASSERT_FALSE(path.empty());
  EXPECT_EQ(path.back().wait.kind, WaitKind::memory);
}

TEST(SimReport, TimelinesAddUpToBusyCycles) {
  for (Profile profile : {Profile::comal, Profile::hw}) {
    const Report report = simulated(profile, true).parts[0].report;
    ASSERT_GT(report.stretch, 0u);
    for (const NodeReport& node : report.nodes) {
      uint64_t busy = 0;
      for (const uint64_t cycles : node.timeline) {
        EXPECT_LE(cycles, report.stretch);
        busy += cycles;
      }
      if (profile == Profile::hw) EXPECT_EQ(busy, node.busy) << nameOf(profile) << ", node " << node.node.index;
      EXPECT_LE(busy, report.cycles + 1);
      EXPECT_GT(busy, 0u);
    }
  }
}

TEST(SimReport, TraceHoldsTheWindowAlone) {
  const json out = json::parse(reportTrace(simulated(Profile::comal, true)));
  size_t slices = 0;
  for (const json& event : out["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++slices;
    EXPECT_LE(event["ts"].get<uint64_t>() + event["dur"].get<uint64_t>(), 40u);
    EXPECT_GT(event["dur"].get<uint64_t>(), 0u);
  }
  EXPECT_GT(slices, 4u);
}

TEST(SimReport, PageShowsGraphTimelineAndStalls) {
  const std::string page = reportHtml(simulated(Profile::hw, true));
  for (const char* part : {"<svg", "scan @B 0", "Timeline", "Critical path", "row hits", "</html>"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_EQ(page.find("http://www.w3.org/2000/svg") == std::string::npos, false);
  EXPECT_EQ(page.find("src=\"http"), std::string::npos);  // nothing is fetched
}

TEST(SimReport, OccupancyDoesNotDependOnTheOrderInWhichItIsTold) {
  stream::Occupancy ahead, together;
  for (stream::Stamp t = 1; t <= 10; ++t) ahead.put(t);       // one a cycle
  for (stream::Stamp t = 1; t <= 10; ++t) ahead.take(2 * t);  // taken every other
  for (stream::Stamp t = 1; t <= 10; ++t) {
    together.put(t);
    together.take(2 * t);
  }
  EXPECT_EQ(ahead.peak(), 5u);  // at 10, ten were put and those of 2, 4, 6, 8 and 10 taken
  EXPECT_EQ(together.peak(), 5u);
}

TEST(SimReport, LongBacklogsKeepWhatTheyHold) {
  stream::SpillMemory memory;
  const size_t count = stream::SpillMemory::kLarge;  // eight times what is large
  size_t room = 1024;
  memory.resize(0, room * sizeof(uint64_t));
  const auto at = [&](size_t i) -> uint64_t& { return reinterpret_cast<uint64_t*>(memory.data())[i]; };
  for (size_t i = 0; i < count; ++i) {
    if (i == room) memory.resize(i * sizeof(uint64_t), (room *= 2) * sizeof(uint64_t));
    at(i) = i * 7;
    if (i % 5000 == 0) memory.cool();
  }
  memory.cool();
  memory.moveDown(1000 * sizeof(uint64_t), (count - 1000) * sizeof(uint64_t));
  for (size_t i = 0; i + 1000 < count; ++i) ASSERT_EQ(at(i), (i + 1000) * 7);
  EXPECT_TRUE(memory.isFile());
}

}  // namespace
}  // namespace tokamak::sim
