#include "sparse/order/order.h"

#include <gtest/gtest.h>

#include "sparse/lower/to_stream.h"
#include "sparse/table/build.h"
#include "sparse/table/split.h"
#include "sparse/testing/random_program.h"

namespace tokamak::sparse {

namespace {

/// The graph under an order, or why there is none.
std::string graphOf(const Region& region, const OrderProblem& problem, const std::vector<VarId>& order) {
  const Result<Table> table = buildTable(region, {.order = order, .views = copiedViews(region, problem, order)});
  return table ? print(*toStream(*table)) : table.error().message;
}

TEST(FoldsApart, RenamesOnlyWhatContradicts) {
  const char* head = "dim N\ninput A[N, N]\noutput S[N]\noutput T[N]\n";
  const Program same = *parseProgram(std::string(head) + "S[i] = sum(j: A[i, j])\nT[i] = max(j: A[i, j])\n");
  EXPECT_FALSE(foldsApart(same));
  const Program crossed = *parseProgram(std::string(head) + "S[i] = sum(j: A[i, j])\nT[j] = max(i: A[i, j])\n");
  const std::optional<Program> apart = foldsApart(crossed);
  ASSERT_TRUE(apart);
  EXPECT_EQ(printStatements(*apart), "S[i] = sum(j: A[i, j])\nT[j] = max(i_1: A[i_1, j])\n");
  EXPECT_FALSE(foldsApart(*apart));
}

TEST(Nests, OrdersOfOneKeyGiveOneGraph) {
  size_t orders = 0, different = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    const RandomCase c = randomCase(seed);
    std::vector<size_t> all(c.program.statements().size());
    for (size_t s = 0; s < all.size(); ++s) all[s] = s;
    const Region region = *splitBlocks(fuseRegion(c.program, all));
    const Nests nests(region.program);
    const OrderProblem problem = *orderProblem(region, {}, [](TensorId) { return 1.0; });
    std::map<Nests::Key, std::string> known;
    int left = 30;
    problem.forEachOrder([&](const std::vector<VarId>& order) {
      const std::string graph = graphOf(region, problem, order);
      const auto [same, added] = known.try_emplace(nests.keyOf(order), graph);
      EXPECT_EQ(same->second, graph) << "seed " << seed << "\n" << print(region.program);
      ++orders;
      different += added ? 1 : 0;
      return --left > 0;
    });
  }
  EXPECT_LT(different, orders);
}

TEST(Nests, FoldsSideBySideHaveNoOrder) {
  const Source source = *parseSource(
      "dim N = 4, M = 5, K = 6\ninput A[N, M]\ninput B[N, K]\noutput Y[N]\n"
      "Y[i] = sum(j: A[i, j]) * sum(k: B[i, k])");
  const Region region = fuseRegion(source.program, {0});
  const Nests nests(region.program);
  const Program& p = region.program;
  const auto var = [&](std::string_view name) {
    for (size_t v = 0; v < p.varCount(); ++v)
      if (p.var(VarId(v)).name == name) return VarId(v);
    return VarId();
  };
  const VarId i = var("i"), j = var("j"), k = var("k");
  EXPECT_EQ(nests.keyOf({i, j, k}), nests.keyOf({i, k, j}));
  EXPECT_NE(nests.keyOf({i, j, k}), nests.keyOf({j, i, k}));
}

}  // namespace

}  // namespace tokamak::sparse
