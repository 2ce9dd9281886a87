#include <gtest/gtest.h>

#include <cstdlib>

#include "sparse/lower/execute.h"
#include "sparse/table/split.h"
#include "sparse/testing/random_program.h"

namespace tokamak::sparse {

namespace {

/// What is wrong with a case; nothing where its results are those of the dense program.
std::string wrongWith(const RandomCase& c) {
  const Result<Compiled> compiled = compile(c.program, c.schedule, &c.inputs);
  if (!compiled) return compiled.error().str();
  const Result<Execution> execution = execute(*compiled, c.inputs);
  if (!execution) return execution.error().str();
  for (const Comparison& comparison : compareWithDense(c.program, *compiled, c.inputs, execution->results))
    if (!comparison.close) return comparison.tensor + " differs by " + std::to_string(comparison.worst);
  return "";
}

/// When shrinking, a refusal is another fault than the one looked for.
bool isWrongAlike(const RandomCase& candidate, bool refused) {
  const std::string wrong = wrongWith(candidate);
  return !wrong.empty() && (wrong.find("error T") != std::string::npos) == refused;
}

/// Whether a region has a fold with a loop of its own outside a loop of its result: what T0971 is about.
bool hasFoldOutside(const Program& program, const std::vector<size_t>& statements, const RegionSchedule& wish) {
  const Result<Region> region = splitBlocks(fuseRegion(program, statements), wish.blocks);
  if (!region) return false;
  const auto rank = [&](VarId v) {
    return std::find(wish.order.begin(), wish.order.end(), region->program.var(v).name) - wish.order.begin();
  };
  for (size_t e = 0; e < region->program.exprCount(); ++e) {
    const Expr& fold = region->program.expr(ExprId(e));
    if (fold.kind != ExprKind::reduce) continue;
    for (const VarId folded : fold.vars)
      for (const VarId free : region->program.freeVars(ExprId(e)))
        if (rank(folded) < rank(free)) return true;
  }
  return false;
}

TEST(RandomPrograms, EqualTheirDenseForm) {
  const char* only = std::getenv("TOKAMAK_SPARSE_SEED");
  const char* count = std::getenv("TOKAMAK_SPARSE_COUNT");
  const uint64_t first = only ? std::strtoull(only, nullptr, 10) : 0;
  const uint64_t end = only ? first + 1 : count ? std::strtoull(count, nullptr, 10) : 1000;
  size_t failures = 0;
  for (uint64_t seed = first; seed < end && failures < 3; ++seed) {
    const RandomCase c = randomCase(seed);
    const std::string wrong = wrongWith(c);
    if (wrong.empty()) continue;
    ++failures;
    const bool refused = wrong.find("error T") != std::string::npos;
    const RandomCase small = shrink(c, [&](const RandomCase& candidate) { return isWrongAlike(candidate, refused); });
    ADD_FAILURE() << "seed " << seed << ": " << wrongWith(small) << "\n" << small.str();
  }
}

/// Orders that are refused are those in which a fold's result would come as a stream of several levels.
TEST(RandomPrograms, AreRefusedForTheirFoldsOnly) {
  size_t refusals = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const RandomCase c = randomCase(seed);
    for (const Schedule& schedule : c.refused) {
      if (schedule.algebra) continue;  // regions are not what is written
      ++refusals;
      const Diagnostic why = compile(c.program, schedule, &c.inputs).error();
      EXPECT_EQ(why.code, "T0971");
      EXPECT_NE(why.message.find("a computed operand of several levels"), std::string::npos) << why.str();
      EXPECT_FALSE(why.hint.empty());
      const Result<Partition> parts = partition(c.program, schedule);
      ASSERT_TRUE(parts.ok());
      bool found = false;
      for (size_t r = 0; r < parts->regions.size() && !found; ++r)
        found = parts->schedules[r] && !parts->schedules[r]->order.empty() &&
                hasFoldOutside(c.program, parts->regions[r], *parts->schedules[r]);
      EXPECT_TRUE(found) << "seed " << seed << ": " << why.str() << "\n" << print(schedule);
    }
  }
  EXPECT_GT(refusals, 0u);
}

/// Folds in blocks over each other's variables, of statements that are both kept: no order of shared loops can run.
TEST(RandomPrograms, ContradictingFoldsRun) { EXPECT_EQ(wrongWith(randomCase(16439)), ""); }

TEST(RandomPrograms, PrintBackEqual) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const RandomCase c = randomCase(seed);
    const std::string text = print(c.program) + print(c.schedule);
    const Result<Source> source = parseSource(text, "random.ein");
    ASSERT_TRUE(source.ok()) << source.error().str() << "\n" << text;
    EXPECT_EQ(print(source->program) + print(source->schedules[0]), text);
  }
}

}  // namespace

}  // namespace tokamak::sparse
