#include "library/library.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "library/naive_test.h"
#include "library/scratch.h"

namespace tokamak::library {
namespace {

TEST(Library, MissingLibrarySaysWhereItLooked) {
  auto library = Library::open({.path = "/no/such/folder/libdnnl.so.3"});
  EXPECT_FALSE(library->available());
  EXPECT_NE(library->available().reason().find("/no/such/folder/libdnnl.so.3 (no such file)"), std::string::npos);
  EXPECT_NE(library->available().reason().find("pip install onednn-cpu-gomp"), std::string::npos);
  EXPECT_FALSE(library->accepts(MatMulDesc{}));
  EXPECT_FALSE(library->accepts(ConvDesc{}));
  EXPECT_EQ(library->matmul({}).error().code, "T0700");
  EXPECT_EQ(library->conv({}).error().code, "T0700");
  EXPECT_TRUE(library->version().empty());
}

TEST(Library, FileThatIsNotTheLibrary) {
  char name[] = "/tmp/tokamak_dnnl_XXXXXX";
  const int fd = mkstemp(name);
  ASSERT_GE(fd, 0);
  std::ofstream(name) << "not a library";
  auto library = Library::open({.path = name});
  EXPECT_FALSE(library->available());
  EXPECT_NE(library->available().reason().find(name), std::string::npos);
  std::remove(name);
  library = Library::open({.path = "libm.so.6"});
  EXPECT_NE(library->available().reason().find("it is not oneDNN 3"), std::string::npos);
}

TEST(Library, FindsItAndTellsItsVersion) {
  auto library = Library::open();
  if (!library->available()) GTEST_SKIP() << library->available().reason();
  EXPECT_EQ(library->version().substr(0, 8), "oneDNN 3");
  EXPECT_NE(library->path().find("libdnnl.so"), std::string::npos);
  auto again = Library::open({.path = library->path()});
  EXPECT_TRUE(again->available());
}

/// Counts what is taken and given back.
struct CountingScratch final : ScratchSource {
  int taken = 0, given = 0;
  std::byte* take(int64_t bytes, void*& ticket) override {
    ++taken;
    ticket = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    return static_cast<std::byte*>(ticket);
  }
  void give(void* ticket) override {
    ++given;
    std::free(ticket);
  }
};

TEST(Library, CallsOutliveTheLibraryAndGiveScratchBack) {
  auto scratch = std::make_shared<CountingScratch>();
  auto library = Library::open({.scratch = scratch});
  if (!library->available()) GTEST_SKIP() << library->available().reason();
  MatMulDesc desc;
  desc.transposeA = true;
  auto call = *library->matmul(desc);
  library.reset();
  Random random;
  Buffer a = random.buffer(DType::f32, 100 * 60), b = random.buffer(DType::f32, 100 * 80), c(DType::f32, 60 * 80);
  void* addresses[] = {a.data(), b.data(), c.data()};
  ASSERT_TRUE(call->run({1, 60, 80, 100}, addresses));
  double expected = 0;
  for (int k = 0; k < 100; ++k) expected += a.get(k * 60 + 3) * b.get(k * 80 + 7);
  EXPECT_NEAR(c.get(3 * 80 + 7), expected, 1e-4);
  EXPECT_EQ(scratch->taken, scratch->given);
}

TEST(PostOp, FillWithoutProductAgreesWithTheNaiveOnes) {
  for (int k = 0; k <= static_cast<int>(PostOpKind::sum); ++k) {
    PostOp op{static_cast<PostOpKind>(k), 0.25f, 0.75f};
    for (const float x : {-20.0f, -3.0f, -0.5f, 0.0f, 0.3f, 2.0f, 30.0f}) {
      const double want = naivePostOp(op, x, 0.7f);
      if (std::isnan(want)) continue;
      EXPECT_NEAR(applyPostOp(op, x, 0.7f), want, 1e-5 * std::max(1.0, std::fabs(want)))
          << nameOf(op.kind) << " of " << x;
    }
  }
  EXPECT_TRUE(std::isnan(applyPostOp({PostOpKind::relu}, NAN, 0)));
  EXPECT_TRUE(std::isnan(applyPostOp({PostOpKind::max}, 1, NAN)));
}

TEST(ConvExtent, CountsWindows) {
  ConvDesc desc;
  ConvDims dims{1, 1, 1, {10, 5, 0}, {3, 5, 2}};
  desc.stride = {2, 1, 1}, desc.low = {1, 0, 0}, desc.dilation = {2, 1, 1};
  EXPECT_EQ(convExtent(desc, dims, 0), 4);
  EXPECT_EQ(convExtent(desc, dims, 1), 1);
  EXPECT_LT(convExtent(desc, dims, 2), 0);
}

}  // namespace
}  // namespace tokamak::library
