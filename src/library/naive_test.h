#pragma once

#include <time.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <vector>

#include "library/library.h"
#include "library/post_op.h"

/// Obvious loops in double, and random data, for the library's tests.
namespace tokamak::library {

struct Buffer {
  DType dtype;
  std::vector<std::byte> bytes;
  Buffer(DType t, int64_t elements) : dtype(t), bytes(elements * byteWidth(t) + 64) {}
  void* data() { return bytes.data(); }
  int64_t size() const { return (static_cast<int64_t>(bytes.size()) - 64) / byteWidth(dtype); }
  float get(int64_t i) const { return loadFloat(bytes.data(), dtype, i); }
  void set(int64_t i, float v) { storeFloat(bytes.data(), dtype, i, v); }
};

struct Random {
  uint64_t state = 88172645463325252ull;
  float next() {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return static_cast<float>(static_cast<int64_t>(state >> 40) - (1 << 23)) / (1 << 23);
  }
  Buffer buffer(DType dtype, int64_t elements, bool positive = false) {
    Buffer out(dtype, elements);
    for (int64_t i = 0; i < elements; ++i) out.set(i, positive ? 0.5f + std::fabs(next()) : next());
    return out;
  }
};

inline double naivePostOp(const PostOp& op, double x, double operand) {
  const double a = op.alpha, b = op.beta;
  auto clamp01 = [](double v) { return std::fmin(1, std::fmax(0, v)); };
  switch (op.kind) {
    case PostOpKind::relu: return x > 0 ? x : 0;
    case PostOpKind::leaky_relu: return x > 0 ? x : a * x;
    case PostOpKind::elu: return x > 0 ? x : a * (std::exp(x) - 1);
    case PostOpKind::gelu_erf: return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case PostOpKind::gelu_tanh: return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case PostOpKind::tanh: return std::tanh(x);
    case PostOpKind::sigmoid: return 1 / (1 + std::exp(-x));
    case PostOpKind::swish: return x / (1 + std::exp(-a * x));
    case PostOpKind::exp: return std::exp(x);
    case PostOpKind::abs: return std::fabs(x);
    case PostOpKind::sqrt: return std::sqrt(x);
    case PostOpKind::square: return x * x;
    case PostOpKind::linear: return a * x + b;
    case PostOpKind::clip: return std::fmin(b, std::fmax(a, x));
    case PostOpKind::hardswish: return x * clamp01(a * x + b);
    case PostOpKind::hardsigmoid: return clamp01(a * x + b);
    case PostOpKind::mish: return x * std::tanh(std::log(1 + std::exp(x)));
    case PostOpKind::softplus: return std::log(1 + std::exp(a * x)) / a;
    case PostOpKind::add: return x + operand;
    case PostOpKind::mul: return x * operand;
    case PostOpKind::sub: return x - operand;
    case PostOpKind::div: return x / operand;
    case PostOpKind::max: return std::fmax(x, operand);
    case PostOpKind::min: return std::fmin(x, operand);
    case PostOpKind::sum: return x + a * operand;
  }
  return x;
}

/// The best of some runs: processor time on one thread, else by the wall clock.
inline double bestSeconds(const std::function<void()>& body) {
  const char* threads = std::getenv("OMP_NUM_THREADS");
  const clockid_t which = threads && std::string_view(threads) == "1" ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  auto now = [&] {
    timespec t{};
    clock_gettime(which, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const double start = now();
    body();
    best = std::fmin(best, now() - start);
  }
  return best;
}

inline double tolerance(DType dtype) { return dtype == DType::f32 ? 2e-5 : dtype == DType::f16 ? 4e-3 : 2e-2; }

}  // namespace tokamak::library
