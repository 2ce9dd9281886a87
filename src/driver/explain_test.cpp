#include "driver/explain.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tokamak {
namespace {

/// Two kernels: one scales and sums rows, one adds the sums back to a view of the input.
Explanation example() {
  auto graph = parseGraph(R"(graph @demo(%x: f32[M, 64], %s: f32[64]) {
    %scale = broadcast %s {axes = [1]} : f32[M, 64]
    %scaled = mul %x, %scale : f32[M, 64]
    %sum = reduce %scaled {kind = sum, axes = [1]} : f32[M]
    %flat = reshape %x : f32[64*M]
    %wide = broadcast %sum {axes = [0]} : f32[M, 64]
    %long = reshape %wide : f32[64*M]
    %y = add %flat, %long : f32[64*M]
    return %y
  })");
  EXPECT_TRUE(graph) << graph.error().str();
  auto value = [&](std::string_view name) {
    for (size_t i = 0; i < graph->size(); ++i)
      if (graph->node(ValueId(i)).name == name) return ValueId(i);
    return ValueId();
  };
  Explanation out;
  out.graph = *graph;
  out.dims = {{"M", 1000}};
  out.writtenOps = 7;
  LedgerRegion first, second;
  first = {RegionId(0),
           "reduce",
           "k0",
           "inner-reduce {vector = 16}",
           {value("scale"), value("scaled"), value("sum")},
           {value("x"), value("s")},
           {value("sum")}};
  first.bytesRead = 256256, first.bytesWritten = 4000, first.microseconds = 12.5;
  second = {RegionId(1),
            "pointwise",
            "k1",
            "pointwise <a & b>",
            {value("wide"), value("long"), value("y")},
            {value("flat"), value("sum")},
            {value("y")}};
  second.measuredMicroseconds = 1234;
  out.ledger.regions = {first, second};
  out.ledger.edges = {
      {value("scale"), value("scaled"), EdgeDecision::fused, "same-domain", "both iterate over [M, 64]", 512000, 25.6},
      {value("sum"), value("wide"), EdgeDecision::cut, "folds-differ", "%sum folds axis 1 & %y does not", 8000, 0.4}};
  out.ledger.unfusedBytes = 2e6, out.ledger.fusedBytes = 8e5;
  out.ledger.unfusedMicroseconds = 100, out.ledger.fusedMicroseconds = 40;
  out.ledger.notes = {"M is symbolic"};
  return out;
}

size_t count(std::string_view text, std::string_view what) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string_view::npos; at += what.size()) ++n;
  return n;
}

TEST(ExplainFormat, Bytes) {
  EXPECT_EQ(formatBytes(0), "0 B");
  EXPECT_EQ(formatBytes(999), "999 B");
  EXPECT_EQ(formatBytes(1000), "1.00 kB");
  EXPECT_EQ(formatBytes(8388608), "8.39 MB");
  EXPECT_EQ(formatBytes(999.6e6), "1.00 GB");
  EXPECT_EQ(formatBytes(1e30), "1000000000000 EB");
}

TEST(ExplainFormat, Time) {
  EXPECT_EQ(formatMicroseconds(0.125), "0.12 us");
  EXPECT_EQ(formatMicroseconds(420), "420 us");
  EXPECT_EQ(formatMicroseconds(1234), "1.23 ms");
  EXPECT_EQ(formatMicroseconds(2.5e6), "2.50 s");
}

TEST(ExplainFormat, Reduction) {
  EXPECT_EQ(formatReduction(100, 40), "2.5x less");
  EXPECT_EQ(formatReduction(1000, 10), "100x less");
  EXPECT_EQ(formatReduction(40, 40), "none");
  EXPECT_EQ(formatReduction(0, 0), "none");
}

TEST(Explain, BytesOfTakesSizesAndGuessesUnknownOnes) {
  Explanation e = example();
  EXPECT_EQ(bytesOf(e, e.graph.inputs()[0]), 1000 * 64 * 4);
  e.dims.clear();
  EXPECT_EQ(bytesOf(e, e.graph.inputs()[0]), 1024 * 64 * 4);
}

TEST(Explain, TableListsKernelsEdgesAndNotes) {
  const std::string table = explainTable(example());
  EXPECT_NE(table.find("@demo: 7 ops written, 7 planned, 2 kernels"), std::string::npos) << table;
  EXPECT_NE(table.find("sizes M=1000"), std::string::npos);
  EXPECT_NE(table.find("2.00 MB"), std::string::npos);
  EXPECT_NE(table.find("2.5x less"), std::string::npos);
  EXPECT_NE(table.find("1.23 ms"), std::string::npos) << "measured time";
  EXPECT_NE(table.find("%sum -> %wide"), std::string::npos);
  EXPECT_NE(table.find("reduce -> broadcast"), std::string::npos) << "the ops of that edge";
  EXPECT_NE(table.find("%sum folds axis 1 & %y does not"), std::string::npos);
  EXPECT_NE(table.find("M is symbolic"), std::string::npos);
  for (size_t at = 0; (at = table.find('\n', at)) != std::string::npos && at > 0; ++at)
    EXPECT_NE(table[at - 1], ' ') << "a line ends in a blank";
}

