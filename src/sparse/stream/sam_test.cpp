#include "sparse/stream/sam.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "sparse/stream/builder.h"
#include "sparse/stream/run/run.h"
#include "sparse/stream/wire.h"

namespace tokamak::stream {
namespace {

Graph graphOf(const std::string& text) {
  auto graph = parse(text);
  EXPECT_TRUE(graph) << graph.error().str();
  return std::move(*graph);
}

const char* const kSpmm = R"(stream @spmm {
  tensor @B[?, ?] compressed, compressed
  tensor @C[?, ?] dense, compressed
  output @X[?, ?] compressed, compressed
  %r1 = root @B
  %c1, %r2 = scan @B 0 %r1
  %c2, %r3 = scan @B 1 %r2
  %r4, %r5, %c3 = locate @C 0 %c2, %r3
  %c4, %r6 = scan @C 1 %r4
  %r7, %r8 = broadcast %r6
  %r9 = repeat %r5, %r7
  %v1 = array @B %r9
  %v2 = array @C %r8
  %v3 = alu mul %v1, %v2
  %c5, %v4 = spacc add 1 %c3, %c4, %v3
  %v5 = alu max %v4, 0
  write_level @X 0 %c1
  write_level @X 1 %c5
  write_values @X %v5
}
)";

TEST(Sam, WrittenAndReadBackIsTheSameGraph) {
  const Graph graph = graphOf(kSpmm);
  const auto bytes = writeSam(graph);
  ASSERT_TRUE(bytes) << bytes.error().str();
  const auto again = readSam(*bytes);
  ASSERT_TRUE(again) << again.error().str();
  EXPECT_EQ(print(*again), print(graph));
}

TEST(Sam, LanesAccumulatorsUnionsComeBack) {
  Graph graph = graphOf(R"(stream @lanes {
  tensor @T[?, ?, ?] dense, compressed, compressed
  output @X[?, ?] compressed, compressed
  %r1 = root @T
  %c1, %r2 = scan @T 0 %r1
  %r3, %r4 = fork %r2
  %c2, %r5 = scan @T 1 %r3
  %c3, %r6 = scan @T 1 %r4
  %c4 = join 1 %c2, %c3
  %r7 = join 1 %r5, %r6
  %c5, %r8 = scan @T 2 %r7
  %v1 = array @T %r8
  %v2 = alu exp %v1
  %v3 = alu add %v2, 2.5
  %c6, %c7, %v4 = spacc add 2 %c1, %c4, %c5, %v3
  %c8, %c9 = drop %c6, %c7
  write_level @X 0 %c8
  write_level @X 1 %c9
  write_values @X %v4
}
)");
  const auto bytes = writeSam(graph);
  ASSERT_TRUE(bytes) << bytes.error().str();
  const auto again = readSam(*bytes);
  ASSERT_TRUE(again) << again.error().str();
  EXPECT_EQ(print(*again), print(graph));
}

TEST(Sam, WhatComalLacksIsRefused) {
  const auto refused = [](const std::string& op) {
    return writeSam(
        graphOf("stream @g {\n  tensor @B[?] dense\n  output @x[?] compressed\n  %r1 = root @B\n"
                "  %c1, %r2 = scan @B 0 %r1\n  %v1 = array @B %r2\n  %v2 = alu " +
                op + "\n  write_level @x 0 %c1\n  write_values @x %v2\n}\n"));
  };
  EXPECT_TRUE(refused("exp %v1"));
  EXPECT_TRUE(refused("relu %v1"));
  EXPECT_TRUE(refused("sub %v1, 2"));
  ASSERT_FALSE(refused("log %v1"));
  EXPECT_EQ(refused("log %v1").error().code, "T0951");
  EXPECT_EQ(refused("gelu %v1").error().message,
            "node 3 (alu gelu): the exchange format has no gelu, nor what it could be made of");
  EXPECT_EQ(refused("gelu %v1").error().hint, "write gelu_tanh, which can be made of sigmoid");
  EXPECT_EQ(refused("pow %v1, 2.5").error().code, "T0951");
  EXPECT_EQ(refused("lt %v1, inf").error().code, "T0951");
}

