#include <gtest/gtest.h>

#include <cstdlib>

#include "sparse/lower/execute.h"
#include "sparse/testing/random_program.h"

namespace tokamak::sparse {

namespace {

/// What became of a case: nothing wrong, refused for a good reason, or wrong.
struct Verdict {
  bool ran = false;
  std::string wrong;
};

Verdict judge(const RandomCase& c) {
  const Result<Compiled> compiled = compile(c.program, c.schedule, &c.inputs);
  if (!compiled) {
    const std::string& code = compiled.error().code;
    const bool unknown = compiled.error().message.find("is no index variable") != std::string::npos;  // when shrinking
    const bool fair = code == "T0971" || code == "T0972" || code == "T0977" || code == "T0975" || unknown;
    return {false, fair ? "" : compiled.error().str()};
  }
  const Result<Execution> execution = execute(*compiled, c.inputs);
  if (!execution) return {true, execution.error().str()};
  for (const Comparison& comparison : compareWithDense(c.program, *compiled, c.inputs, execution->results))
    if (!comparison.close) return {true, comparison.tensor + " differs by " + std::to_string(comparison.worst)};
  return {true, ""};
}

TEST(RandomPrograms, EqualTheirDenseForm) {
  const char* only = std::getenv("TOKAMAK_SPARSE_SEED");
  const char* count = std::getenv("TOKAMAK_SPARSE_COUNT");
  const uint64_t first = only ? std::strtoull(only, nullptr, 10) : 0;
  const uint64_t end = only ? first + 1 : count ? std::strtoull(count, nullptr, 10) : 1000;
  size_t ran = 0, failures = 0;
  for (uint64_t seed = first; seed < end && failures < 3; ++seed) {
    const RandomCase c = randomCase(seed);
    const Verdict verdict = judge(c);
    ran += verdict.ran;
    if (verdict.wrong.empty()) continue;
    ++failures;
    const RandomCase small = shrink(c, [](const RandomCase& candidate) { return !judge(candidate).wrong.empty(); });
    ADD_FAILURE() << "seed " << seed << ": " << judge(small).wrong << "\n" << small.str();
  }
  if (!only) EXPECT_GE(ran * 100, (end - first) * 95) << "programs must run, not be refused";
}

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
