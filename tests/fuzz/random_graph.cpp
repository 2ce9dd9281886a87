#include "fuzz/random_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "fuzz/generator.h"
#include "fuzz/shrink.h"
#include "support/scalar_op.h"

namespace tokamak::fuzz {

Graph graphOf(const std::vector<Node>& nodes, const std::vector<ValueId>& outputs, std::string name) {
  Graph graph;
  graph.name = std::move(name);
  std::vector<ValueId> moved(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i)
    if (std::holds_alternative<Input>(nodes[i].op)) moved[i] = graph.addInput(nodes[i].name, nodes[i].type);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (std::holds_alternative<Input>(nodes[i].op)) continue;
    Node node = nodes[i];
    for (ValueId& operand : node.operands) operand = moved[operand.index];
    moved[i] = graph.append(std::move(node));
  }
  for (ValueId output : outputs) graph.addOutput(moved[output.index]);
  return graph;
}

Graph randomGraph(uint64_t seed, const RandomGraphOptions& options) { return Generator(seed, options).run(); }

Generator::Generator(uint64_t seed, const RandomGraphOptions& options) : rng_(seed), options_(options) {
  if (options.symbols && rng_.chance(0.4)) symbols_.push_back("M");
  if (!symbols_.empty() && rng_.chance(0.4)) symbols_.push_back("N");
}

Graph Generator::run() {
  Shape base = someShape(static_cast<size_t>(rng_.between(0, 4)));
  for (size_t i = 0; i < symbols_.size(); ++i)
    if (base.size() <= i)
      base.push_back(Dim::symbol(symbols_[i]));
    else
      base[i] = Dim::symbol(symbols_[i]);
  while (!fits(base)) base.pop_back();
  for (const std::string& symbol : symbols_) input({rng_.pick(options_.dtypes), {Dim::symbol(symbol)}});
  input({floatType(), base});
  input({rng_.pick(options_.dtypes), base});
  if (base.size() > 1) input({rng_.pick(options_.dtypes), Shape(base.begin() + 1, base.end())});
  const size_t wanted = nodes_.size() + static_cast<size_t>(rng_.between(options_.minOps, options_.maxOps));
  while (nodes_.size() < wanted) emitOne();
  return finish();
}

void Generator::emitOne() {
  struct Choice {
    int weight;
    bool enabled;
    bool (Generator::*emit)();
  };
  const RandomGraphOptions& o = options_;
  const Choice choices[] = {{12, true, &Generator::unary},
                            {14, true, &Generator::binary},
                            {4, true, &Generator::select},
                            {2, true, &Generator::clamp},
                            {4, true, &Generator::cast},
                            {8, o.folds, &Generator::reduce},
                            {3, o.folds, &Generator::scan},
                            {3, o.shapes, &Generator::broadcast},
                            {4, o.shapes, &Generator::reshape},
                            {4, o.shapes, &Generator::transpose},
                            {4, o.shapes, &Generator::slice},
                            {3, o.shapes, &Generator::pad},
                            {3, o.shapes, &Generator::concat},
                            {2, o.shapes, &Generator::flip},
                            {3, o.indexing, &Generator::gather},
                            {3, o.indexing, &Generator::indexSelect},
                            {3, o.indexing, &Generator::scatter},
                            {1, o.random, &Generator::random},
                            {1, o.random, &Generator::dropout},
                            {3, o.windows, &Generator::pool},
                            {2, o.windows, &Generator::adaptivePool},
                            {2, o.windows, &Generator::resize},
                            {3, o.products, &Generator::matmul},
                            {1, o.products, &Generator::conv},
                            {1, o.products, &Generator::attention},
                            {4, o.composites, &Generator::softmax},
                            {5, o.composites, &Generator::norm},
                            {4, o.composites, &Generator::activation},
                            {1, o.composites, &Generator::crossEntropy}};
  int total = 0;
  for (const Choice& choice : choices) total += choice.enabled ? choice.weight : 0;
  int64_t at = rng_.below(total);
  for (const Choice& choice : choices) {
    if (!choice.enabled) continue;
    if (at < choice.weight) {
      (this->*choice.emit)();
      return;
    }
    at -= choice.weight;
  }
}

Graph Generator::finish() {
  std::vector<bool> read(nodes_.size());
  for (const Node& node : nodes_)
    for (ValueId operand : node.operands) read[operand.index] = true;
  std::vector<ValueId> outputs;
  for (size_t i = nodes_.size(); i-- > 0 && outputs.size() < 5;)
    if (!read[i] && !std::holds_alternative<Input>(nodes_[i].op)) outputs.push_back(ValueId(i));
  if (outputs.empty() || rng_.chance(0.2)) outputs.push_back(any());
  return withoutDeadNodes(graphOf(nodes_, outputs, "random"));
}

DimBindings randomDims(const Graph& graph, uint64_t seed) {
  std::set<std::string, std::less<>> symbols;
  for (ValueId id : graph.inputs())
    for (const Dim& extent : graph.type(id).shape) extent.collectSymbols(symbols);
  Rng rng(seed ^ 0xd1d1);
  DimBindings dims;
  for (const std::string& symbol : symbols) dims[symbol] = rng.pick<int64_t>({1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17});
  return dims;
}

namespace {

double randomFloat(Rng& rng, bool smooth, bool special) {
  if (special && rng.chance(0.15))
    return rng.pick<double>({std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(), -0.0, 0.0});
  return smooth ? rng.real() * 6 - 3 : static_cast<double>(rng.between(-24, 24)) / 8;
}

int64_t randomInt(Rng& rng, DType dtype, bool special) {
  if (dtype == DType::boolean) return rng.below(2);
  if (special && rng.chance(0.15)) {
    const int64_t low = dtype == DType::u8 ? 0 : std::numeric_limits<int64_t>::min() >> (64 - bitWidth(dtype));
    return rng.pick<int64_t>({low, dtype == DType::u8 ? 255 : -(low + 1), 0, -1});
  }
  return dtype == DType::u8 ? rng.below(20) : rng.between(-10, 10);
}

}  // namespace

std::vector<Array> randomInputs(const Graph& graph, uint64_t seed, const DimBindings& dims) {
  Rng rng(seed);
  const bool special = seed % 8 == 7;
  std::vector<Array> inputs;
  for (ValueId id : graph.inputs()) {
    const TensorType& type = graph.type(id);
    std::vector<int64_t> shape;
    for (const Dim& extent : type.shape) shape.push_back(*extent.eval(dims));
    Array array(type.dtype, shape);
    const bool smooth = rng.chance(0.4);
    for (int64_t i = 0; i < array.size(); ++i) {
      if (isFloat(type.dtype))
        array.setDouble(i, randomFloat(rng, smooth, special));
      else
        array.setInt(i, randomInt(rng, type.dtype, special));
    }
    inputs.push_back(std::move(array));
  }
  return inputs;
}

}  // namespace tokamak::fuzz
