#include <elf.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "codegen/cuda/testing.h"
#include "gpu_plans/run.h"

/// Plans count registers: what NVRTC gives a kernel must be what was planned for, and nothing may spill.
namespace tokamak::gpu_plans {
namespace {

struct Use {
  int registers = 0, stackBytes = 0;
};

/// Reads the cubin's .nv.info: entries of a form, an attribute, a size and as many bytes.
Use useOf(const std::vector<char>& cubin) {
  constexpr uint8_t kSized = 4, kFrame = 0x11, kRegisters = 0x2f;
  Use use;
  Elf64_Ehdr header;
  std::memcpy(&header, cubin.data(), sizeof(header));
  const auto section = [&](size_t i) {
    Elf64_Shdr out;
    std::memcpy(&out, cubin.data() + header.e_shoff + i * sizeof(out), sizeof(out));
    return out;
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr s = section(i);
    if (std::string(cubin.data() + names.sh_offset + s.sh_name) != ".nv.info") continue;
    const char *at = cubin.data() + s.sh_offset, *end = at + s.sh_size;
    while (at + 4 <= end) {
      uint16_t size;
      std::memcpy(&size, at + 2, 2);
      if (static_cast<uint8_t>(at[0]) != kSized) {
        at += 4;
        continue;
      }
      int32_t value = 0;
      if (size >= 8) std::memcpy(&value, at + 8, 4);
      if (static_cast<uint8_t>(at[1]) == kFrame) use.stackBytes = std::max(use.stackBytes, value);
      if (static_cast<uint8_t>(at[1]) == kRegisters) use.registers = std::max(use.registers, value);
      at += 4 + size;
    }
  }
  return use;
}

std::string norm(std::string_view kind, int64_t m, int64_t n) {
  const bool layer = kind == "layer";
  return fmt::format(R"(graph @g(%x: bf16[{1}, {2}], %w: bf16[{2}], %b: bf16[{2}]) {{
    %0 = norm %x, %w{3} {{kind = {0}, axes = 1, eps = 1e-05, affine = true}} : bf16[{1}, {2}]
    return %0
  }})",
                     kind, m, n, layer ? ", %b" : "");
}
std::string softmax(int64_t m, int64_t n) {
  return fmt::format(R"(graph @g(%x: bf16[{0}, {1}]) {{
    %0 = softmax %x {{axis = 1}} : bf16[{0}, {1}]
    return %0
  }})",
                     m, n);
}
std::string sum(int64_t m, int64_t n, int axis) {
  return fmt::format(R"(graph @g(%x: bf16[{0}, {1}]) {{
    %0 = reduce %x {{kind = sum, axes = [{2}]}} : bf16[{3}]
    return %0
  }})",
                     m, n, axis, axis == 0 ? n : m);
}

struct Case {
  std::string name, program;
};

std::vector<Case> cases() {
  std::vector<Case> out;
  const std::vector<std::pair<int64_t, int64_t>> sizes = {{16384, 1024}, {16384, 4096}, {8192, 16384}, {4096, 25600},
                                                          {65536, 257},  {2048, 65536}, {16384, 4095}, {512, 131072}};
  for (auto [m, n] : sizes) {
    const std::string size = fmt::format("{}x{}", m, n);
    out.push_back({"layernorm/" + size, norm("layer", m, n)});
    out.push_back({"rmsnorm/" + size, norm("rms", m, n)});
    out.push_back({"softmax/" + size, softmax(m, n)});
    out.push_back({"sum_inner/" + size, sum(m, n, 1)});
    out.push_back({"sum_outer/" + size, sum(m, n, 0)});
  }
  out.push_back({"gelu_chain", R"(graph @g(%x: f32[134217728]) {
    %0 = gelu_tanh %x : f32[134217728]
    %1 = gelu_tanh %0 : f32[134217728]
    return %1
  })"});
  out.push_back({"transpose", R"(graph @g(%x: f32[16384, 8192]) {
    %0 = transpose %x {perm = [1, 0]} : f32[8192, 16384]
    %1 = neg %0 : f32[8192, 16384]
    return %1
  })"});
  out.push_back({"cumsum", R"(graph @g(%x: bf16[8192, 4096]) {
    %0 = scan %x {kind = sum, axis = 1} : bf16[8192, 4096]
    return %0
  })"});
  return out;
}

TEST(GpuRegisters, NothingSpills) {
  TK_NEEDS_NVRTC(nvrtc);
  for (const Case& c : cases()) {
    const auto graph = parseGraph(c.program);
    ASSERT_TRUE(graph) << graph.error().str();
    CompileOptions options{.library = false};
    options.gpu.emplace();
    const auto lowered = lower(*graph, engine(), options);
    ASSERT_TRUE(lowered) << lowered.error().str();
    for (size_t r = 0; r < lowered->kernels.size(); ++r)
      for (const auto& launch : lowered->kernels[r]->launches) {
        const auto source = codegen::cuda::emitCuda(launch.kernel, {.halves = lowered->kernels[r]->halves});
        ASSERT_TRUE(source) << source.error().str();
        const auto cubin = nvrtc->compile(source->text, "sm_90a", launch.kernel.name);
        ASSERT_TRUE(cubin) << cubin.error().str();
        const Use use = useOf(*cubin);
        EXPECT_EQ(use.stackBytes, 0) << c.name << "\n" << source->text;
      }
  }
}

}  // namespace
}  // namespace tokamak::gpu_plans
