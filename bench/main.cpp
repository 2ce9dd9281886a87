#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>

#include "bench/cases.h"
#include "bench/compile_speed.h"
#include "bench/machine.h"
#include "bench/sim_speed.h"
#include "bench/sparse_speed.h"
#include "driver/compile.h"

namespace tokamak::bench {
namespace {

/// Gives the inputs after the first as constants.
Graph withConstants(const Graph& graph, const std::vector<Array>& inputs) {
  Graph out;
  out.name = graph.name;
  std::vector<ValueId> map;
  for (size_t i = 0; i < graph.size(); ++i) {
    Node node = graph.node(ValueId(i));
    for (ValueId& v : node.operands) v = map[v.index];
    if (i == 0)
      map.push_back(out.addInput(node.name, node.type));
    else if (std::holds_alternative<Input>(node.op))
      map.push_back(out.append({Constant{std::make_shared<Array>(inputs[i])}, {}, node.type, node.name, {}}));
    else
      map.push_back(out.append(std::move(node)));
  }
  for (ValueId v : graph.outputs()) out.addOutput(map[v.index]);
  return out;
}

std::vector<Array> randomInputs(const Graph& graph) {
  std::vector<Array> out;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> some(65537);
  for (float& x : some) x = normal(random);
  for (ValueId v : graph.inputs()) {
    std::vector<int64_t> shape;
    for (const Dim& d : graph.type(v).shape) shape.push_back(*d.constant());
    Array a(graph.type(v).dtype, shape);
    for (int64_t i = 0; i < a.size(); ++i) {
      if (isFloat(a.dtype()))
        a.setDouble(i, some[i % some.size()]);
      else
        a.setInt(i, static_cast<int64_t>(random() % 32000));
    }
    out.push_back(std::move(a));
  }
  return out;
}

nlohmann::json runCase(const Case& c, const Engine& engine) {
  auto graph = parseGraph(c.text);
  TK_CHECK(graph.ok(), graph.ok() ? "" : graph.error().str());
  auto inputs = randomInputs(*graph);
  Graph program = c.constantWeights ? withConstants(*graph, inputs) : *graph;
  if (c.constantWeights) inputs.resize(1);
  auto compiled = compile(program, engine);
  TK_CHECK(compiled.ok(), compiled.ok() ? "" : compiled.error().str());
  // Inputs lie in the pool, as they do when another step has made them.
  std::vector<runtime::Tensor> tensors;
  std::vector<runtime::TensorRef> refs;
  for (const Array& a : inputs) {
    auto block = engine.pool->allocate(a.bytes());
    TK_CHECK(block.ok(), "memory for the inputs");
    std::memcpy(block->data(), a.data(), a.bytes());
    tensors.emplace_back(std::move(*block), a.dtype(), a.shape());
  }
  for (const auto& t : tensors) refs.push_back(t.ref());
  inputs.clear();
  std::vector<Contender> contenders;
  contenders.push_back({"tokamak", [&] { TK_CHECK(compiled->executable->run(refs).ok(), "run"); }});
  std::unique_ptr<Limits> limits;
  if (c.bytes > 0) {
    limits = std::make_unique<Limits>(engine, static_cast<int64_t>(c.bytes));
    contenders.push_back({"limit", [&] { c.read ? limits->read() : limits->copy(); }});
  } else {
    contenders.push_back({"limit", [&] { multiplyAdd(engine, c.flops); }});
  }
  interleave(contenders);
  nlohmann::json row{
      {"case", c.name}, {"kernels", compiled->explanation.ledger.regions.size()}, {"ms", contenders[0].seconds * 1e3}};
  if (c.bytes > 0) {
    row["limit"] = c.read ? "read" : "copy";
    row["limit_ms"] = contenders[1].seconds * 1e3;
    row["GB/s"] = c.bytes / contenders[0].seconds / 1e9;
    row["fraction"] = contenders[1].seconds / contenders[0].seconds;
    row["target"] = c.target;
    row["met"] = contenders[1].seconds / contenders[0].seconds >= c.target;
    fmt::print("{:36} {:9.3f} ms  {:7.1f} GB/s  {:5.2f} of a {}  (target {:.2f}){}\n", c.name,
               contenders[0].seconds * 1e3, c.bytes / contenders[0].seconds / 1e9,
               contenders[1].seconds / contenders[0].seconds, c.read ? "read" : "copy", c.target,
               row["met"] ? "" : "  MISSED");
  } else {
    const double gflops = c.flops / contenders[0].seconds / 1e9;
    row["GFLOP/s"] = gflops, row["target"] = c.targetGflops, row["met"] = gflops >= c.targetGflops;
    row["limit"] = "multiplications and additions in registers", row["limit_ms"] = contenders[1].seconds * 1e3;
    row["fraction"] = contenders[1].seconds / contenders[0].seconds;
    fmt::print("{:36} {:9.3f} ms  {:7.1f} GFLOP/s  {:5.2f} of what registers allow (target {:.0f}){}\n", c.name,
               contenders[0].seconds * 1e3, gflops, contenders[1].seconds / contenders[0].seconds, c.targetGflops,
               row["met"] ? "" : "  MISSED");
  }
  std::fflush(stdout);
  return row;
}

}  // namespace
}  // namespace tokamak::bench

/// tokamak_bench [--json FILE] [--cases REGEX]
int main(int argc, char** argv) {
  using namespace tokamak;
  std::string json, filter;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if ((option != "--json" && option != "--cases") || i + 1 == argc)
      return fmt::print(stderr, "usage: tokamak_bench [--json FILE] [--cases REGEX]\n"), 2;
    (option == "--json" ? json : filter) = argv[i + 1];
  }
  const Engine engine({.diskCache = false});
  nlohmann::json report{
      {"threads", engine.host->threads()}, {"cpu", engine.target.cpu}, {"library", engine.library->version()}};
  for (const auto& c : bench::allCases())
    if (std::regex_search(c.name, std::regex(filter))) report["cases"].push_back(bench::runCase(c, engine));
  bench::compileSpeed(engine, filter, report);
  bench::sparseSpeed(filter, report);
  bench::simulatorSpeed(filter, report);
  if (!json.empty()) std::ofstream(json) << report.dump(1) << "\n";
}
