#include "bench/cases.h"

#include <fmt/format.h>

namespace tokamak::bench {

namespace {

constexpr double kMi = 1 << 20;

void pointwise(std::vector<Case>& out) {
  out.push_back({"gelu_chain/f32/16Mi", R"(graph @gelu(%x: f32[16777216]) {
    %c0 = full {value = 0.044715} : f32[16777216]
    %c1 = full {value = 0.7978845608} : f32[16777216]
    %c2 = full {value = 1.0} : f32[16777216]
    %c3 = full {value = 0.5} : f32[16777216]
    %0 = mul %x, %c0 : f32[16777216]
    %1 = mul %0, %x : f32[16777216]
    %2 = mul %1, %x : f32[16777216]
    %3 = add %x, %2 : f32[16777216]
    %4 = mul %3, %c1 : f32[16777216]
    %5 = tanh %4 : f32[16777216]
    %6 = add %5, %c2 : f32[16777216]
    %7 = mul %x, %c3 : f32[16777216]
    %8 = mul %7, %6 : f32[16777216]
    return %8
  })",
                 128 * kMi, false, 0.7});
  out.push_back({"add_relu_broadcast/f32/4096x4096", R"(graph @f(%a: f32[4096, 4096], %b: f32[4096]) {
    %0 = broadcast %b {axes = [1]} : f32[4096, 4096]
    %1 = add %a, %0 : f32[4096, 4096]
    %2 = relu %1 : f32[4096, 4096]
    return %2
  })",
                 128 * kMi, false, 0.85});
  out.push_back({"swiglu/f32/4096x11008", R"(graph @f(%a: f32[4096, 11008], %b: f32[4096, 11008]) {
    %0 = silu %a : f32[4096, 11008]
    %1 = mul %0, %b : f32[4096, 11008]
    return %1
  })",
                 3.0 * 4096 * 11008 * 4, false, 0.85});
  out.push_back({"embedding_scale/f32/65536x512", R"(graph @f(%t: f32[32000, 512], %i: i64[65536]) {
    %0 = index_select %t, %i {axis = 0} : f32[65536, 512]
    %1 = full {value = 22.6} : f32[65536, 512]
    %2 = mul %0, %1 : f32[65536, 512]
    return %2
  })",
                 2.0 * 65536 * 512 * 4, false, 0.85});
  out.push_back({"transpose_scale/f32/8192x8192", R"(graph @f(%x: f32[8192, 8192]) {
    %0 = transpose %x {perm = [1, 0]} : f32[8192, 8192]
    %1 = full {value = 2.0} : f32[8192, 8192]
    %2 = mul %0, %1 : f32[8192, 8192]
    return %2
  })",
                 512 * kMi, false, 0.5});
}

void folds(std::vector<Case>& out) {
  out.push_back(
      {"sum_inner/f32/16384x4096",
       "graph @f(%x: f32[16384, 4096]) {\n %0 = reduce %x {kind = sum, axes = [1]} : f32[16384]\n return %0\n}",
       256 * kMi, true, 0.85});
  out.push_back(
      {"sum_outer/f32/16384x4096",
       "graph @f(%x: f32[16384, 4096]) {\n %0 = reduce %x {kind = sum, axes = [0]} : f32[4096]\n return %0\n}",
       256 * kMi, true, 0.85});
  out.push_back({"sum_all/f32/16384x4096",
                 "graph @f(%x: f32[16384, 4096]) {\n %0 = reduce %x {kind = sum, axes = [0, 1]} : f32[]\n return %0\n}",
                 256 * kMi, true, 0.85});
  out.push_back(
      {"argmax/f32/16384x4096",
       "graph @f(%x: f32[16384, 4096]) {\n %0 = reduce %x {kind = argmax, axes = [1]} : i64[16384]\n return %0\n}",
       256 * kMi, true, 0.85});
  out.push_back(
      {"cumsum/f32/8192x4096",
       "graph @f(%x: f32[8192, 4096]) {\n %0 = scan %x {kind = sum, axis = 1} : f32[8192, 4096]\n return %0\n}",
       256 * kMi, false, 0.6});
}