/// What a graph with such a line between the values %v1 and the output's %v2 is refused with.
Diagnostic refusal(const std::string& tensor, const std::string& lines) {
  const auto bytes = writeSam(
      graphOf("stream @g {\n  tensor @B" + tensor + "\n  output @x[?] compressed\n  %r1 = root @B\n" + lines + "}\n"));
  EXPECT_FALSE(bytes) << lines;
  return bytes ? Diagnostic{} : bytes.error();
}

TEST(Sam, EveryRefusalNamesTheNodeAndARemedy) {
  const auto alu = [](const std::string& op) {
    return refusal("[?] dense", "  %c1, %r2 = scan @B 0 %r1\n  %v1 = array @B %r2\n  %v2 = alu " + op +
                                    "\n  write_level @x 0 %c1\n  write_values @x %v2\n");
  };
  const auto fold = [](const std::string& op) {
    return refusal("[?, ?] dense, compressed",
                   "  %c1, %r2 = scan @B 0 %r1\n  _, %r3 = scan @B 1 %r2\n  %v1 = array @B %r3\n  %v2 = reduce " + op +
                       " %v1\n  write_level @x 0 %c1\n  write_values @x %v2\n");
  };
  const auto accumulator = [](const std::string& op) {
    return refusal("[?, ?] dense, compressed",
                   "  %c1, %r2 = scan @B 0 %r1\n  %c2, %r3 = scan @B 1 %r2\n  %v1 = array @B %r3\n  %c3, %v2 = spacc " +
                       op + " 1 %c1, %c2, %v1\n  write_level @x 0 %c3\n  write_values @x %v2\n");
  };
  const std::pair<Diagnostic, std::string> cases[] = {
      {alu("log %v1"), "node 3 (alu log)"},        {alu("erf %v1"), "node 3 (alu erf)"},
      {alu("gelu %v1"), "node 3 (alu gelu)"},      {alu("pow %v1, 2.5"), "node 3 (alu pow"},
      {fold("mul"), "node 4 (reduce mul)"},        {accumulator("max"), "node 4 (spacc max 1)"},
      {accumulator("min"), "node 4 (spacc min 1)"}};
  for (const auto& [error, node] : cases) {
    EXPECT_EQ(error.code, "T0951");
    EXPECT_EQ(error.message.rfind(node, 0), 0u) << error.str();
    EXPECT_FALSE(error.hint.empty()) << error.str();
  }
}

/// What reading a damaged graph is refused with; empty where it can be read. The file, the node and a remedy are named.
Diagnostic wiringFault(const std::string& damaged) {
  static const std::regex named("^node \\d+ \\(.*\\): ");
  const auto graph = readSam(damaged, "wired.bin");
  if (graph) return {};
  EXPECT_EQ(graph.error().location.file, "wired.bin");
  EXPECT_TRUE(std::regex_search(graph.error().message, named)) << graph.error().str();
  EXPECT_FALSE(graph.error().hint.empty());
  return graph.error();
}

/// Every port of a graph in turn, loose or at another stream; then every two of them exchanged.
TEST(Sam, WrongWiringNamesFileNodeAndPort) {
  const std::string bytes = *writeSam(graphOf(kSpmm)), id("\x0a\x02\x08", 3);
  std::vector<size_t> ports;
  for (size_t at = bytes.find(id); at != std::string::npos; at = bytes.find(id, at + 1)) ports.push_back(at + 3);
  ASSERT_GT(ports.size(), 30u);
  for (const size_t port : ports)
    for (char other = 0; other < 12; ++other) {
      if (other == bytes[port]) continue;
      std::string damaged = bytes;
      damaged[port] = other;
      const Diagnostic fault = wiringFault(damaged);
      ASSERT_TRUE(fault.code == "T0942" || fault.code == "T0951") << "port at " << port << ", stream " << int(other);
      EXPECT_TRUE(std::regex_search(fault.message, std::regex("(in|out)put \\d"))) << fault.message;
    }
  std::set<std::string> codes;
  for (size_t a = 0; a < ports.size(); ++a)
    for (size_t b = a + 1; b < ports.size(); ++b) {
      std::string damaged = bytes;
      std::swap(damaged[ports[a]], damaged[ports[b]]);
      codes.insert(wiringFault(damaged).code);
    }
  EXPECT_TRUE(codes.contains("T0944")) << "streams of other ranks";
  EXPECT_TRUE(codes.contains("T0946")) << "cycles";
}

