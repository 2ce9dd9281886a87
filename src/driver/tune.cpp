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

bool hasProducts(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    return std::holds_alternative<MatMul>(node.op) || std::holds_alternative<Conv>(node.op);
  });
}

/// The cost model's plan first.
std::vector<Candidate> candidatesFor(const Graph& graph, const CompileOptions& options) {
  std::vector<Candidate> out{{"as predicted", options}};
  auto add = [&](std::string name, auto change) { change(out.emplace_back(std::move(name), options).options); };
  add("smaller kernels", [](CompileOptions& o) { o.maxWeight = 60; });
  add("larger kernels", [](CompileOptions& o) { o.maxWeight = 400; });
  if (options.gpu) {
    add("half the loads in flight", [](CompileOptions& o) { o.gpu->inFlight = 0.5; });
    add("twice the loads in flight", [](CompileOptions& o) { o.gpu->inFlight = 2; });
    add("registers to spare", [](CompileOptions& o) { o.gpu->spareRegisters = 32; });
    if (hasProducts(graph)) add("products without epilogues", [](CompileOptions& o) { o.epilogues = false; });
    return out;
  }
  if (options.library && hasProducts(graph)) {
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
Result<std::vector<Array>> randomInputs(const Graph& graph, const DimBindings& hints) {
  std::vector<Array> out;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const TensorType& type = graph.type(graph.inputs()[i]);
    std::vector<int64_t> shape;
    for (const Dim& d : type.shape) {
      TK_TRY(const int64_t extent, d.eval(hints));
      shape.push_back(extent);
    }
    Array& array = out.emplace_back(type.dtype, std::move(shape));
    const auto fill = [&]<class T>(T* data, auto convert) {
      for (int64_t k = 0; k < array.size(); ++k) {
        const uint32_t bits = philoxWord(static_cast<int64_t>(i), 0, k);
        data[k] = convert(static_cast<double>(bits) * 0x1p-31 - 1.0);
      }
    };
    switch (type.dtype) {
      case DType::f32: fill(array.as<float>(), [](double x) { return static_cast<float>(x); }); break;
      case DType::f64: fill(array.as<double>(), [](double x) { return x; }); break;
      case DType::bf16:
        fill(array.as<uint16_t>(), [](double x) { return static_cast<uint16_t>(x < 0 ? 0xbe80 : 0x3e80); });
        break;
      case DType::f16:
        fill(array.as<uint16_t>(), [](double x) { return static_cast<uint16_t>(x < 0 ? 0xb400 : 0x3400); });
        break;
      default: std::fill_n(array.as<std::byte>(), array.bytes(), std::byte{0});
    }
  }
  return out;
}

/// Median of a few runs, in microseconds; `once` runs and gives its time.
template <class Once>
Result<double> timed(Once once, double seconds) {
  std::vector<double> times;
  const auto begin = Clock::now();
  for (int k = 0; k < 200; ++k) {
    TK_TRY(const double time, once());
    if (k > 0) times.push_back(time);
    if (times.size() >= 3 && std::chrono::duration<double>(Clock::now() - begin).count() > seconds) break;
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

std::string keyOf(const Graph& graph, const std::string& machine, const CompileOptions& options) {
  std::string text = print(graph) + machine;
  for (const auto& [name, size] : options.hints) text += fmt::format(";{}={}", name, size);
  text += fmt::format(";{}{}", options.library, options.eagerRounding);
  return fmt::format("tuned-{:016x}{:016x}", hashBytes(text), hashBytes(text, 0x9e3779b97f4a7c15ull));
}

/// What a search is about: how a candidate is compiled, and how long one run of it takes in microseconds.
template <class C>
struct Search {
  const Graph& graph;
  const Engine& engine;
  const CompileOptions& options;
  const TuneOptions& tuning;
  std::string machine;
  std::function<Result<C>(const CompileOptions&)> compiled;
  std::function<Result<double>(const C&)> once;

  Result<C> run() const {
    if (const auto symbol = unknownSymbol(graph, options.hints))
      return noted(options, fmt::format("not tuned: {} has no likely size", *symbol));
    const std::vector<Candidate> candidates = candidatesFor(graph, options);
    const std::string key = keyOf(graph, machine, options);
    if (const auto known = options.useCache ? engine.cache->get(key) : std::nullopt)
      for (const Candidate& candidate : candidates)
        if (candidate.name == *known) return noted(candidate.options, "tuned before: " + candidate.name);
    return measured(candidates, key);
  }

 private:
  Result<C> noted(const CompileOptions& chosen, std::string note) const {
    TK_TRY(C out, compiled(chosen));
    out.explanation.ledger.notes.push_back(std::move(note));
    return out;
  }

  Result<C> measured(const std::vector<Candidate>& candidates, const std::string& key) const {
    std::optional<C> best;
    std::string winner, note = "tuned:";
    double fastest = 0;
    for (const Candidate& candidate : candidates) {
      auto made = compiled(candidate.options);
      if (!made) continue;  // a neighbour that cannot be built is no candidate; the plan itself fails below
      TK_TRY(const double time,
             timed([&] { return once(*made); }, tuning.seconds / static_cast<double>(candidates.size())));
      note += fmt::format("{} {} {:.1f} us", note.back() == ':' ? "" : ",", candidate.name, time);
      if (tuning.progress) tuning.progress(fmt::format("{}: {:.1f} us", candidate.name, time));
      // A neighbour has to be clearly faster: what is within noise stays as predicted.
      if (best && time > 0.97 * fastest) continue;
      best = std::move(*made), winner = candidate.name, fastest = time;
    }
    if (!best) return compiled(options);
    if (options.useCache) engine.cache->put(key, winner, "tuned plan");
    best->explanation.ledger.notes.push_back(note);
    return std::move(*best);
  }
};

/// The inputs of the runs, made when the first is due.
class Inputs {
 public:
  Inputs(const Graph& graph, const DimBindings& hints) : graph_(graph), hints_(hints) {}
  Result<std::span<const runtime::TensorRef>> onHost() {
    if (arrays_.empty()) {
      TK_TRY(arrays_, randomInputs(graph_, hints_));
      for (Array& a : arrays_)
        refs_.push_back({a.data(), a.dtype(), static_cast<int>(a.shape().size()), a.shape().data()});
    }
    return std::span<const runtime::TensorRef>(refs_);
  }
  Result<std::span<const runtime::TensorRef>> on(const CudaDevice& device) {
    if (tensors_.empty()) {
      TK_TRY(const std::vector<Array> arrays, randomInputs(graph_, hints_));
      TK_TRY(tensors_, copyToDevice(device, arrays));
      for (const auto& tensor : tensors_) refs_.push_back(tensor.ref());
    }
    return std::span<const runtime::TensorRef>(refs_);
  }

 private:
  const Graph& graph_;
  const DimBindings& hints_;
  std::vector<Array> arrays_;
  std::vector<runtime::cuda::Tensor> tensors_;
  std::vector<runtime::TensorRef> refs_;
};

}  // namespace

Result<Compiled> tune(const Graph& graph, const Engine& engine, const CompileOptions& options,
                      const TuneOptions& tuning) {
  Inputs inputs(graph, options.hints);
  const auto once = [&](const Compiled& compiled) -> Result<double> {
    TK_TRY(const auto refs, inputs.onHost());
    const auto start = Clock::now();
    TK_TRY(auto outputs, compiled.executable->run(refs));
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  };
  return Search<Compiled>{graph,
                          engine,
                          options,
                          tuning,
                          fmt::format("{};{} threads", engine.target.key(), engine.host->threads()),
                          [&](const CompileOptions& o) { return compile(graph, engine, o); },
                          once}
      .run();
}

Result<CompiledCuda> tuneCuda(const Graph& graph, const Engine& engine, int ordinal, const CompileOptions& given,
                              const TuneOptions& tuning) {
  TK_TRY(const CudaDevice device, engine.cuda->device(ordinal));
  CompileOptions options = given;
  if (!options.gpu) options.gpu = gpuOf(device.device->info());
  Inputs inputs(graph, options.hints);
  const auto once = [&](const CompiledCuda& compiled) -> Result<double> {
    TK_TRY(const auto refs, inputs.on(device));
    runtime::Profile profile;
    TK_TRY(auto outputs, compiled.executable->run(refs, {.profile = &profile}));
    int64_t total = 0;
    for (const auto& entry : profile.entries) total += entry.nanoseconds;
    return static_cast<double>(total) / 1000;
  };
  const auto& info = device.device->info();
  return Search<CompiledCuda>{graph,
                              engine,
                              options,
                              tuning,
                              fmt::format("{};{}", info.name, device.device->arch()),
                              [&](const CompileOptions& o) { return compileCuda(graph, engine, ordinal, o); },
                              once}
      .run();
}

}  // namespace tokamak
