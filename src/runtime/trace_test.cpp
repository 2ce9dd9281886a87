#include "runtime/trace.h"

#include <gtest/gtest.h>

namespace tokamak::runtime {
namespace {

Profile twoSteps() {
  return {{{"first", 2000, 4000000, false}, {"none", 0, 0, true}, {"second", 6000, 6000000, false}}};
}

TEST(Trace, TableHasRatesAndShares) {
  const std::string text = profileTable(twoSteps(), 4e12);
  EXPECT_NE(text.find("first           2.00   25.0%         4.000    2000.0       0.50"), std::string::npos) << text;
  EXPECT_NE(text.find("none    nothing to do"), std::string::npos) << text;
  EXPECT_NE(text.find("all             8.00"), std::string::npos) << text;
}

TEST(Trace, EventsFollowOneAnother) {
  const std::string text = chromeTrace(twoSteps(), "a \"program\"");
  EXPECT_NE(text.find(R"("name": "a \"program\"")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("name": "second", "ph": "X", "pid": 1, "tid": 1, "ts": 2.000, "dur": 6.000)"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("none"), std::string::npos) << text;
}

}  // namespace
}  // namespace tokamak::runtime
