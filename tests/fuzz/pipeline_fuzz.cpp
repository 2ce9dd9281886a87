#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "driver/three_ways.h"
#include "fuzz/random_graph.h"
#include "fuzz/rng.h"
#include "kernel/kernel.h"
#include "support/check.h"
#include "support/hash.h"

/// Any text that is a graph becomes verified kernels whose text comes back the same, or a diagnostic; and where the
/// reference evaluator gives small inputs a result, the kernels run in the SIMT interpreter without a complaint.
/// Whether the numbers agree is for tests/e2e to say.
namespace tokamak::fuzz {
namespace {

constexpr size_t kMaxNodes = 200;
constexpr int64_t kMaxRunElements = 512;  // of one value, for a graph that is run
constexpr size_t kMaxRunNodes = 40;

const Engine& engine() {
  static const Engine instance({.threads = 2, .diskCache = false});
  return instance;
}

void checkKernels(const Graph& graph, const CompileOptions& options) {
  const auto lowered = lower(graph, engine(), options);
  if (!lowered) {
    TK_CHECK(!lowered.error().code.empty(), "a diagnostic lacks its code");
    TK_CHECK(lowered.error().code != "T0510", lowered.error().str());  // a region that no scheduler takes
    return;
  }
  const auto verified = verify(lowered->graph);
  TK_CHECK(verified.ok(), verified ? "" : verified.error().str());
  for (const auto& scheduled : lowered->kernels) {
    if (!scheduled) continue;
    for (const auto& launch : scheduled->launches) {
      const auto sound = kernel::verify(launch.kernel);
      const std::string text = kernel::print(launch.kernel);
      TK_CHECK(sound.ok(), sound ? "" : sound.error().str() + "\n" + text);
      const auto again = kernel::parseKernel(text);
      TK_CHECK(again.ok() && kernel::print(*again) == text, text);
    }
  }
}

/// The elements of a window, or of nothing for other ops: what one element of the result costs.
int64_t windowElements(const Op& op) {
  int64_t count = 1;
  if (const auto* pool = std::get_if<Pool>(&op))
    for (int64_t n : pool->window)
      if (__builtin_mul_overflow(count, n, &count)) return INT64_MAX;
  return count;
}

/// Whether every value is small with these dims, and the work behind it with it.
bool isSmall(const Graph& graph, const DimBindings& dims) {
  if (graph.size() > kMaxRunNodes) return false;
  for (const Node& node : graph.nodes()) {
    const auto elements = node.type.elements().eval(dims);
    if (!elements || *elements < 0 || *elements > kMaxRunElements || node.type.rank() > 6) return false;
    if (windowElements(node.op) > kMaxRunElements) return false;
  }
  return true;
}

void checkRun(const Graph& graph, uint64_t seed, const CompileOptions& options) {
  const DimBindings dims = randomDims(graph, seed);
  if (!isSmall(graph, dims)) return;
  const auto inputs = randomInputs(graph, seed, dims);
  if (!evaluate(graph, inputs)) return;
  const auto outputs = runSimtGraph(graph, inputs, engine(), options);
  if (outputs) return;
  // T0401 to T0404: a kernel touches memory that is not its own. Other refusals are diagnostics like any.
  const std::string& code = outputs.error().code;
  TK_CHECK(code < "T0401" || code > "T0405", outputs.error().str() + "\n" + print(graph));
}

/// Puts another number, often one at some edge, in the place of one there is.
std::string withOtherNumber(std::string text, Rng& rng) {
  static constexpr std::string_view edges[] = {"0", "1",  "2",   "3",    "7",     "16",         "17",         "64",
                                               "M", "-1", "255", "1024", "65536", "2147483648", "4294967296", "M*N"};
  std::vector<size_t> starts;
  for (size_t i = 1; i < text.size(); ++i) {
    const bool digit = std::isdigit(static_cast<unsigned char>(text[i]));
    if (digit && !std::isalnum(static_cast<unsigned char>(text[i - 1])) && text[i - 1] != '%' && text[i - 1] != '.')
      starts.push_back(i);
  }
  if (starts.empty()) return text;
  const size_t at = rng.pick(starts);
  size_t end = at;
  while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) ++end;
  const std::string old = text.substr(at, end - at);
  const std::string_view fresh = edges[rng.below(std::size(edges))];
  // The same number elsewhere is often the same extent: change all of them half of the time, so that types still agree.
  if (rng.chance(0.5)) return text.replace(at, end - at, fresh);
  for (auto it = starts.rbegin(); it != starts.rend(); ++it) {
    const bool whole =
        text.compare(*it, old.size(), old) == 0 &&
        (*it + old.size() == text.size() || !std::isdigit(static_cast<unsigned char>(text[*it + old.size()])));
    if (whole) text.replace(*it, old.size(), fresh);
  }
  return text;
}

}  // namespace
}  // namespace tokamak::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tokamak;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto graph = parseGraph(text, "fuzz.tk");
  if (!graph || graph->size() > fuzz::kMaxNodes) return 0;
  const uint64_t seed = hashBytes(text);
  const CompileOptions options{.fuse = seed % 8 != 0, .library = seed % 3 == 0, .eagerRounding = seed % 5 == 0};
  fuzz::checkKernels(*graph, options);
  fuzz::checkRun(*graph, seed, options);
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t maxSize);

/// Bytes alone seldom make another graph: random graphs come in as text, and numbers change as numbers.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize, unsigned seed) {
  using namespace tokamak;
  fuzz::Rng rng(seed);
  const double choice = rng.real();
  if (choice < 0.6) return LLVMFuzzerMutate(data, size, maxSize);
  const std::string text = choice < 0.7
                               ? print(fuzz::randomGraph(rng.next(), {.maxOps = 12, .maxElements = 128}))
                               : fuzz::withOtherNumber(std::string(reinterpret_cast<const char*>(data), size), rng);
  const size_t length = std::min(text.size(), maxSize);
  std::copy_n(text.data(), length, data);
  return length;
}
