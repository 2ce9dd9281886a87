#include "codegen/cuda/testing.h"

namespace tokamak::codegen::cuda {
namespace {

using kernel::parseKernel;

std::string bodyOf(std::string_view text, const Assumptions& assumptions = {}) {
  auto kernel = parseKernel(text);
  if (!kernel) return kernel.error().str();
  auto source = emitCuda(*kernel, assumptions);
  if (!source) return source.error().str();
  const size_t at = source->text.find("extern \"C\"");
  return source->text.substr(at);
}

constexpr const char* kScale = R"(kernel @scale(in x: bf16[8192], out y: bf16[8192]) {
  for b in 0..4 block.x {
    for t in 0..256 thread.x {
      let v: bf16x8 = load x[b*2048 + t*8]
      let w: f32x8 = cast<f32>(v)*splat<8>(0.5)
      store y[b*2048 + t*8] = cast<bf16>(w)
    }
  }
})";

TEST(EmitCuda, VectorsOfHalvesMoveInSixteenBytes) {
  EXPECT_EQ(
      bodyOf(kScale),
      R"(extern "C" __global__ void __launch_bounds__(256) tk_scale(const tk::bf16* __restrict__ x, tk::bf16* __restrict__ y) {
  const int b = (int)blockIdx.x;
  const int t = (int)threadIdx.x;
  const int t0 = b * 2048 + t * 8;
  tk::bf16 v[8];
  tk::load<16>(v, x + t0);
  float w[8];
#pragma unroll
  for (int l = 0; l < 8; ++l) w[l] = tk::f32_lane(v, l) * 0.5f;
  tk::bf16 t1[8];
  tk::narrow_bf16(t1, w);
  tk::store<16>(y + t0, t1);
}
)");
}

TEST(EmitCuda, HalvesMayBeginAnywhere) {
  const std::string text = bodyOf(kScale, {.alignment = 1});
  EXPECT_NE(text.find("tk::load_anywhere(v, x + t0);"), std::string::npos) << text;
  EXPECT_NE(text.find("y[t0 + l] = "), std::string::npos) << text;
}

TEST(EmitCuda, PromisesAboutIndicesStopTheKernelInAllTheirBits) {
  const std::string text = bodyOf(R"(kernel @pick(in x: f32[500], in at: i64[128], out y: f32[128]) {
  for t in 0..128 thread.x {
    let row: i64 = within(load at[t], 500, true)
    store y[t] = load x[row]
  }
})");
  EXPECT_NE(text.find("const int row = (int)tk::within(at[t], (long long)500, true);"), std::string::npos) << text;
}

constexpr const char* kSingles = R"(kernel @scale(in x: f32[8192], out y: f32[8192]) {
  for b in 0..8 block.x {
    for t in 0..256 thread.x {
      store y[b*1024 + t*4] = load<4> x[b*1024 + t*4]
    }
  }
})";

TEST(EmitCuda, OtherUnalignedBuffersAreReadElementByElement) {
  const std::string text = bodyOf(kSingles, {.alignment = 1});
  EXPECT_EQ(text.find("tk::load"), std::string::npos) << text;
  EXPECT_NE(text.find("x[t0 + l]"), std::string::npos) << text;
}

TEST(EmitCuda, ShortRowsThatBeginAnywhereAreReadElementByElement) {
  const std::string text = bodyOf(R"(kernel @scale(in x: bf16[8192], in w: bf16[72], out y: bf16[8192]) {
  for b in 0..128 block.x {
    for t in 0..8 thread.x {
      let start: i64 = b*57
      let border: i64 = and(start, -8)
      let shift: i64 = start - border
      let v: bf16x8 = load x[b*64 + t*8]
      let u: bf16x8 = load w[t*8 - shift + 7]
      store y[b*64 + t*8] = cast<bf16>(cast<f32>(v) + cast<f32>(u))
    }
  }
})");
  EXPECT_EQ(text.find("load_anywhere"), std::string::npos) << text;
  EXPECT_NE(text.find("tk::load<16>"), std::string::npos) << text;
}

TEST(EmitCuda, Compiles) {
  TK_NEEDS_NVRTC(nvrtc);
  testing::expectCompiles(*nvrtc, *parseKernel(kScale));
  testing::expectCompiles(*nvrtc, *parseKernel(kScale), {.narrow = false, .alignment = 1});
}

}  // namespace
}  // namespace tokamak::codegen::cuda
