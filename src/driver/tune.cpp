#include "driver/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "support/hash.h"
#include "support/philox.h"

namespace tokamak {

namespace {

using Clock = std::chrono::steady_clock;

struct Candidate {
  std::string name;
  CompileOptions options;
};

/// The cost model's plan first.
std::vector<Candidate> candidatesFor(const Graph& graph, const CompileOptions& options) {
  std::vector<Candidate> out{{"as predicted", options}};
  auto add = [&](std::string name, auto change) { change(out.emplace_back(std::move(name), options).options); };
  add("smaller kernels", [](CompileOptions& o) { o.maxWeight = 60; });
  add("larger kernels", [](CompileOptions& o) { o.maxWeight = 400; });
  const bool products = std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    return std::holds_alternative<MatMul>(node.op) || std::holds_alternative<Conv>(node.op);
  });
  if (products && options.library) {
    add("products without epilogues", [](CompileOptions& o) { o.epilogues = false; });
    add("generated products", [](CompileOptions& o) { o.library = false; });
  }
  return out;
}

/// The first symbol without a hint.
std::optional<std::string> unknownSymbol(const Graph& graph, const DimBindings& hints) {
  std::set<std::string, std::less<>> symbols;
  for (ValueId v : graph.inputs())
    for (const Dim& d : graph.type(v).shape) d.collectSymbols(symbols);
  for (const std::string& s : symbols)
    if (!hints.contains(s)) return s;
  return std::nullopt;
}

/// Floating inputs hold small random numbers, others zeros: an index stays in range.
Result<std::vector<runtime::Tensor>> randomInputs(const Graph& graph, const Engine& engine, const DimBindings& hints) {
  std::vector<runtime::Tensor> out;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const TensorType& type = graph.type(graph.inputs()[i]);
    std::vector<int64_t> shape;
    for (const Dim& d : type.shape) {
      TK_TRY(const int64_t extent, d.eval(hints));
      shape.push_back(extent);
    }
    TK_TRY(const int64_t bytes, type.bytes().eval(hints));
    TK_TRY(runtime::PoolBlock block, engine.pool->allocate(bytes));
    runtime::Tensor tensor(std::move(block), type.dtype, std::move(shape));
    const auto fill = [&]<class T>(T* data, auto convert) {
      for (int64_t k = 0; k < tensor.size(); ++k) {
        const uint32_t bits = philoxWord(static_cast<int64_t>(i), 0, k);
        data[k] = convert(static_cast<double>(bits) * 0x1p-31 - 1.0);
      }
    };
    switch (type.dtype) {
      case DType::f32: fill(tensor.as<float>(), [](double x) { return static_cast<float>(x); }); break;
      case DType::f64: fill(tensor.as<double>(), [](double x) { return x; }); break;
      case DType::bf16:
        fill(tensor.as<uint16_t>(), [](double x) { return static_cast<uint16_t>(x < 0 ? 0xbe80 : 0x3e80); });
        break;
      case DType::f16:
        fill(tensor.as<uint16_t>(), [](double x) { return static_cast<uint16_t>(x < 0 ? 0xb400 : 0x3400); });
        break;
      default: std::fill_n(tensor.as<std::byte>(), bytes, std::byte{0});
    }
    out.push_back(std::move(tensor));
  }
  return out;
}

/// Median of a few runs, in microseconds.
Result<double> timed(const runtime::Executable& executable, std::span<const runtime::TensorRef> inputs,
                     double seconds) {
  std::vector<double> times;
  const auto begin = Clock::now();
  for (int k = 0; k < 200; ++k) {
    const auto start = Clock::now();
    TK_TRY(auto outputs, executable.run(inputs));
    const auto end = Clock::now();
    if (k > 0) times.push_back(std::chrono::duration<double, std::micro>(end - start).count());
    if (times.size() >= 3 && std::chrono::duration<double>(end - begin).count() > seconds) break;
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

std::string keyOf(const Graph& graph, const Engine& engine, const CompileOptions& options) {
  std::string text = print(graph) + engine.target.key();
  for (const auto& [name, size] : options.hints) text += fmt::format(";{}={}", name, size);
  text += fmt::format(";{} threads;{}{}", engine.host->threads(), options.library, options.eagerRounding);
  return fmt::format("tuned-{:016x}{:016x}", hashBytes(text), hashBytes(text, 0x9e3779b97f4a7c15ull));
}

}  // namespace

Result<Compiled> tune(const Graph& graph, const Engine& engine, const CompileOptions& options,
                      const TuneOptions& tuning) {
  if (const auto symbol = unknownSymbol(graph, options.hints)) {
    TK_TRY(Compiled plain, compile(graph, engine, options));
    plain.explanation.ledger.notes.push_back(fmt::format("not tuned: {} has no likely size", *symbol));
    return plain;
  }
  const std::vector<Candidate> candidates = candidatesFor(graph, options);
  const std::string key = keyOf(graph, engine, options);
  if (const auto known = options.useCache ? engine.cache->get(key) : std::nullopt)
    for (const Candidate& candidate : candidates)
      if (candidate.name == *known) {
        TK_TRY(Compiled compiled, compile(graph, engine, candidate.options));
        compiled.explanation.ledger.notes.push_back(fmt::format("tuned before: {}", candidate.name));
        return compiled;
      }
  TK_TRY(const std::vector<runtime::Tensor> inputs, randomInputs(graph, engine, options.hints));
  std::vector<runtime::TensorRef> refs;
  for (const runtime::Tensor& tensor : inputs) refs.push_back(tensor.ref());
  std::optional<Compiled> best;
  std::string winner, note = "tuned:";
  double fastest = 0;
  for (const Candidate& candidate : candidates) {
    auto compiled = compile(graph, engine, candidate.options);
    if (!compiled) continue;  // a neighbour that cannot be built is no candidate; the plan itself fails below
    auto time = timed(*compiled->executable, refs, tuning.seconds / static_cast<double>(candidates.size()));
    if (!time) return time.error();
    note += fmt::format("{} {} {:.1f} us", note.back() == ':' ? "" : ",", candidate.name, *time);
    if (tuning.progress) tuning.progress(fmt::format("{}: {:.1f} us", candidate.name, *time));
    // A neighbour has to be clearly faster: what is within noise stays as predicted.
    if (best && *time > 0.97 * fastest) continue;
    best = std::move(*compiled), winner = candidate.name, fastest = *time;
  }
  if (!best) return compile(graph, engine, options);
  if (options.useCache) engine.cache->put(key, winner, "tuned plan");
  best->explanation.ledger.notes.push_back(note);
  return std::move(*best);
}

}  // namespace tokamak
