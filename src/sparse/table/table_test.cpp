#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sparse/lower/compile.h"
#include "sparse/testing/random_program.h"

namespace tokamak::sparse {

namespace {

Table tableOf(std::string_view text, const std::string& order = {}) {
  Program program = *parseProgram(text);
  Schedule schedule{.name = "s", .fuse = Schedule::Fuse::all};
  if (!order.empty()) {
    RegionSchedule region;
    for (const char v : order) region.order.emplace_back(1, v);
    schedule.regions.push_back(region);
  }
  const Result<Compiled> compiled = compile(program, schedule);
  EXPECT_TRUE(compiled.ok()) << compiled.error().str();
  return compiled->regions[0].table;
}

size_t count(const Table& table, CellKind kind) {
  size_t out = 0;
  for (const Cell& cell : table.cells()) out += cell.kind == kind;
  return out;
}

TEST(Table, PrintsSpmv) {
  const Table table = tableOf("dim N = 64\ninput A[N, N]: csr\ninput x[N]\noutput y[N]\ny[i] = A[i, j] * x[j]");
  EXPECT_EQ(print(table), R"(table y order i, j
tensor A = data A [64, 64] csr
tensor x = data x [64] dense
tensor y = result y [64] dense
|     | y                    | A[i, j]            | x[j]                    |
| i   | %11 = write y 0 %1.0 | %0 = root A        | %3 = root x             |
|     |                      | %1 = scan A 0 %0   | %4 = repeat %3 %1.1     |
| j   | %10 = reduce sum %9  | %2 = scan A 1 %1.1 | %5 = repeat %4 %2.1     |
|     |                      |                    | %6 = locate x 0 %2.0 %5 |
| val | %9 = apply mul %7 %8 | %7 = value A %2.1  | %8 = value x %6         |
|     | %12 = write y 1 %10  |                    |                         |
)");
}

TEST(Table, FactorsMeetAndTermsUnite) {
  const std::string head = "dim N = 8\ninput A[N, N]: dcsr\ninput B[N, N]: dcsr\noutput Y[N, N]: dcsr\n";
  const Table product = tableOf(head + "Y[i, j] = A[i, j] * B[i, j]");
  EXPECT_EQ(count(product, CellKind::intersect), 2u);
  EXPECT_EQ(count(product, CellKind::unite), 0u);
  const Table sum = tableOf(head + "Y[i, j] = A[i, j] + B[i, j]");
  EXPECT_EQ(count(sum, CellKind::intersect), 0u);
  EXPECT_EQ(count(sum, CellKind::unite), 2u);
  const Table twice = tableOf(head + "Y[i, j] = A[i, j] + relu(A[i, j]) * tanh(A[i, j])");
  EXPECT_EQ(count(twice, CellKind::unite) + count(twice, CellKind::intersect), 0u);
  EXPECT_EQ(count(twice, CellKind::scan), 2u);  // one walk serves all three uses
  const Table shifted = tableOf(head + "Y[i, j] = A[i, j] + 1");
  EXPECT_NE(shifted.tensor("N.range"), nullptr);  // every coordinate is visited
}

TEST(Table, CompressedResultsDropEmptyFibers) {
  const std::string head = "dim N = 8\ninput A[N, N]: dcsr\ninput B[N, N]: dcsr\noutput Y[N, N]: ";
  EXPECT_EQ(count(tableOf(head + "dcsr\nY[i, j] = A[i, j] * B[i, j]"), CellKind::drop), 2u);  // coordinates, values
  EXPECT_EQ(count(tableOf(head + "dcsr\nY[i, j] = A[i, j] + B[i, j]"), CellKind::drop), 0u);
  EXPECT_EQ(count(tableOf(head + "dense\nY[i, j] = A[i, j] * B[i, j]"), CellKind::drop), 0u);
}

TEST(Table, FoldsByDepth) {
  const std::string text =
      "dim N = 8\ninput A[N, N]: dcsr\ninput B[N, N]: dcsr\noutput Y[N, N]: dcsr\n"
      "Y[i, j] = A[i, k] * B[k, j]";
  EXPECT_EQ(count(tableOf(text, "ijk"), CellKind::reduce), 1u);
  const auto orderOfSpacc = [&](const std::string& order) {
    const Table table = tableOf(text, order);
    for (const Cell& cell : table.cells())
      if (cell.kind == CellKind::spacc) return cell.order;
    return 0;
  };
  EXPECT_EQ(orderOfSpacc("ikj"), 1);
  EXPECT_EQ(orderOfSpacc("kij"), 2);
}

TEST(Table, DifferentFunctionsAreDifferentCells) {
  const Table table = tableOf("dim N = 8\ninput x[N]: csf\noutput y[N]\ny[i] = exp(x[i]) * relu(x[i])");
  EXPECT_EQ(count(table, CellKind::apply), 3u);
  EXPECT_EQ(count(table, CellKind::value), 1u);
}

TEST(Table, ComesBackEqual) {
  size_t tables = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    const RandomCase c = randomCase(seed);
    const Result<Compiled> compiled = compile(c.program, c.schedule, &c.inputs);
    if (!compiled) continue;
    for (const CompiledRegion& region : compiled->regions) {
      const Result<Table> back = parseTable(print(region.table), "t.table");
      ASSERT_TRUE(back.ok()) << back.error().str() << "\n" << print(region.table);
      EXPECT_TRUE(*back == region.table) << print(region.table) << print(*back);
      ++tables;
    }
  }
  EXPECT_GT(tables, 100u);
}

TEST(Table, RefusesWithTheLine) {
  const auto error = [](std::string_view text) { return parseTable(text, "t").error(); };
  EXPECT_EQ(error("hello").location.line, 1);
  EXPECT_EQ(error("table t order i\n| | A |\n| q | |\n").message, "there is no row q");
  EXPECT_EQ(error("table t order i\n| | A |\n| i | %0 = dance A |\n").location.line, 3);
  EXPECT_EQ(error("table t order i\n| | A |\n| i | %0 = scan A 0 %1 |\n").code, "T0978");
}

/// A chain in which every layer uses its input twice: cost must not double with each.
TEST(Table, ResidualChainsStayLinear) {
  const auto cells = [](int layers) {
    std::string text = "dim N = 8\ninput X0[N, N]: csr\noutput Y[N, N]: csr\n";
    for (int l = 0; l < layers; ++l) text += fmt::format("X{}[i, j] = X{}[i, j] + relu(X{}[i, j])\n", l + 1, l, l);
    text += fmt::format("Y[i, j] = X{}[i, j]\n", layers);
    return tableOf(text).cells().size();
  };
  EXPECT_EQ(cells(500) - cells(400), 200u);
}

}  // namespace

}  // namespace tokamak::sparse
