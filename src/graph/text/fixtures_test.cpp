#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "graph/graph.h"

namespace tokamak {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<fs::path> programs(const char* folder, const std::string& prefix) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(fs::path(TOKAMAK_SOURCE_DIR) / folder))
    if (entry.path().extension() == ".tk" && entry.path().filename().string().starts_with(prefix))
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<fs::path> faultyPrograms() {
  auto found = programs("tests/errors", "T01");
  for (auto& path : programs("tests/errors", "T02")) found.push_back(path);
  return found;
}

std::string testName(const testing::TestParamInfo<fs::path>& info) { return info.param.stem().string(); }

class FaultyProgram : public testing::TestWithParam<fs::path> {};

TEST_P(FaultyProgram, IsRefusedAtItsPlace) {
  const std::string text = contents(GetParam());
  const std::regex pattern("^// expect (T[0-9]{4}) ([0-9]+):([0-9]+)\n");
  std::smatch expected;
  ASSERT_TRUE(std::regex_search(text, expected, pattern, std::regex_constants::match_continuous))
      << GetParam() << ": line 1 says what to expect";
  const auto graph = parseGraph(text, "file.tk");
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().code, expected[1].str()) << graph.error().str();
  EXPECT_EQ(graph.error().location.line, std::stoi(expected[2])) << graph.error().str();
  EXPECT_EQ(graph.error().location.column, std::stoi(expected[3])) << graph.error().str();
  EXPECT_EQ(graph.error().location.file, "file.tk");
  EXPECT_FALSE(graph.error().hint.empty()) << graph.error().str();
}

INSTANTIATE_TEST_SUITE_P(Errors, FaultyProgram, testing::ValuesIn(faultyPrograms()), testName);

class ExampleProgram : public testing::TestWithParam<fs::path> {};

TEST_P(ExampleProgram, ParsesAndRoundTrips) {
  const auto graph = parseGraph(contents(GetParam()), GetParam().string());
  ASSERT_TRUE(graph.ok()) << graph.error().str();
  const std::string text = print(*graph);
  const auto again = parseGraph(text);
  ASSERT_TRUE(again.ok()) << again.error().str() << text;
  EXPECT_EQ(*again, *graph);
  EXPECT_EQ(print(*again), text);
  EXPECT_EQ(graph->name, GetParam().stem().string());
}

INSTANTIATE_TEST_SUITE_P(Examples, ExampleProgram, testing::ValuesIn(programs("examples", "")), testName);

/// Whatever the text: a graph that prints and parses, or a diagnostic with code, place and hint.
void expectHandled(std::string_view text) {
  const auto graph = parseGraph(text);
  if (graph) {
    const auto again = parseGraph(print(*graph));
    ASSERT_TRUE(again.ok()) << again.error().str() << "\n" << print(*graph);
    ASSERT_EQ(*again, *graph) << print(*graph);
    return;
  }
  ASSERT_FALSE(graph.error().code.empty()) << text;
  ASSERT_GT(graph.error().location.line, 0) << graph.error().str() << "\n" << text;
  ASSERT_GT(graph.error().location.column, 0) << graph.error().str() << "\n" << text;
  ASSERT_FALSE(graph.error().hint.empty()) << graph.error().str() << "\n" << text;
}

std::vector<std::string> seeds() {
  std::vector<std::string> texts;
  for (const auto& path : programs("examples", "")) texts.push_back(contents(path));
  for (const auto& path : programs("tests/errors", "")) texts.push_back(contents(path));
  return texts;
}

TEST(GraphTextRobust, AnyCutIsHandled) {
  for (const std::string& text : seeds())
    for (size_t length = 0; length < std::min<size_t>(text.size(), 2500); length += text.size() > 1000 ? 7 : 1)
      expectHandled(std::string_view(text).substr(0, length));
}

TEST(GraphTextRobust, AnyChangedByteIsHandled) {
  uint64_t state = 0x9e3779b97f4a7c15ull;
  const auto random = [&](size_t n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return static_cast<size_t>(state % n);
  };
  const auto texts = seeds();
  const std::string marks = "%@{}[](),:=-+*/0123456789.einfaxMNS \n\"";
  for (int round = 0; round < 4000; ++round) {
    std::string text = texts[random(texts.size())];
    for (size_t edits = 1 + random(4); edits > 0 && !text.empty(); --edits) {
      const size_t at = random(text.size());
      switch (random(4)) {
        case 0: text[at] = static_cast<char>(random(256)); break;
        case 1: text[at] = marks[random(marks.size())]; break;
        case 2: text.erase(at, 1 + random(8)); break;
        default: text.insert(at, text.substr(random(text.size()), 1 + random(20))); break;
      }
    }
    expectHandled(text);
    if (HasFatalFailure()) FAIL() << "in round " << round;
  }
}

TEST(GraphTextRobust, LongInputsTakeLinearTime) {
  std::string chain = "graph @chain(%x: f32[64]) {\n  %0 = exp %x : f32[64]\n";
  for (int i = 1; i < 20000; ++i)
    chain += "  %" + std::to_string(i) + " = neg %" + std::to_string(i - 1) + " : f32[64]\n";
  chain += "  return %19999\n}\n";
  EXPECT_TRUE(parseGraph(chain).ok());
  expectHandled(std::string(1 << 20, '['));
  expectHandled("graph @f(%x: f32[" + std::string(1 << 20, '(') + "N]) {}");
  expectHandled("graph @f(%x: f32[2]) { %0 = exp %x {a = " + std::string(1 << 20, '[') + "} : f32[2] }");
  expectHandled("graph @" + std::string(1 << 20, 'a') + "(%x: f32[2]) { %0 = " + std::string(1 << 20, 'b') +
                " %x : f32[2] return %0 }");
  std::string wide = "graph @f(%x: f32[";
  for (int i = 0; i < 16; ++i)
    wide += (i ? ", " : "") + std::string("a") + std::to_string(i) + " + b" + std::to_string(i);
  expectHandled(wide + "]) { %0 = reshape %x : f32[4] return %0 }");
}

}  // namespace
}  // namespace tokamak