TEST(Sam, NumbersComeBackAsNumbers) {
  const Graph graph = graphOf(
      "stream @g {\n  tensor @B[?] dense\n  tensor @a[] \n  output @x[?] compressed\n  %r1 = root @B\n"
      "  %c1, %r2 = scan @B 0 %r1\n  %r3, %r4 = broadcast %r2\n  %v1 = array @B %r3\n  %r5 = root @a\n"
      "  %r6 = repeat %r5, %r4\n  %v2 = array @a %r6\n  %v3 = alu mul %v1, %v2\n  write_level @x 0 %c1\n"
      "  write_values @x %v3\n}\n");
  const auto back = readSam(*writeSam(graph));
  ASSERT_TRUE(back) << back.error().str();
  EXPECT_TRUE(back->tensor("a")->levels.empty());
  EXPECT_EQ(back->tensor("B")->levels.size(), 1u);
}

/// Operations that the format lacks are said in those it has: the values are the same.
TEST(Sam, OperationsAreSaidInOthers) {
  const Storages data = {
      {"B",
       {.levels = {{LevelFormat::dense, 9, {}, {}}}, .block = {}, .values = {-3, -1, -0.5, 0, 1e-9, 0.5, 1, 2, 30}}}};
  // Of the values, their magnitudes and their exponentials.
  using Write = StreamId (*)(Builder& b, StreamId v, StreamId m, StreamId e);
  const std::pair<const char*, Write> cases[] = {
      {"v^2", [](Builder& b, StreamId v, StreamId, StreamId) { return b.aluScalar(AluOp::pow, v, 2); }},
      {"v^3", [](Builder& b, StreamId v, StreamId, StreamId) { return b.aluScalar(AluOp::pow, v, 3); }},
      {"v^0", [](Builder& b, StreamId v, StreamId, StreamId) { return b.aluScalar(AluOp::pow, v, 0); }},
      {"e^-2", [](Builder& b, StreamId, StreamId, StreamId e) { return b.aluScalar(AluOp::pow, e, -2); }},
      {"m^0.5", [](Builder& b, StreamId, StreamId m, StreamId) { return b.aluScalar(AluOp::pow, m, 0.5); }},
      {"2-v", [](Builder& b, StreamId v, StreamId, StreamId) { return b.aluScalarFirst(AluOp::sub, 2, v); }},
      {"3/e", [](Builder& b, StreamId, StreamId, StreamId e) { return b.aluScalarFirst(AluOp::div, 3, e); }},
      {"min .5", [](Builder& b, StreamId v, StreamId, StreamId) { return b.aluScalar(AluOp::min, v, 0.5); }},
      {"min m", [](Builder& b, StreamId v, StreamId m, StreamId) { return b.alu(AluOp::min, {v, m}); }},
      {"sqrt", [](Builder& b, StreamId, StreamId m, StreamId) { return b.alu(AluOp::sqrt, {m}); }},
      {"1/e", [](Builder& b, StreamId, StreamId, StreamId e) { return b.alu(AluOp::reciprocal, {e}); }},
      {"tanh", [](Builder& b, StreamId v, StreamId, StreamId) { return b.alu(AluOp::tanh, {v}); }},
      {"silu", [](Builder& b, StreamId v, StreamId, StreamId) { return b.alu(AluOp::silu, {v}); }},
      {"gelu", [](Builder& b, StreamId v, StreamId, StreamId) { return b.alu(AluOp::gelu_tanh, {v}); }},
      {"not", [](Builder& b, StreamId v, StreamId, StreamId) { return b.alu(AluOp::logical_not, {v}); }},
      {"lt", [](Builder& b, StreamId v, StreamId, StreamId) { return b.aluScalar(AluOp::lt, v, 0.5); }},
      {"le", [](Builder& b, StreamId v, StreamId, StreamId) { return b.aluScalar(AluOp::le, v, 0.5); }},
      {"gt", [](Builder& b, StreamId v, StreamId m, StreamId) { return b.alu(AluOp::gt, {m, v}); }},
      {"ge", [](Builder& b, StreamId v, StreamId, StreamId) { return b.aluScalarFirst(AluOp::ge, 0.5, v); }},
      {"eq", [](Builder& b, StreamId v, StreamId, StreamId) { return b.aluScalar(AluOp::eq, v, 1); }},
      {"ne", [](Builder& b, StreamId v, StreamId m, StreamId) { return b.alu(AluOp::ne, {v, m}); }},
      {"ne -inf", [](Builder& b, StreamId v, StreamId, StreamId) { return b.aluScalar(AluOp::ne, v, -INFINITY); }},
      {"eq inf", [](Builder& b, StreamId v, StreamId, StreamId) { return b.aluScalar(AluOp::eq, v, INFINITY); }},
      {"and", [](Builder& b, StreamId v, StreamId m, StreamId) { return b.alu(AluOp::logical_and, {v, m}); }},
      {"or", [](Builder& b, StreamId v, StreamId, StreamId) { return b.aluScalar(AluOp::logical_or, v, 0); }},
      {"select", [](Builder& b, StreamId v, StreamId m, StreamId e) { return b.alu(AluOp::select, {v, m, e}); }},
      {"or 2", [](Builder& b, StreamId v, StreamId m, StreamId) { return b.aluScalar(AluOp::select, {v, m}, 2); }},
  };
  for (const auto& [name, write] : cases) {
    Builder b("g");
    b.input("B", {{LevelFormat::dense, 9}});
    b.output("x", {{LevelFormat::compressed, 9}});
    const auto [crd, ref] = b.scan("B", 0, b.root("B"));
    const StreamId v = b.array("B", ref);
    b.writeLevel("x", 0, crd);
    b.writeValues("x", write(b, v, b.alu(AluOp::abs, {v}), b.alu(AluOp::exp, {v})));
    const Graph graph = *std::move(b).finish();
    const auto bytes = writeSam(graph);
    ASSERT_TRUE(bytes) << name << ": " << bytes.error().str();
    const auto back = readSam(*bytes);
    ASSERT_TRUE(back) << name << ": " << back.error().str();
    const auto ours = run(graph, viewsOf(data)), theirs = run(*back, viewsOf(data));
    ASSERT_TRUE(ours && theirs) << name;
    for (size_t i = 0; i < 9; ++i) {
      const double wanted = ours->outputs.at("x").values[i];
      EXPECT_NEAR(theirs->outputs.at("x").values[i], wanted, 1e-12 * (1 + std::fabs(wanted))) << name << " " << i;
    }
  }
}

