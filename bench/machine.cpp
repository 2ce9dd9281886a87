#include "bench/machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace tokamak::bench {

using Clock = std::chrono::steady_clock;

void interleave(std::vector<Contender>& contenders, double budgetSeconds, int leastRounds) {
  std::vector<std::vector<double>> times(contenders.size());
  for (auto& c : contenders) c.run(), c.run();
  const auto start = Clock::now();
  while (static_cast<int>(times[0].size()) < leastRounds ||
         (std::chrono::duration<double>(Clock::now() - start).count() < budgetSeconds && times[0].size() < 400))
    for (size_t i = 0; i < contenders.size(); ++i) {
      const auto t = Clock::now();
      contenders[i].run();
      times[i].push_back(std::chrono::duration<double>(Clock::now() - t).count());
    }
  for (size_t i = 0; i < contenders.size(); ++i) {
    std::nth_element(times[i].begin(), times[i].begin() + times[i].size() / 2, times[i].end());
    contenders[i].seconds = times[i][times[i].size() / 2];
  }
}

static char* touched(int64_t bytes) {
  constexpr int64_t huge = 2 << 20;
  char* p = static_cast<char*>(std::aligned_alloc(huge, (bytes + huge - 1) / huge * huge));
  madvise(p, bytes, MADV_HUGEPAGE);
  std::memset(p, 1, bytes);
  return p;
}

Limits::Limits(const Engine& engine, int64_t bytes)
    : engine_(engine), bytes_(bytes), from_(touched(bytes)), to_(touched(bytes)) {}
Limits::~Limits() { std::free(from_), std::free(to_); }

constexpr int64_t kPiece = 1 << 16;

void Limits::copy() const {
  struct Job {
    char *from, *to;
    int64_t bytes;
  } job{from_, to_, bytes_ / 2};
  engine_.host->parallelFor(
      engine_.host.get(), (job.bytes + kPiece - 1) / kPiece, 4, 0,
      [](void* data, int64_t begin, int64_t end, std::byte*) {
        const Job& j = *static_cast<Job*>(data);
        const int64_t last = std::min(end * kPiece, j.bytes);
        std::memcpy(j.to + begin * kPiece, j.from + begin * kPiece, last - begin * kPiece);
      },
      &job);
}

#if defined(__has_feature) && __has_feature(thread_sanitizer)  // it cannot instrument what runs before main
#define TK_CLONES
#else
#define TK_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#endif

/// As fast as this machine's registers allow, or it would be no limit.
TK_CLONES static int64_t readPiece(const char* from, int64_t bytes) {
  typedef int64_t V __attribute__((vector_size(64)));
  V a{}, b{}, c{}, d{};
  for (int64_t i = 0; i + 256 <= bytes; i += 256) {
    const V* v = reinterpret_cast<const V*>(from + i);
    a += v[0], b += v[1], c += v[2], d += v[3];
  }
  a += b + c + d;
  return a[0] + a[7];
}

void Limits::read() const {
  struct Job {
    const char* from;
    int64_t bytes;
    int64_t sums[64];
  } job{from_, bytes_, {}};
  engine_.host->parallelFor(
      engine_.host.get(), (job.bytes + kPiece - 1) / kPiece, 4, 0,
      [](void* data, int64_t begin, int64_t end, std::byte*) {
        Job& j = *static_cast<Job*>(data);
        const int64_t first = begin * kPiece, last = std::min(end * kPiece, j.bytes);
        __atomic_fetch_add(&j.sums[begin % 64], readPiece(j.from + first, last - first), __ATOMIC_RELAXED);
      },
      &job);
}

/// Steps of several sums of 16 lanes each, so many sums that no step waits and all fit the registers.
template <int Sums>
[[gnu::always_inline]] static inline float multiplyAddSteps(int64_t steps) {
  typedef float V __attribute__((vector_size(64)));
  V sums[Sums], x{};
  for (int k = 0; k < Sums; ++k) sums[k] = x + static_cast<float>(k + 2);  // or some would be one
  x += 0.999f;
  for (int64_t i = 0; i < steps; ++i)
#pragma GCC unroll 16
    for (int k = 0; k < Sums; ++k) sums[k] = sums[k] * x + 1e-3f;
  for (int k = 1; k < Sums; ++k) sums[0] += sums[k];
  return sums[0][0];
}

constexpr int kFewSums = 6, kManySums = 12;
#if defined(__x86_64__)
[[gnu::target("avx512f")]] static float withAvx512(int64_t steps) { return multiplyAddSteps<kManySums>(steps); }
[[gnu::target("avx2,fma")]] static float withAvx2(int64_t steps) { return multiplyAddSteps<kFewSums>(steps); }
static bool hasAvx512() { return __builtin_cpu_supports("avx512f"); }
static bool hasAvx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#else
static float withAvx512(int64_t steps) { return multiplyAddSteps<kManySums>(steps); }
static float withAvx2(int64_t steps) { return multiplyAddSteps<kFewSums>(steps); }
static bool hasAvx512() { return false; }
static bool hasAvx2() { return false; }
#endif
static float withoutAvx(int64_t steps) { return multiplyAddSteps<kFewSums>(steps); }

void multiplyAdd(const Engine& engine, double flops) {
  struct Job {
    float (*run)(int64_t);
    int64_t steps;
    float results[64];
  } job{hasAvx512() ? withAvx512 : hasAvx2() ? withAvx2 : withoutAvx, 0, {}};
  const double ofStep = 2.0 * 16 * (hasAvx512() ? kManySums : kFewSums);
  job.steps = static_cast<int64_t>(flops / ofStep / engine.host->threads());
  engine.host->parallelFor(
      engine.host.get(), engine.host->threads(), 1, 0,
      [](void* data, int64_t begin, int64_t end, std::byte*) {
        Job& j = *static_cast<Job*>(data);
        for (int64_t i = begin; i < end; ++i) j.results[i % 64] = j.run(j.steps);
      },
      &job);
}

}  // namespace tokamak::bench
