#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "graph/graph.h"
#include "graph/op_list.h"

/// docs/ir.md is true: its programs and examples parse, every op has a row, and every attribute stands in its op's row.
namespace tokamak {
namespace {

std::string page(const std::filesystem::path& path = TOKAMAK_SOURCE_DIR "/docs/ir.md") {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> blocks(const std::string& text, const std::string& language) {
  std::vector<std::string> found;
  const std::string open = "```" + language + "\n";
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    const size_t begin = at + open.size(), end = text.find("```", begin);
    found.push_back(text.substr(begin, end - begin));
    at = end;
  }
  return found;
}

struct Row {
  std::vector<std::string> ops;
  std::string example, attributes;
};

std::vector<std::string> codeIn(const std::string& cell) {
  std::vector<std::string> found;
  const std::regex code("`([^`]+)`");
  for (std::sregex_iterator it(cell.begin(), cell.end(), code), end; it != end; ++it) found.push_back((*it)[1]);
  return found;
}

/// The rows of the op tables: those with five cells.
std::vector<Row> rows(const std::string& text) {
  std::vector<Row> found;
  std::istringstream lines(text);
  const std::regex five(R"(\| (`.*?) \| `(.*?)` \|(.*?)\|(.*?)\|(.*)\|)");
  for (std::string line; std::getline(lines, line);) {
    std::smatch cells;
    if (std::regex_match(line, cells, five)) found.push_back({codeIn(cells[1]), cells[2], cells[3]});
  }
  return found;
}

TEST(IrPage, ProgramsParse) {
  const auto programs = blocks(page(), "tk");
  EXPECT_GE(programs.size(), 3u);
  for (const auto& program : programs) {
    const auto graph = parseGraph(program, "ir.md");
    EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().str()) << "\n" << program;
  }
}

TEST(IrPage, ExamplesParse) {
  std::string header;
  for (const auto& program : blocks(page(), "tk"))
    if (program.starts_with("graph @inputs")) header = program.substr(0, program.find('{') + 1);
  ASSERT_FALSE(header.empty());
  for (const Row& row : rows(page())) {
    const std::string program = header + "\n  %result = " + row.example + "\n  return %result\n}\n";
    const auto graph = parseGraph(program, "ir.md");
    EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().str()) << "\n" << row.example;
  }
}

TEST(IrPage, EveryOpAndAttributeHasItsPlace) {
  std::map<std::string, const Row*, std::less<>> byOp;
  const auto table = rows(page());
  for (const Row& row : table)
    for (const std::string& op : row.ops) EXPECT_TRUE(byOp.emplace(op, &row).second) << op << " has two rows";
  std::set<std::string_view> known;
  forEachOp([&](const auto& op) {
    known.insert(mnemonicOf(op));
    const auto it = byOp.find(mnemonicOf(op));
    ASSERT_NE(it, byOp.end()) << mnemonicOf(op) << " has no row";
    if constexpr (std::is_same_v<std::decay_t<decltype(op)>, Activation>) {
      if (it->second->attributes.find("alpha") == std::string::npos) return;  // the kinds that use no parameter
    }
    forEachField(op, [&](std::string_view name, const auto&) {
      EXPECT_NE(it->second->attributes.find("`" + std::string(name)), std::string::npos)
          << mnemonicOf(op) << " " << name;
    });
  });
  for (const auto& [op, row] : byOp) EXPECT_TRUE(known.contains(op)) << op << " is not an op";
}

/// A program on the page of a code is refused with that code, in the words that the page quotes.
TEST(ErrorPages, ShowWhatTheyTell) {
  for (const auto& entry : std::filesystem::directory_iterator(TOKAMAK_SOURCE_DIR "/docs/errors")) {
    const std::string code = entry.path().stem().string(), text = page(entry.path());
    if (!code.starts_with("T01") && !code.starts_with("T02")) continue;
    EXPECT_TRUE(text.starts_with("# " + code + ": ")) << code;
    for (const auto& program : blocks(text, "tk")) {
      const auto graph = parseGraph(program, "program.tk");
      ASSERT_FALSE(graph.ok()) << code;
      EXPECT_NE(text.find("```\n" + graph.error().str() + "\n```"), std::string::npos) << graph.error().str();
      EXPECT_EQ(graph.error().code, code);
    }
  }
}

}  // namespace
}  // namespace tokamak