TEST(Sam, CutFilesAreRefusedAndNeverCrash) {
  const std::string bytes = *writeSam(graphOf(kSpmm));
  for (size_t n = 0; n < bytes.size(); ++n) {
    const auto graph = readSam(std::string_view(bytes).substr(0, n), "cut.bin");
    EXPECT_FALSE(graph) << n;
  }
  const std::string message = readSam(std::string_view(bytes).substr(0, bytes.size() - 1), "cut.bin").error().message;
  EXPECT_NE(message.find(fmt::format("is not whole in its {} bytes", bytes.size() - 1)), std::string::npos) << message;
  for (size_t n = 0; n < bytes.size(); ++n) {
    std::string damaged = bytes;
    damaged[n] = static_cast<char>(damaged[n] ^ 0x15);
    (void)readSam(damaged, "damaged.bin");
  }
  EXPECT_EQ(readSam("not a graph", "x").error().code, "T0950");
}

class SamData : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("sam_data_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void put(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  std::filesystem::path folder_;
};

TEST_F(SamData, ComesBackEqualAndFaultsAreLocated) {
  const Graph graph = graphOf(
      "stream @g {\n  tensor @B[?, ?] dense, compressed\n  output @x[?] compressed\n  %r1 = root @B\n"
      "  %c1, %r2 = scan @B 0 %r1\n  _, %r3 = scan @B 1 %r2\n  %v1 = array @B %r3\n"
      "  %v2 = reduce add %v1\n  write_level @x 0 %c1\n  write_values @x %v2\n}\n");
  TensorStorage tensor;
  tensor.levels = {{LevelFormat::dense, 2, {}, {}}, {LevelFormat::compressed, 5, {0, 2, 3}, {1, 4, 0}}};
  tensor.values = {0.1, -2.5e-7, 3};
  ASSERT_TRUE(writeSamData("B", tensor, folder_));
  const auto data = readSamData(graph, folder_);
  ASSERT_TRUE(data) << data.error().str();
  EXPECT_EQ(data->at("B"), tensor);
  const auto result = run(graph, viewsOf(*data));
  ASSERT_TRUE(result) << result.error().str();
  EXPECT_EQ(result->outputs.at("x").values, (std::vector<double>{0.1 - 2.5e-7, 3}));

  // Values without levels of their own, read along the walk of another tensor; here there are none.
  const Graph along = graphOf(
      "stream @g {\n  tensor @B[?, ?] dense, compressed\n  tensor @C[?] dense\n  output @x[?] compressed\n  %r1 = root "
      "@B\n"
      "  %c1, %r2 = scan @B 0 %r1\n  _, %r3 = scan @B 1 %r2\n  %v1 = array @C %r3\n"
      "  %v2 = reduce add %v1\n  write_level @x 0 %c1\n  write_values @x %v2\n}\n");
  tensor.levels[1] = {LevelFormat::compressed, 5, {0, 0, 0}, {}};
  tensor.values.clear();
  for (const char* name : {"B", "C"}) ASSERT_TRUE(writeSamData(name, tensor, folder_));
  const auto none = run(along, viewsOf(*readSamData(along, folder_)));
  ASSERT_TRUE(none) << none.error().str();
  EXPECT_EQ(none->outputs.at("x").values, (std::vector<double>{0, 0}));

  tensor.levels[1] = {LevelFormat::compressed, 5, {0, 2, 3}, {1, 4, 0}};
  tensor.values = {0.1, -2.5e-7, 3};
  ASSERT_TRUE(writeSamData("B", tensor, folder_));
  put("tensor_B_mode_1_crd", "1\nx\n0\n");
  EXPECT_NE(readSamData(graph, folder_).error().str().find("tensor_B_mode_1_crd:2:1: error T0953"), std::string::npos);
  put("tensor_B_mode_1_crd", "1\n5\n0\n");
  const auto outside = run(graph, viewsOf(*readSamData(graph, folder_)));
  EXPECT_NE(outside.error().message.find("tensor B: level 1: coordinate 1 is 5, outside 0 .. 4"), std::string::npos);
  put("tensor_B_mode_vals", "1\nnan\n");
  EXPECT_EQ(readSamData(graph, folder_).error().code, "T0953");
  std::filesystem::remove(folder_ / "tensor_B_mode_1_seg");
  EXPECT_EQ(readSamData(graph, folder_).error().code, "T0952");
}

TEST(Wire, NumbersOfAllSizesComeBack) {
  WireWriter writer;
  writer.varint(1, 300).varint(2, UINT64_MAX).number(3, -0.5).text(4, "abc").message(5, WireWriter().varint(1, 1));
  const auto message = WireMessage::parse(writer.bytes());
  ASSERT_TRUE(message);
  EXPECT_EQ(message->varint(1), 300u);
  EXPECT_EQ(message->varint(2), UINT64_MAX);
  EXPECT_EQ(message->number(3), -0.5);
  EXPECT_EQ(message->bytes(4), "abc");
  EXPECT_EQ(message->message(5)->varint(1), 1u);
  EXPECT_FALSE(WireMessage::parse("\x08"));
  EXPECT_FALSE(WireMessage::parse(std::string_view("\x0a\x05zz", 4)));
}

}  // namespace
}  // namespace tokamak::stream
