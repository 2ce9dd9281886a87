#include "bench/compile_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <regex>

#include "bench/machine.h"
#include "driver/compile.h"
#include "graph/builder.h"

namespace tokamak::bench {

namespace {

double secondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Graph chain(int ops) {
  Builder b("chain");
  ValueId x = b.input("x", DType::f32, {1024, 256});
  for (int i = 0; i < ops; ++i)
    x = i % 3 == 0   ? b.binary(BinaryKind::add, x, Scalar::of(0.5))
        : i % 3 == 1 ? b.unary(UnaryKind::abs, x)
                     : b.binary(BinaryKind::mul, x, Scalar::of(1.01));
  b.output(x);
  return *b.finish();
}

/// Pre-norm decoder layers with attention and a GELU network.
Graph transformer(int layers) {
  Builder b("transformer");
  const Dim s = Dim::symbol("S");
  constexpr int64_t d = 256, heads = 4;
  ValueId x = b.input("x", DType::f32, {s, d});
  for (int i = 0; i < layers; ++i) {
    auto weight = [&](const char* name, Shape shape) {
      return b.input(fmt::format("{}{}", name, i), DType::f32, std::move(shape));
    };
    ValueId h = b.layerNorm(x, weight("g", {d}), weight("h", {d}));
    auto head = [&](const char* name) {
      const ValueId p = b.matmul(h, weight(name, {d, d}), false, true);
      return b.transpose(b.reshape(p, {s, heads, d / heads}), {1, 0, 2});
    };
    const ValueId q = head("q"), k = head("k"), v = head("v");
    const ValueId a = b.attention(q, k, v, Attention{.causal = true});
    const ValueId o = b.reshape(b.transpose(a, {1, 0, 2}), {s, d});
    x = b.add(x, b.matmul(o, weight("o", {d, d}), false, true));
    h = b.layerNorm(x, weight("m", {d}), weight("n", {d}));
    h = b.gelu(b.matmul(h, weight("u", {4 * d, d}), false, true));
    x = b.add(x, b.matmul(h, weight("w", {d, 4 * d}), false, true));
  }
  b.output(x);
  return *b.finish();
}

Graph layerNorm(Dim rows) {
  Builder b("layer_norm");
  ValueId x = b.input("x", DType::f32, {rows, 4096}), w = b.input("w", DType::f32, {4096}),
          c = b.input("b", DType::f32, {4096});
  b.output(b.layerNorm(x, w, c));
  return *b.finish();
}

void line(nlohmann::json& report, const std::string& name, double value, const char* unit, double target, bool atMost) {
  const bool met = atMost ? value <= target : value >= target;
  report["compile"].push_back({{"case", name}, {"value", value}, {"unit", unit}, {"target", target}, {"met", met}});
  fmt::print("{:36} {:9.3f} {}  (target {} {}){}\n", name, value, unit, atMost ? "at most" : "at least", target,
             met ? "" : "  MISSED");
}

}  // namespace

void compileSpeed(const Engine& engine, const std::string& filter, nlohmann::json& report) {
  if (!std::regex_search("compile", std::regex(filter))) return;
  const CompileOptions noCache{.useCache = false};
  auto lowering = [&](const Graph& g) {
    double best = 1e9;
    for (int i = 0; i < 5; ++i)
      best = std::min(best, secondsOf([&] { TK_CHECK(lower(g, engine, noCache).ok(), "lower"); }));
    return best;
  };
  const double thousand = lowering(chain(1000)), two = lowering(chain(2000));
  line(report, "plan_and_lower/chain_1000", thousand, "s", 2, true);
  line(report, "plan_and_lower/chain_2000_over_1000", two / thousand, "x", 2.5, true);
  line(report, "plan/transformer_24_layers", lowering(transformer(24)), "s", 1, true);

  TK_CHECK(compile(layerNorm(8), engine, noCache).ok(), "warm up");
  line(report, "compile/layer_norm_kernel",
       1e3 * secondsOf([&] { TK_CHECK(compile(layerNorm(64), engine, noCache).ok(), "compile"); }), "ms", 60, true);
  const auto folder = std::filesystem::temp_directory_path() / "tokamak-bench-cache";
  std::filesystem::remove_all(folder);
  {
    const Engine first({.cacheFolder = folder});
    TK_CHECK(compile(layerNorm(64), first).ok(), "fill the cache");
  }
  const Engine second({.cacheFolder = folder});
  line(report, "compile/layer_norm_from_disk",
       1e3 * secondsOf([&] { TK_CHECK(compile(layerNorm(64), second).ok(), "load"); }), "ms", 3, true);
  std::filesystem::remove_all(folder);

  // One call of a kernel that does next to nothing.
  Builder b("tiny");
  b.output(b.relu(b.input("x", DType::f32, {16})));
  const auto tiny = compile(*b.finish(), engine, noCache);
  std::vector<float> in(16), out(16);
  const int64_t shape[] = {16};
  const runtime::TensorRef x{in.data(), DType::f32, 1, shape, nullptr}, y{out.data(), DType::f32, 1, shape, nullptr};
  const double calls = secondsOf([&] {
    for (int i = 0; i < 100000; ++i) TK_CHECK(tiny->executable->run({&x, 1}, {&y, 1}).ok(), "run");
  });
  line(report, "call/one_kernel", calls * 1e6 / 100000, "us", 2, true);

  // A symbolic row count against a static one.
  const auto dynamic = compile(layerNorm(Dim::symbol("M")), engine, noCache);
  double worst = 1e9;
  for (int64_t rows : {1000, 2048, 4096}) {
    const auto fixed = compile(layerNorm(rows), engine, noCache);
    std::vector<float> data(rows * 4096, 1.f), w(4096, 1.f);
    const int64_t xs[] = {rows, 4096}, ws[] = {4096};
    const std::vector<runtime::TensorRef> refs{{data.data(), DType::f32, 2, xs, nullptr},
                                               {w.data(), DType::f32, 1, ws, nullptr},
                                               {w.data(), DType::f32, 1, ws, nullptr}};
    std::vector<Contender> both{{"static", [&] { TK_CHECK(fixed->executable->run(refs).ok(), "run"); }},
                                {"symbolic", [&] { TK_CHECK(dynamic->executable->run(refs).ok(), "run"); }}};
    interleave(both, 0.6);
    worst = std::min(worst, both[0].seconds / both[1].seconds);
  }
  line(report, "symbolic/rows_speed_over_static", worst, "x", 0.95, false);
}

}  // namespace tokamak::bench
