#include "sparse/stream/graph.h"

#include <gtest/gtest.h>

#include "sparse/stream/builder.h"
#include "sparse/stream/picture.h"

namespace tokamak::stream {
namespace {

Graph spmm() {
  Builder b("spmm");
  b.input("B", {{LevelFormat::compressed, 64}, {LevelFormat::compressed, 64}});
  b.input("C", {{LevelFormat::compressed, 64}, {LevelFormat::compressed, 64}});
  b.output("X", {{LevelFormat::compressed, 64}, {LevelFormat::compressed, 64}});
  const auto [i, rows] = b.scan("B", 0, b.root("B"));
  const auto [k, entries] = b.scan("B", 1, rows);
  const auto [kc, rowsOfC] = b.scan("C", 0, b.repeat(b.root("C"), rows));
  const auto both = b.join(JoinKind::intersect, {{k, entries}, {kc, rowsOfC}});
  const auto [j, entriesOfC] = b.scan("C", 1, both.payloads[1]);
  const StreamId product =
      b.alu(AluOp::mul, {b.array("B", b.repeat(both.payloads[0], entriesOfC)), b.array("C", entriesOfC)});
  const auto sum = b.spacc(FoldOp::add, {both.crd}, j, product);
  b.writeLevel("X", 0, i);
  b.writeLevel("X", 1, sum.crds[0]);
  b.writeValues("X", sum.val);
  return std::move(b).finish().value();
}

TEST(StreamGraph, BuilderBroadcastsAndRanks) {
  const Graph graph = spmm();
  int broadcasts = 0;
  for (const Node& node : graph.nodes()) {
    if (std::holds_alternative<Broadcast>(node.block)) ++broadcasts;
    if (std::holds_alternative<Spacc>(node.block)) {
      EXPECT_EQ(graph.stream(node.inputs[0]).rank, 2);
      EXPECT_EQ(graph.stream(node.inputs[1]).rank, 3);
      EXPECT_EQ(graph.stream(node.outputs[1]).rank, 2);
      EXPECT_EQ(graph.stream(node.outputs[1]).kind, StreamKind::val);
    }
  }
  EXPECT_EQ(broadcasts, 2);  // the rows of B and the entries of C
}

TEST(StreamGraph, TextComesBackEqual) {
  const Graph graph = spmm();
  const auto again = parse(print(graph));
  ASSERT_TRUE(again) << again.error().str();
  EXPECT_EQ(*again, graph);
  EXPECT_EQ(print(*again), print(graph));
}

TEST(StreamGraph, ACutTextEndsSomewhere) {
  const std::string text = print(spmm());
  for (size_t length = 0; length < text.find_last_of('}'); ++length) {
    const auto graph = parse(text.substr(0, length), "cut.stream");
    ASSERT_FALSE(graph) << length;
    EXPECT_EQ(graph.error().code, "T0940") << text.substr(0, length) << "\n" << graph.error().str();
  }
}

TEST(StreamGraph, EveryBlockComesBackEqual) {
  const std::string text = R"(stream @all {
  tensor @B[8, 4] dense, compressed block [2, 2]
  tensor @c[?] dense
  output @x[8] dense block [2, 2]
  %r0 = root @B
  %i, %r1 = scan @B 0 %r0
  %f0, %f1 = fork %r1
  _, %g0 = scan @B 1 %f0
  _, %g1 = scan @B 1 %f1
  %g = join 1 %g0, %g1
  %v = array @B %g : "the \"label\""
  %w = alu sub 1.5, %v
  %u = alu max %w, -inf
  %t = reduce max from -1e-05 %u
  %ir = root @c
  %ic, %ie = scan @c 0 %ir
  %l0, _, %l2 = locate @c 0 %ic, %ie
  %m, _, %n = union %l2, %l0, %i, %t
  write_level @x 0 %m
  write_values @x %n
}
)";
  const auto graph = parse(text);
  ASSERT_TRUE(graph) << graph.error().str();
  EXPECT_EQ(print(*graph), text);
}

/// The code and text of the diagnostic that these lines of a graph give.
std::string errorOf(const std::string& body) {
  const auto graph =
      parse("stream @g {\n  tensor @B[4, 4] dense, compressed\n  output @x[4] dense\n" + body + "}\n", "g.stream");
  return graph ? "accepted" : graph.error().str();
}

void expectFault(const std::string& body, std::string_view place, std::string_view code, std::string_view words) {
  const std::string text = errorOf(body);
  for (std::string_view part : {place, code, words})
    EXPECT_NE(text.find(part), std::string::npos) << "wanted: " << part << "\ngot: " << text;
}

TEST(StreamGraph, FaultsNameTheNodeAndThePort) {
  expectFault("  %r = root @B\n", "4:3", "T0942", "node 0 (root @B): output 0 puts %r, which nothing takes");
  expectFault("  %c, _ = scan @B 0 %r\n  write_level @x 0 %c\n", "4:3", "T0942",
              "input 0 takes %r, which nothing puts");
  expectFault("  %r = root @B\n  %r = root @B\n  %c, _ = scan @B 0 %r\n  write_level @x 0 %c\n", "5:3", "T0942",
              "which node 0 (root @B) puts already");
  expectFault("  %r = root @B\n  %c, _ = scan @B 0 %r\n  write_level @x 0 %c\n  _, _ = scan @B 0 %r\n", "7:3", "T0942",
              "put a broadcast behind it");
  expectFault("  %r = root @B\n  _ = alu exp %r\n", "5:3", "T0943", "input 0 (%r) is a ref stream where val is wanted");
  expectFault("  %r = root @B\n  %v = array @B %r\n  _ = reduce add %v\n", "6:3", "T0944", "rank 0");
  expectFault("  %r = root @B\n  %v = array @B %r\n  write_values @x %v\n", "6:3", "T0944",
              "has rank 0 where 1 is wanted");
  // Every input of a block, the third too.
  expectFault(
      "  %r = root @B\n  _, %p = scan @B 0 %r\n  %a = array @B %p\n  %s = root @B\n  _, %q = scan @B 0 %s\n"
      "  %b = array @B %q\n  %t = root @B\n  %c = array @B %t\n  _ = alu select %a, %b, %c\n",
      "12:3", "T0944", "input 2 (%c) has rank 0 where 1 is wanted");
  expectFault("  _ = root @C\n", "4:3", "T0945", "no tensor @C");
  expectFault("  %r = root @B\n  _, _ = scan @B 2 %r\n", "5:3", "T0945", "none numbered 2");
  expectFault("  %a = alu exp %b\n  %b = alu exp %a\n", "4:3", "T0946", "depend on its own outputs");
  expectFault("  %r = rout @B\n", "4:8", "T0941", "no block 'rout'");
  expectFault("  %r = root B\n", "4:13", "T0940", "found 'B' where a name with @ should be");
}

size_t countOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(StreamGraph, PicturesHaveEveryNodeAndStream) {
  const Graph graph = spmm();
  const std::string dot = drawDot(graph), svg = drawSvg(graph);
  size_t edges = 0;
  for (const auto& readers : wiringOf(graph).consumers) edges += readers.size();
  EXPECT_EQ(countOf(dot, " -> "), edges);
  EXPECT_EQ(countOf(dot, "[label="), graph.nodes().size());
  EXPECT_EQ(countOf(svg, "<rect"), graph.nodes().size());
  EXPECT_EQ(countOf(svg, "<path"), edges);
  EXPECT_EQ(svg.find("href"), std::string::npos);
}

}  // namespace
}  // namespace tokamak::stream