std::string writtenLayerNorm(const std::string& t, int n) {
  const std::string rows = fmt::format("f32[8192, {}]", n);
  std::string s = fmt::format("graph @f(%x: {0}[8192, {1}], %w: {0}[{1}], %b: {0}[{1}]) {{\n", t, n);
  s += t == "f32" ? fmt::format("  %one = full {{value = 1.0}} : {0}\n  %xf = mul %x, %one : {0}\n", rows)
                  : fmt::format("  %xf = cast %x : {0}\n", rows);
  s += fmt::format(R"(  %m = reduce %xf {{kind = mean, axes = [1]}} : f32[8192]
  %mb = broadcast %m {{axes = [0]}} : {0}
  %c = sub %xf, %mb : {0}
  %q = mul %c, %c : {0}
  %v = reduce %q {{kind = mean, axes = [1]}} : f32[8192]
  %e = full {{value = 1e-05}} : f32[8192]
  %ve = add %v, %e : f32[8192]
  %r = rsqrt %ve : f32[8192]
  %rb = broadcast %r {{axes = [0]}} : {0}
  %n = mul %c, %rb : {0}
  %h = cast %n : {1}[8192, {2}]
  %wb = broadcast %w {{axes = [1]}} : {1}[8192, {2}]
  %bb = broadcast %b {{axes = [1]}} : {1}[8192, {2}]
  %s = mul %h, %wb : {1}[8192, {2}]
  %o = add %s, %bb : {1}[8192, {2}]
  return %o
}})",
                   rows, t, n);
  return s;
}

void norms(std::vector<Case>& out) {
  for (int n : {4096, 4095})
    for (const std::string t : {"f32", "bf16"}) {
      const double width = t == "f32" ? 4 : 2, bytes = 2.0 * 8192 * n * width;
      const bool wide = t == "f32";
      const std::string size = fmt::format("{}/8192x{}", t, n);
      const std::string x = fmt::format("{}[8192, {}]", t, n), w = fmt::format("{}[{}]", t, n);
      out.push_back({"layer_norm/" + size,
                     fmt::format("graph @f(%x: {0}, %w: {1}, %b: {1}) {{\n %0 = norm %x, %w, %b {{kind = layer, affine "
                                 "= true}} : {0}\n return %0\n}}",
                                 x, w),
                     bytes, false, wide ? 0.75 : 0.55});
      out.push_back({"layer_norm_written/" + size, writtenLayerNorm(t, n), bytes, false, wide ? 0.75 : 0.55});
      out.push_back(
          {"rms_norm/" + size,
           fmt::format(
               "graph @f(%x: {0}, %w: {1}) {{\n %0 = norm %x, %w {{kind = rms, affine = true}} : {0}\n return %0\n}}",
               x, w),
           bytes, false, wide ? 0.75 : 0.55});
      out.push_back({"softmax/" + size,
                     fmt::format("graph @f(%x: {0}) {{\n %0 = softmax %x {{axis = 1}} : {0}\n return %0\n}}", x), bytes,
                     false, wide ? 0.6 : 0.35});
    }
  out.push_back({"mask_softmax/f32/8x12x512x512", R"(graph @f(%s: f32[8, 12, 512, 512], %m: f32[512, 512]) {
    %k = full {value = 0.125} : f32[8, 12, 512, 512]
    %0 = mul %s, %k : f32[8, 12, 512, 512]
    %1 = broadcast %m {axes = [2, 3]} : f32[8, 12, 512, 512]
    %2 = add %0, %1 : f32[8, 12, 512, 512]
    %3 = softmax %2 {axis = 3} : f32[8, 12, 512, 512]
    return %3
  })",
                 2.0 * 8 * 12 * 512 * 512 * 4, false, 0.6});
}

void products(std::vector<Case>& out) {
  auto linear = [](int m, int n, int k) {
    return fmt::format(
        "graph @f(%x: f32[{0}, {2}], %w: f32[{1}, {2}], %b: f32[{1}]) {{\n %0 = matmul %x, %w, %b {{transpose_b = "
        "true}} : f32[{0}, {1}]\n %1 = gelu %0 : f32[{0}, {1}]\n return %1\n}}",
        m, n, k);
  };
  out.push_back(
      {"linear_gelu/f32/512x3072x768", linear(512, 3072, 768), 0, false, 0, 2.0 * 512 * 3072 * 768, 200, true});
  out.push_back({"linear_gelu/f32/1x4096x4096", linear(1, 4096, 4096), 64 * kMi, true, 0.8, 0, 0, true});
  // Decoding: few rows against weights that were not packed beforehand.
  for (const std::string t : {"f32", "bf16"})
    for (int m : {1, 4})
      out.push_back({fmt::format("decode/{}/{}x11008x4096", t, m),
                     fmt::format("graph @f(%x: {0}[{1}, 4096], %w: {0}[11008, 4096]) {{\n %0 = matmul %x, %w "
                                 "{{transpose_b = true}} : {0}[{1}, 11008]\n return %0\n}}",
                                 t, m),
                     11008.0 * 4096 * (t == "f32" ? 4 : 2), true, m == 1 ? 0.8 : 0.6});
}

}  // namespace

std::vector<Case> allCases() {
  std::vector<Case> out;
  pointwise(out);
  folds(out);
  norms(out);
  products(out);
  return out;
}

}  // namespace tokamak::bench
