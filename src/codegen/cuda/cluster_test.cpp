#include "codegen/cuda/testing.h"

/// Clusters of blocks: stores that reach every block's copy, and all blocks there before the first of them.
namespace tokamak::codegen::cuda {
namespace {

constexpr const char* kSums = R"(kernel @sums(in x: f32[256*N], out y: f32[N]; N) cluster 8 {
  cluster found: f32[8]
  cluster any: bool[8]
  for b in 0..8*N block.x {
    for t in 0..32 thread.x {
      let v: f32 = load x[b*32 + t] streaming
      let sum: f32 = warpfold(add, v, 32)
      if t == 0 {
        store found[fmod(b, 8)] = sum
        store any[fmod(b, 8)] = sum > 0.0
      }
      barrier cluster
      let all: f32x8 = load found[0]
      let some: boolx8 = load any[0]
      if and(t == 0, fmod(b, 8) == 0) {
        store y[b/8] = select(fold(max, some), fold(add, all), 0.0)
      }
    }
  }
})";

TEST(Cluster, StoresReachEveryBlock) {
  auto kernel = kernel::parseKernel(kSums);
  ASSERT_TRUE(kernel) << kernel.error().str();
  auto source = emitCuda(*kernel);
  ASSERT_TRUE(source) << source.error().str();
  const std::string& text = source->text;
  EXPECT_NE(text.find("__cluster_dims__(8, 1, 1)"), std::string::npos) << text;
  const size_t arrive = text.rfind("tk::cluster_arrive();"), wait = text.rfind("tk::cluster_wait();"),
               store = text.rfind("tk::store_cluster<8>(found["), meet = text.rfind("tk::cluster_barrier();");
  ASSERT_NE(meet, std::string::npos) << text;
  EXPECT_LT(arrive, wait) << text;
  EXPECT_LT(wait, store) << text;
  EXPECT_LT(store, meet) << text;
}

constexpr const char* kInbox = R"(kernel @sums(in x: f32[256*N], out y: f32[N]; N) cluster 8 {
  inbox found: f32[8]
  inbox sure: f64[8]
  for b in 0..8*N block.x {
    for t in 0..32 thread.x {
      let v: f32 = load x[b*32 + t] streaming
      let sum: f32 = warpfold(add, v, 32)
      if t == 0 {
        store found[fmod(b, 8)] = sum
        store sure[fmod(b, 8)] = cast<f64>(sum)
      }
      barrier inbox
      if and(t == 0, fmod(b, 8) == 0) {
        store y[b/8] = fold(add, load<8> found[0]) + cast<f32>(fold(max, load<8> sure[0]))
      }
    }
  }
})";

TEST(Cluster, InboxesCountTheBytesThatCome) {
  auto kernel = kernel::parseKernel(kInbox);
  ASSERT_TRUE(kernel) << kernel.error().str();
  auto source = emitCuda(*kernel);
  ASSERT_TRUE(source) << source.error().str();
  const std::string& text = source->text;
  const size_t begin = text.rfind("tk::inbox_begin(tk_came, 96);"), arrive = text.rfind("tk::cluster_arrive();"),
               wait = text.rfind("tk::cluster_wait();"), store = text.rfind("tk::store_inbox(found["),
               meet = text.rfind("tk::inbox_barrier(tk_came);");
  ASSERT_NE(meet, std::string::npos) << text;
  EXPECT_LT(begin, arrive) << text;
  EXPECT_LT(wait, store) << text;
  EXPECT_LT(store, meet) << text;
}

TEST(Cluster, Compiles) {
  TK_NEEDS_NVRTC(nvrtc);
  testing::expectCompiles(*nvrtc, *kernel::parseKernel(kSums));
  testing::expectCompiles(*nvrtc, *kernel::parseKernel(kSums), {.narrow = false, .alignment = 1});
  testing::expectCompiles(*nvrtc, *kernel::parseKernel(kInbox));
}

}  // namespace
}  // namespace tokamak::codegen::cuda
