#include "runtime/crowding.h"

#include <gtest/gtest.h>

namespace tokamak::runtime {
namespace {

constexpr int64_t kMicro = 1000, kMilli = 1'000'000;

bool aloneAt(Crowding& crowding, int64_t now) {
  return crowding.alone([now] { return now; });
}

TEST(Crowding, AsksNoClockBeforeThereWasAStall) {
  Crowding crowding;
  EXPECT_FALSE(crowding.alone([]() -> int64_t {
    ADD_FAILURE();
    return 0;
  }));
}

TEST(Crowding, WaitsThatAWokenThreadTakesAreNone) {
  Crowding crowding;
  crowding.joined(2, 0, 10 * kMicro, 400 * kMicro);
  EXPECT_FALSE(aloneAt(crowding, 400 * kMicro));
}

TEST(Crowding, AWaitThatIsStillFasterThanOneThreadIsNone) {
  Crowding crowding;
  crowding.joined(2, 0, 20 * kMilli, 35 * kMilli);
  EXPECT_FALSE(aloneAt(crowding, 35 * kMilli));
}

TEST(Crowding, AStallSendsLoopsToTheirCallerForAWhile) {
  Crowding crowding;
  const int64_t end = 4 * kMilli;
  crowding.joined(2, 0, 10 * kMicro, end);
  EXPECT_TRUE(aloneAt(crowding, end));
  EXPECT_TRUE(aloneAt(crowding, end + 3 * end));
  EXPECT_FALSE(aloneAt(crowding, end + 4 * end));
  EXPECT_FALSE(aloneAt(crowding, end + 4 * end + 1));
}

TEST(Crowding, LongLoopsMayHaveBeenStalled) {
  Crowding crowding;
  EXPECT_FALSE(crowding.joined(2, 0, 10 * kMicro, 20 * kMicro));
  EXPECT_TRUE(crowding.joined(2, 0, 7 * kMilli, 8 * kMilli));
  EXPECT_FALSE(crowding.joined(2, 0, 1 * kMilli, 8 * kMilli)) << "which is known";
}

TEST(Crowding, WatchesAfterAStallAndWhereItIsTold) {
  Crowding crowding;
  EXPECT_FALSE(crowding.isWatched(1));
  crowding.watch(5 * kMilli);
  EXPECT_TRUE(crowding.isWatched(100 * kMilli));
  EXPECT_FALSE(crowding.isWatched(3000 * kMilli));
  crowding.joined(2, 4000 * kMilli, 0, 4001 * kMilli);
  EXPECT_TRUE(crowding.isWatched(4010 * kMilli));
}

TEST(Crowding, StallsThatFollowOneAnotherLastLonger) {
  Crowding crowding;
  int64_t now = 0;
  const auto stall = [&] {
    crowding.joined(2, now, 0, now + kMilli);
    now += kMilli;
    int64_t length = 0;
    while (aloneAt(crowding, now + length)) length += kMilli;
    now += length;
    return length;
  };
  EXPECT_EQ(stall(), 4 * kMilli);
  EXPECT_EQ(stall(), 8 * kMilli);
  EXPECT_EQ(stall(), 16 * kMilli);
  for (int i = 0; i < 10; ++i) stall();
  EXPECT_EQ(stall(), 1000 * kMilli);
  now += 2000 * kMilli;  // of loops that were shared without a stall
  EXPECT_EQ(stall(), 4 * kMilli);
}

}  // namespace
}  // namespace tokamak::runtime
