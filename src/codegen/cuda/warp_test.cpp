#include "codegen/cuda/testing.h"

/// What only GPUs have: warps, shared memory, barriers, accesses of sixteen bytes under masks.
namespace tokamak::codegen::cuda {
namespace {

using kernel::parseKernel;

std::string textOf(std::string_view text) {
  auto kernel = parseKernel(text);
  if (!kernel) return kernel.error().str();
  auto source = emitCuda(*kernel);
  return source ? source->text : source.error().str();
}

constexpr const char* kRowSums =
    R"(kernel @row_sums(in x: bf16[256*M], out y: f32[M]; M) resident 8 reach [256*M + 2048] {
  for b in 0..floordiv(M + 7, 8) block.x {
    for t in 0..256 thread.x {
      let row: i64 = b*8 + t/32
      let here: boolx8 = splat<8>(row < M)
      let v: f32x8 = cast<f32>(load<8> x[row*256 + fmod(t, 32)*8] mask here aligned evict_last)
      let sum: f32 = warpfold(add, fold(add, v), 32)
      let before: f32 = warpshift(sum, 0.5, 32)
      let so_far: f32 = warpprefix(max, before, 8)
      if and(row < M, fmod(t, 32) == 0) {
        store y[row] = sum + so_far
      }
    }
  }
})";

TEST(Warp, FoldsAndResidentBlocks) {
  const std::string text = textOf(kRowSums);
  EXPECT_NE(text.find("__launch_bounds__(256, 8)"), std::string::npos) << text;
  EXPECT_NE(text.find("for (int d = 16; d > 0; d /= 2) {\n"), std::string::npos) << text;
  // Every lane takes part in a shuffle: it stands in no branch and on no side of && or ||.
  EXPECT_NE(text.find("const float across = tk::shuffle_xor("), std::string::npos) << text;
  EXPECT_NE(text.find("tk::load_evict_last<16>"), std::string::npos) << text;
  EXPECT_EQ(text.find("long long row"), std::string::npos) << "a reach makes indices narrow\n" << text;
}

TEST(Warp, Compiles) {
  TK_NEEDS_NVRTC(nvrtc);
  testing::expectCompiles(*nvrtc, *parseKernel(kRowSums));
  testing::expectCompiles(*nvrtc, *parseKernel(kRowSums), {.narrow = false, .alignment = 1});
}

TEST(Warp, FoldsLanesOfThreadsThatAreApart) {
  constexpr const char* kColumns = R"(kernel @columns(in x: bf16[256*M], out y: f32[128*M]; M) {
    for b in 0..M block.x {
      for t in 0..32 thread.x {
        let v: f32x8 = cast<f32>(load<8> x[b*256 + t*8])
        let sum: f32x8 = warpfold(add, v, 2, 16)
        let most: i64x2 = warpfold(max, ramp<2>(t), 4, 2)
        if t < 16 {
          store y[b*128 + t*8] = sum
        } else {
          prefetch x[fold(add, most)]
        }
      }
    }
  })";
  const std::string text = textOf(kColumns);
  EXPECT_NE(text.find("for (int d = 16; d >= 16; d /= 2) {\n"), std::string::npos) << text;
  TK_NEEDS_NVRTC(nvrtc);
  testing::expectCompiles(*nvrtc, *parseKernel(kColumns));
}

TEST(Warp, MasksByLane) {
  TK_NEEDS_NVRTC(nvrtc);
  testing::expectCompiles(*nvrtc, *parseKernel(R"(kernel @masked(in x: f32[N], out y: f32[N]; N) reach [N + 1024] {
    shared tile: f32[16384]
    for b in 0..floordiv(N + 511, 512) block.x {
      for t in 0..128 thread.x {
        let i: i64 = b*512 + t*4
        let m: boolx4 = ramp<4>(i) < splat<4>(N)
        store tile[t*4] aligned = load<4> x[i] mask m aligned
        barrier
        let other: i64 = 508 - t*4
        store y[i] mask m aligned = load<4> tile[other] aligned
      }
    }
  })"));
}

}  // namespace
}  // namespace tokamak::codegen::cuda
