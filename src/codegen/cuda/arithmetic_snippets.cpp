#include "codegen/cuda/snippet_tables.h"

namespace tokamak::codegen::cuda {

const std::vector<Snippet>& arithmeticSnippets() {
  static const std::vector<Snippet> snippets = {
      // ---- halves: storage types, converted by the instructions of sm_80 and later ----
      {"bf16", {}, "struct bf16 { unsigned short bits; };\n"},
      {"f16", {}, "struct f16 { unsigned short bits; };\n"},
      {"f32_of_bf16",
       {"bf16"},
       R"(D float f32_of_bf16(bf16 x) { return __uint_as_float((unsigned)x.bits << 16); }
)"},
      // Two share a register: the lower one is shifted up, the upper one is where it belongs already.
      {"f32_lane",
       {"bf16"},
       R"(template <int N> D float f32_lane(const bf16 (&x)[N], int l) {
  unsigned pair;
  memcpy(&pair, x + l / 2 * 2, 4);
  return __uint_as_float(l % 2 ? pair & 0xffff0000u : pair << 16);
}
)"},
      {"f32_of_f16",
       {"f16"},
       R"(D float f32_of_f16(f16 x) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits)); return r; }
)"},
      {"bf16_of_f32",
       {"bf16"},
       R"(D bf16 bf16_of_f32(float x) { bf16 r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(x)); return r; }
)"},
      {"f16_of_f32",
       {"f16"},
       R"(D f16 f16_of_f32(float x) { f16 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x)); return r; }
)"},
      // Two at a time, which is one instruction.
      {"narrow_bf16",
       {"bf16"},
       R"(template <int N> D void narrow_bf16(bf16 (&to)[N], const float (&from)[N]) {
#pragma unroll
  for (int i = 0; i < N; i += 2) {
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(from[i + 1]), "f"(from[i]));
    memcpy(to + i, &pair, 4);
  }
}
)"},
      {"narrow_f16",
       {"f16"},
       R"(template <int N> D void narrow_f16(f16 (&to)[N], const float (&from)[N]) {
#pragma unroll
  for (int i = 0; i < N; i += 2) {
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(from[i + 1]), "f"(from[i]));
    memcpy(to + i, &pair, 4);
  }
}
)"},
      // What is lost shows in the last bit, so that the rounding to a half that follows sees it.
      {"f32_to_odd",
       {},
       R"(D float f32_to_odd(double x) {
  const float r = __double2float_rz(x);
  return (double)r == x ? r : __uint_as_float(__float_as_uint(r) | 1u);
}
)"},
      // ---- floats to integers: toward zero, NaN gives 0, what is too large saturates ----
      {"i64_of_f32", {}, "D long long i64_of_f32(float x) { return x == x ? __float2ll_rz(x) : 0; }\n"},
      {"i64_of_f64", {}, "D long long i64_of_f64(double x) { return x == x ? __double2ll_rz(x) : 0; }\n"},
      // ---- extremes that NaN wins ----
      {"maxf",
       {},
       R"(D float maxf(float a, float b) { float r; asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
)"},
      {"minf",
       {},
       R"(D float minf(float a, float b) { float r; asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
)"},
      {"maxd", {}, "D double maxd(double a, double b) { return a != a || a > b ? a : b; }\n"},
      {"mind", {}, "D double mind(double a, double b) { return a != a || a < b ? a : b; }\n"},
      {"max", {}, "template <class T> D T max(T a, T b) { return a < b ? b : a; }\n"},
      {"min", {}, "template <class T> D T min(T a, T b) { return b < a ? b : a; }\n"},
      {"sign", {}, "template <class T> D T sign(T x) { return T((x > T(0)) - (x < T(0))); }\n"},
      {"sigmoidf", {}, "D float sigmoidf(float x) { return 1.0f / (1.0f + expf(-x)); }\n"},
      // ---- for results that are rounded to halves ----
      {"exp2_quick",
       {},
       R"(D float exp2_quick(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
)"},
      {"exp_quick", {"exp2_quick"}, "D float exp_quick(float x) { return exp2_quick(x * 1.44269504f); }\n"},
      {"rcp_quick",
       {},
       R"(D float rcp_quick(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
)"},
      // A divisor whose reciprocal is no ordinary number is scaled first. What depends on the divisor alone is computed
      // once where a row shares it.
      {"div_quick",
       {"rcp_quick"},
       R"(D float div_quick(float a, float b) {
  const float m = fabsf(b), s = m > 0x1p+100f ? 0x1p-40f : m < 0x1p-100f ? 0x1p+40f : 1.0f;
  return a * rcp_quick(b * s) * s;
}
)"},
      {"sigmoid_quick",
       {"exp_quick", "rcp_quick"},
       "D float sigmoid_quick(float x) { return rcp_quick(1.0f + exp_quick(-x)); }\n"},
      // k erf(s x) but for values near zero: a polynomial in 1 / (1 + p x) times exp(-x^2), wrong by 2^-22. The
      // exponential comes with a factor of 0.3989423, as the derivative of GELU has it.
      {"erf_far",
       {"exp2_quick", "rcp_quick"},
       R"(D float erf_far(float x, float s, float k) {
  const float t = rcp_quick(fmaf(0.3275911f * s, fabsf(x), 1.0f)), c = k * 2.50662820f;
  float p = fmaf(1.061405429f * c, t, -1.453152027f * c);
  p = fmaf(p, t, 1.421413741f * c);
  p = fmaf(p, t, -0.284496736f * c);
  p = fmaf(p, t, 0.254829592f * c);
  return copysignf(fmaf(-p * t, exp2_quick(fmaf(x * x, -1.44269504f * s * s, -1.325748f)), k), x);
}
)"},
      {"erf_quick",
       {"erf_far"},
       R"(D float erf_quick(float x) {
  return fabsf(x) < 0.06f ? x * fmaf(x * x, -0.376126389f, 1.128379167f) : erf_far(x, 1.0f, 1.0f);
}
)"},
      {"sigmoidd", {}, "D double sigmoidd(double x) { return 1.0 / (1.0 + exp(-x)); }\n"},
      // ---- floating-point division that rounds down ----
      {"remf",
       {},
       R"(template <class T> D T remf(T a, T b) {
  const T r = fmod(a, b);
  return r != T(0) && (b < T(0)) != (r < T(0)) ? r + b : r;
}
)"},
      {"floordivf",
       {},
       R"(template <class T> D T floordivf(T a, T b) {
  if (b == T(0)) return a / b;
  const T r = fmod(a, b);
  T q = (a - r) / b;
  if (r != T(0) && (b < T(0)) != (r < T(0))) q -= T(1);
  if (q == T(0)) return copysign(T(0), a / b);
  const T down = floor(q);
  return q - down > T(0.5) ? down + T(1) : down;
}
)"},
      // ---- integers: everything wraps, and by 0 everything is 0 ----
      {"add", {}, "template <class U, class T> D T add(T a, T b) { return T(U(a) + U(b)); }\n"},
      {"sub", {}, "template <class U, class T> D T sub(T a, T b) { return T(U(a) - U(b)); }\n"},
      {"mul", {}, "template <class U, class T> D T mul(T a, T b) { return T(U(a) * U(b)); }\n"},
      {"neg", {}, "template <class U, class T> D T neg(T a) { return T(U(0) - U(a)); }\n"},
      {"abs", {}, "template <class U, class T> D T abs(T a) { return a < T(0) ? T(U(0) - U(a)) : a; }\n"},
      {"div",
       {},
       R"(template <class U, class T> D T div(T a, T b) {
  return b == T(0) ? T(0) : b == T(-1) && T(-1) < T(0) ? T(U(0) - U(a)) : T(a / b);
}
)"},
      {"fmod",
       {},
       "template <class T> D T fmod(T a, T b) { return b == T(0) || (b == T(-1) && T(-1) < T(0)) ? T(0) : T(a % b); "
       "}\n"},
      {"rem",
       {"fmod"},
       R"(template <class T> D T rem(T a, T b) {
  const T r = tk::fmod(a, b);
  return r != T(0) && (r < T(0)) != (b < T(0)) ? T(r + b) : r;
}
)"},
      {"floordiv",
       {"fmod", "div"},
       R"(template <class U, class T> D T floordiv(T a, T b) {
  const T r = tk::fmod(a, b);
  return T(tk::div<U>(a, b) - T(r != T(0) && (r < T(0)) != (b < T(0))));
}
)"},
      {"pow",
       {},
       R"(template <class U, class T> D T pow(T base, T exponent) {
  if (exponent < T(0)) return base == T(1) ? T(1) : base == T(-1) ? (exponent & 1 ? T(-1) : T(1)) : T(0);
  U result = 1, square = U(base);
  for (U left = U(exponent); left; left >>= 1, square *= square)
    if (left & 1) result *= square;
  return T(result);
}
)"},
      {"shl",
       {},
       R"(template <class U, class T> D T shl(T a, T count) {
  return count >= T(0) && count < T(8 * sizeof(T)) ? T(U(a) << U(count)) : T(0);
}
)"},
      {"shr",
       {},
       R"(template <class T> D T shr(T a, T count) {
  return count >= T(0) && count < T(8 * sizeof(T)) ? T(a >> count) : a < T(0) ? T(-1) : T(0);
}
)"},
      // ---- promises about indices: one that is broken stops the kernel ----
      {"within",
       {},
       R"(D long long within(long long i, long long extent, bool on) {
  if (on && (unsigned long long)i >= (unsigned long long)extent)
    __assertfail("index out of range in self", "tokamak", 0, "within", sizeof(char));
  return on ? i : 0;
}
)"},
      // ---- random numbers: Philox-4x32-10 ----
      {"philox_block",
       {},
       R"(D uint4 philox_block(long long seed, long long offset, unsigned long long block) {
  unsigned c0 = block, c1 = block >> 32, c2 = offset, c3 = (unsigned long long)offset >> 32;
  unsigned k0 = seed, k1 = (unsigned long long)seed >> 32;
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned h0 = __umulhi(0xD2511F53u, c0), l0 = 0xD2511F53u * c0;
    const unsigned h1 = __umulhi(0xCD9E8D57u, c2), l1 = 0xCD9E8D57u * c2;
    c0 = h1 ^ c1 ^ k0, c1 = l1, c2 = h0 ^ c3 ^ k1, c3 = l0;
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return make_uint4(c0, c1, c2, c3);
}
)"},
      {"philox",
       {"philox_block"},
       R"(D long long philox(long long seed, long long offset, long long index) {
  const uint4 w = philox_block(seed, offset, (unsigned long long)index / 4);
  const unsigned i = index & 3;
  return i == 0 ? w.x : i == 1 ? w.y : i == 2 ? w.z : w.w;
}
)"},
      {"philox_run",
       {"philox_block"},
       R"(template <int N> D void philox_run(long long (&to)[N], long long seed, long long offset, long long first) {
#pragma unroll
  for (int i = 0; i < N; i += 4) {
    const uint4 w = philox_block(seed, offset, (unsigned long long)(first + i) / 4);
    to[i] = w.x, to[i + 1] = w.y, to[i + 2] = w.z, to[i + 3] = w.w;
  }
}
)"},
  };
  return snippets;
}

}  // namespace tokamak::codegen::cuda
