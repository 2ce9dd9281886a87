#include "driver/in_parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace tokamak {
namespace {

TEST(InParallel, DoesEachPieceOnce) {
  std::vector<std::atomic<int>> done(100);
  ASSERT_TRUE(forEachInParallel(done.size(), [&](size_t i) -> Result<> {
    ++done[i];
    return Unit{};
  }));
  for (const auto& times : done) EXPECT_EQ(times, 1);
  EXPECT_TRUE(forEachInParallel(0, [](size_t) -> Result<> { return Unit{}; }));
}

TEST(InParallel, GivesTheFirstFailureByNumberAfterAllAreDone) {
  std::atomic<int> done = 0;
  const auto result = forEachInParallel(50, [&](size_t i) -> Result<> {
    ++done;
    if (i % 10 != 7) return Unit{};
    return Diagnostic{"T0500", {}, std::to_string(i), {}};
  });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "7");
  EXPECT_EQ(done, 50);
}

TEST(InParallel, ThrowsHereWhatAnotherThreadThrew) {
  std::atomic<int> done = 0;
  const auto all = [&] {
    return forEachInParallel(50, [&](size_t i) -> Result<> {
      ++done;
      if (i % 10 == 3) throw std::runtime_error(std::to_string(i));
      return Unit{};
    });
  };
  try {
    (void)all();
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) { EXPECT_STREQ(error.what(), "3"); }
  EXPECT_EQ(done, 50);
}

}  // namespace
}  // namespace tokamak