TEST(Explain, KernelsAreNotPartOfTheTable) {
  Explanation e = example();
  const std::string table = explainTable(e);
  EXPECT_EQ(explainKernels(e), "");
  e.kernels = {"kernel @k0\n", ""};
  EXPECT_EQ(explainTable(e), table);
  EXPECT_NE(explainKernels(e).find("// kernel 0: "), std::string::npos);
  EXPECT_NE(explainKernels(e).find("kernel @k0\n"), std::string::npos);
  EXPECT_EQ(explainKernels(e).find("// kernel 1"), std::string::npos) << "a library call has no text";
}

TEST(Explain, JsonHoldsEverything) {
  Explanation e = example();
  e.kernels = {"kernel @k0", ""};
  const auto json = nlohmann::json::parse(explainJson(e));
  EXPECT_EQ(json["graph"], "demo");
  EXPECT_EQ(json["dims"]["M"], 1000);
  EXPECT_EQ(json["summary"]["kernels"], 2);
  EXPECT_EQ(json["summary"]["fused_bytes"], 8e5);
  ASSERT_EQ(json["kernels"].size(), 2u);
  EXPECT_EQ(json["kernels"][0]["outputs"], nlohmann::json({"%sum"}));
  EXPECT_EQ(json["kernels"][0]["kernel"], "kernel @k0");
  EXPECT_FALSE(json["kernels"][0].contains("measured_us"));
  EXPECT_EQ(json["kernels"][1]["measured_us"], 1234);
  ASSERT_EQ(json["edges"].size(), 2u);
  EXPECT_EQ(json["edges"][1]["decision"], "cut");
  EXPECT_EQ(json["edges"][1]["consumer_op"], "broadcast");
}

TEST(Explain, DrawingHasABoxForEachKernelAndBytesOnMemoryEdges) {
  const std::string svg = explainSvg(example());
  EXPECT_EQ(count(svg, "class=\"box kernel"), 2u);
  EXPECT_EQ(count(svg, "class=\"box input"), 2u);
  EXPECT_EQ(count(svg, "class=\"box view"), 1u) << "the reshape of %x is a view";
  EXPECT_EQ(count(svg, "class=\"box output"), 1u);
  EXPECT_EQ(count(svg, "class=\"op "), 6u);
  EXPECT_NE(svg.find(">256 kB</text>"), std::string::npos) << "bytes of %x";
  EXPECT_NE(svg.find(">4.00 kB</text>"), std::string::npos) << "bytes of %sum";
}

TEST(Explain, PageIsSelfContainedAndEscapes) {
  const std::string page = explainHtml(example());
  EXPECT_NE(page.find("<!doctype html>"), std::string::npos);
  EXPECT_NE(page.find("pointwise &lt;a &amp; b&gt;"), std::string::npos);
  EXPECT_EQ(count(page, "http"), 1u) << "only the name space of SVG";
  EXPECT_EQ(count(page, "<tr data-decision"), 2u);
  EXPECT_EQ(count(page, "<g"), count(page, "</g>"));
}

TEST(Explain, SurvivesAnEmptyLedger) {
  Explanation e = example();
  e.ledger = {};
  EXPECT_NE(explainTable(e).find("0 kernels"), std::string::npos);
  EXPECT_NE(explainHtml(e).find("</html>"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::parse(explainJson(e))["edges"].empty());
}

TEST(Explain, SummarisesAVeryLargeKernel) {
  std::string text = "graph @chain(%x: f32[8]) {\n";
  for (int i = 0; i < 500; ++i)
    text += "%" + std::to_string(i) + " = exp %" + (i ? std::to_string(i - 1) : "x") + " : f32[8]\n";
  const auto graph = parseGraph(text + "return %499\n}");
  ASSERT_TRUE(graph) << graph.error().str();
  Explanation e;
  e.graph = *graph;
  LedgerRegion region;
  for (size_t i = 1; i < graph->size(); ++i) region.nodes.push_back(ValueId(i));
  region.inputs = {ValueId(size_t{0})}, region.outputs = {graph->outputs()[0]};
  e.ledger.regions = {region};
  const std::string svg = explainSvg(e);
  EXPECT_EQ(count(svg, "class=\"op "), 1u);
  EXPECT_NE(svg.find("500 × exp"), std::string::npos);
}

}  // namespace
}  // namespace tokamak
