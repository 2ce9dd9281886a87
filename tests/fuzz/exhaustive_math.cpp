// Runs the vector math on every float, or on every Nth, and compares with the C library in double.
//
//   exhaustive_math [--stride N] [--bench] [function ...]
//
// Prints for each function, and each kind of machine that this one can stand for, the largest error in units in the
// last place (0.5 or more), the input it falls on, seconds for the check, and nanoseconds an element costs in cache.
// Fails above 4 units. --bench measures only.
#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "codegen/llvm/math/math_jit.h"
#include "codegen/llvm/math/math_reference.h"

namespace {

using namespace tokamak;
using namespace tokamak::codegen::math;
using Clock = std::chrono::steady_clock;

constexpr double largestAllowed = 4.0;
constexpr int64_t chunk = 4096;

struct Options {
  uint64_t stride = 1;
  bool benchOnly = false;
  std::vector<UnaryKind> kinds;
};

struct Worst {
  double ulp = 0.5;
  uint32_t input = 0;

  void include(double distance, uint32_t bits) {
    if (distance > ulp) *this = {distance, bits};
  }
};

/// One function compiled for one machine, and what was found.
struct Subject {
  std::string_view target;
  MathLoop<float> loop;
  Worst worst;
};

double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Every stride-th float, in chunks that the threads take in turn. All machines' code is judged by one reference.
void check(UnaryKind kind, std::vector<Subject>& subjects, uint64_t stride) {
  std::atomic<uint64_t> next = 0;
  std::mutex mutex;
  auto work = [&] {
    std::vector<float> in(chunk), out(chunk);
    std::vector<double> exact(chunk);
    std::vector<Worst> worst(subjects.size());
    for (uint64_t first; (first = next.fetch_add(chunk * stride)) < (uint64_t{1} << 32);) {
      for (int64_t i = 0; i < chunk; ++i) in[i] = std::bit_cast<float>(static_cast<uint32_t>(first + i * stride));
      for (int64_t i = 0; i < chunk; ++i) exact[i] = reference(kind, static_cast<double>(in[i]));
      for (size_t s = 0; s < subjects.size(); ++s) {
        subjects[s].loop.run(in.data(), in.data(), out.data(), chunk);
        for (int64_t i = 0; i < chunk; ++i) {
          bool isBest = std::bit_cast<uint32_t>(out[i]) == std::bit_cast<uint32_t>(static_cast<float>(exact[i]));
          if (!isBest) worst[s].include(ulpDistance(out[i], exact[i]), std::bit_cast<uint32_t>(in[i]));
        }
      }
    }
    std::lock_guard lock(mutex);
    for (size_t s = 0; s < subjects.size(); ++s) subjects[s].worst.include(worst[s].ulp, worst[s].input);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

/// Nanoseconds an element, data in the first-level cache, best of several runs.
double measure(const MathLoop<float>& loop, float low, float high) {
  std::vector<float> in(chunk), out(chunk);
  for (int64_t i = 0; i < chunk; ++i) in[i] = low + (high - low) * static_cast<float>(i) / chunk;
  double best = 1e9;
  for (int round = 0; round < 200; ++round) {
    Clock::time_point start = Clock::now();
    for (int i = 0; i < 20; ++i) loop.run(in.data(), in.data(), out.data(), chunk);
    best = std::min(best, secondsSince(start) / (20 * chunk) * 1e9);
  }
  return best;
}

/// Arguments of ordinary size within the function's domain.
std::pair<float, float> ordinaryRange(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::log:
    case UnaryKind::log2:
    case UnaryKind::log10:
    case UnaryKind::rsqrt: return {0.01f, 50.0f};
    case UnaryKind::log1p: return {-0.9f, 50.0f};
    case UnaryKind::asin:
    case UnaryKind::acos:
    case UnaryKind::atanh: return {-0.99f, 0.99f};
    case UnaryKind::acosh: return {1.0f, 50.0f};
    default: return {-8.0f, 8.0f};
  }
}

std::vector<UnaryKind> allKinds() {
  std::vector<UnaryKind> kinds;
  for (auto kind = UnaryKind::exp; kind <= UnaryKind::sigmoid;
       kind = static_cast<UnaryKind>(static_cast<int>(kind) + 1)) {
    if (kind != UnaryKind::sqrt && kind != UnaryKind::reciprocal) kinds.push_back(kind);
  }
  return kinds;
}

std::string_view nameOf(UnaryKind kind) { return EnumNames<UnaryKind>::names[static_cast<size_t>(kind)]; }

std::optional<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--stride" && i + 1 < argc) {
      std::string_view number = argv[++i];
      auto [end, error] = std::from_chars(number.begin(), number.end(), options.stride);
      if (error != std::errc() || end != number.end() || options.stride == 0) return std::nullopt;
    } else if (word == "--bench") {
      options.benchOnly = true;
    } else {
      auto matches = [&](UnaryKind kind) { return nameOf(kind) == word; };
      std::vector<UnaryKind> kinds = allKinds();
      auto found = std::find_if(kinds.begin(), kinds.end(), matches);
      if (found == kinds.end()) return std::nullopt;
      options.kinds.push_back(*found);
    }
  }
  if (options.kinds.empty()) options.kinds = allKinds();
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  std::optional<Options> options = parse(argc, argv);
  if (!options) {
    fmt::print(stderr, "usage: exhaustive_math [--stride N] [--bench] [function ...]\n");
    return 2;
  }
  constexpr LoopSpec plain{.lanes = 8, .target = MathTarget::plain}, avx512{};
  constexpr auto copyOf = [](llvm::IRBuilderBase&, llvm::Value* x, llvm::Value*) { return x; };
  fmt::print("{:<8} {:<8} {:>8} {:>12} {:>16} {:>8} {:>8}\n", "function", "machine", "ulp", "worst input", "",
             "seconds", "ns/elt");
  fmt::print("{:<8} {:<8} {:>63.3f}\n", "copy", "", measure(MathLoop<float>(copyOf, plain), -8, 8));
  bool good = true;
  for (UnaryKind kind : options->kinds) {
    std::vector<Subject> subjects;
    subjects.push_back({"plain", {kind, plain}, {}});
    if (hostHasAvx512()) subjects.push_back({"avx512", {kind, avx512}, {}});
    Clock::time_point start = Clock::now();
    if (!options->benchOnly) check(kind, subjects, options->stride);
    double seconds = secondsSince(start);
    auto [low, high] = ordinaryRange(kind);
    for (const Subject& subject : subjects) {
      const Worst& worst = subject.worst;
      good &= worst.ulp <= largestAllowed;
      fmt::print("{:<8} {:<8} {:>8.3f} {:>12} {:>16.8g} {:>8.1f} {:>8.3f}{}\n", nameOf(kind), subject.target, worst.ulp,
                 fmt::format("{:#010x}", worst.input), std::bit_cast<float>(worst.input), seconds,
                 measure(subject.loop, low, high), worst.ulp <= largestAllowed ? "" : "  TOO LARGE");
    }
    std::fflush(stdout);
  }
  return good ? 0 : 1;
}
