#include "e2e/sweep.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "fuzz/compare.h"
#include "fuzz/rng.h"
#include "fuzz/shrink.h"
#include "support/scalar_op.h"

namespace tokamak::sweep {

const Engine& engine() {
  static const Engine instance({.diskCache = false});
  return instance;
}

std::vector<Runner>& runners() {
  static std::vector<Runner> all = {
      {"LLVM", [](const Graph& g, const auto& in, const auto& o) { return runCompiled(g, in, engine(), o); }},
      {"SIMT", [](const Graph& g, const auto& in, const auto& o) { return runSimtGraph(g, in, engine(), o); }, true}};
  return all;
}

Shape shapeOf(const Extents& extents) { return {extents.begin(), extents.end()}; }

const std::vector<Extents>& usualShapes() {
  static const std::vector<Extents> shapes = {{0}, {3, 0, 5}, {}, {1, 1}, {1, 5, 1}, {7, 33}, {5, 131}};
  return shapes;
}

namespace {

/// The smallest number above zero and the largest finite one.
std::pair<double, double> limitsOf(DType dtype) {
  switch (dtype) {
    case DType::f16: return {0x1p-24, 65504};
    case DType::bf16: return {0x1p-133, 0x1.fep127};
    case DType::f32: return {0x1p-149, std::numeric_limits<float>::max()};
    default: return {0x1p-1074, std::numeric_limits<double>::max()};
  }
}

std::vector<double> specialFloats(DType dtype) {
  const auto [least, most] = limitsOf(dtype);
  const double inf = std::numeric_limits<double>::infinity();
  return {std::nan(""), inf,  -inf, 0.0, -0.0, least, -least, most, -most,        1, -1,  0.5, -0.5, 1.5,
          2.5,          -2.5, 3,    -7,  0.1,  100,   -20,    1e-3, least * 1024, 8, 0.99};
}

std::vector<int64_t> specialInts(DType dtype) {
  if (dtype == DType::boolean) return {0, 1, 1};
  const bool isUnsigned = dtype == DType::u8;
  const int64_t low = isUnsigned ? 0 : std::numeric_limits<int64_t>::min() >> (64 - bitWidth(dtype));
  const int64_t high = isUnsigned ? 255 : ~low;
  return {low, high, 0,  1,  wrapTo(dtype, -1), 2, 3, 7, wrapTo(dtype, -7), wrapTo(dtype, -2), low + 1, high - 1, 31,
          63,  8,    64, 100};
}

}  // namespace

ValueId Cases::input(Array data) {
  const ValueId id = builder.input(fmt::format("in{}", inputs_.size()), data.dtype(), shapeOf(data.shape()));
  inputs_.push_back(std::move(data));
  return id;
}

ValueId Cases::input(DType dtype, const Extents& shape, Fill fill) {
  Array data(dtype, shape);
  fuzz::Rng rng(inputs_.size() * 1000 + static_cast<size_t>(dtype));
  const size_t place = inputs_.size();
  const auto floats = specialFloats(dtype);
  const auto ints = specialInts(dtype);
  // The n-th input's list turns once for every turn of the one before it, so that all pairs occur in n * n elements.
  const auto turn = [&](int64_t i, size_t n) {
    size_t at = static_cast<size_t>(i);
    for (size_t k = 0; k < place % 3; ++k) at = at / n + (k + 1 < place % 3 ? 0 : k);
    return at % n;
  };
  for (int64_t i = 0; i < data.size(); ++i) {
    const bool special = fill == Fill::special || (fill == Fill::mild && i % 17 == 0);
    if (isFloat(dtype))
      data.setDouble(i, special ? floats[turn(i, fill == Fill::mild ? 5 : floats.size())] : rng.real() * 3 - 1.5);
    else
      data.setInt(i, special ? ints[turn(i, ints.size())]
                             : rng.between(dtype == DType::u8 ? 0 : -3, 3) & (dtype == DType::boolean ? 1 : -1));
  }
  return input(std::move(data));
}

ValueId Cases::positions(DType dtype, const Extents& shape, int64_t low, int64_t high) {
  Array data(dtype, shape);
  fuzz::Rng rng(inputs_.size() + 77);
  for (int64_t i = 0; i < data.size(); ++i) data.setInt(i, rng.between(low, high - 1));
  return input(std::move(data));
}

/// Codes of an operand's dtype, of a result's, and of a number that the dtype does not have.
static const std::set<std::string> kDtypeCodes = {"T0202", "T0205", "T0210"};

void Cases::add(Bound bound, const Op& op, const std::vector<ValueId>& operands, const TensorType* declared) {
  std::vector<TensorType> types;
  types.reserve(operands.size());
  for (ValueId v : operands) types.push_back(builder.type(v));
  const auto inferred = inferType(op, types, declared);
  if (inferred)
    add(bound, builder.apply(op, operands, declared));
  else
    EXPECT_TRUE(kDtypeCodes.contains(inferred.error().code))
        << "a case that should be right is refused: " << inferred.error().str();
}

void Cases::add(Bound bound, ValueId value) {
  builder.output(value);
  bounds_.push_back(bound);
}

namespace {

/// Floats of a dtype in order, as integers: neighbours are one apart, and both zeros are 0.
int64_t ordinal(const Array& array, int64_t i) {
  int64_t bits = 0;
  switch (array.dtype()) {
    case DType::f64: bits = std::bit_cast<int64_t>(array.as<double>()[i]); break;
    case DType::f32: bits = static_cast<int64_t>(std::bit_cast<int32_t>(array.as<float>()[i])) << 32; break;
    default: bits = static_cast<int64_t>(array.as<int16_t>()[i]) << 48;
  }
  const int64_t magnitude = (bits & std::numeric_limits<int64_t>::max()) >> (64 - bitWidth(array.dtype()));
  return bits < 0 ? -magnitude : magnitude;
}

bool near(const Array& want, const Array& got, int64_t i, Bound bound) {
  if (!isFloat(want.dtype())) return want.getInt(i) == got.getInt(i);
  const double a = want.getDouble(i), b = got.getDouble(i);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (bound == Bound::bits) return a == b && std::signbit(a) == std::signbit(b);
  if (bound == Bound::exact) return a == b;
  return std::abs(ordinal(want, i) - ordinal(got, i)) <= (isHalf(want.dtype()) ? 1 : 4);
}

/// The statement that computes a value.
std::string statementOf(const Graph& graph, ValueId v) {
  const std::string text = print(graph);
  const size_t at = text.find("  " + graph.label(v) + " = ");
  std::string out = at == std::string::npos ? graph.label(v) : text.substr(at + 2, text.find('\n', at) - at - 2);
  for (ValueId operand : graph.node(v).operands)
    out += fmt::format("; {} : {}", graph.label(operand), graph.type(operand).str());
  return out;
}

/// What some of the graph's outputs need, and all its inputs.
Graph withOutputs(const Graph& graph, const std::vector<size_t>& outputs) {
  Graph some = graph;
  std::vector<ValueId> values;
  values.reserve(outputs.size());
  for (size_t k : outputs) values.push_back(graph.outputs()[k]);
  some.setOutputs(values);
  return fuzz::withoutDeadNodes(some);
}

/// Whether all elements lie within 8 roundings at the output's largest magnitude.
bool nearAtScale(const Array& want, const Array& got) {
  const double epsilon = want.dtype() == DType::bf16 ? 0x1p-9 : want.dtype() == DType::f16 ? 0x1p-12 : 0x1p-25;
  double most = 0;
  for (int64_t i = 0; i < want.size(); ++i)
    if (std::isfinite(want.getDouble(i))) most = std::max(most, std::abs(want.getDouble(i)));
  for (int64_t i = 0; i < want.size(); ++i) {
    const double a = want.getDouble(i), b = got.getDouble(i);
    if (std::isnan(a) != std::isnan(b) || std::abs(a - b) > 8 * epsilon * most) return false;
  }
  return true;
}

}  // namespace

void Cases::compare(const Graph& graph, const std::vector<Bound>& bounds, const std::vector<Array>& actual,
                    const std::string& who) const {
  const auto want = evaluate(graph, inputs_);
  ASSERT_TRUE(want) << want.error().str();
  ASSERT_EQ(want->size(), actual.size());
  for (size_t k = 0; k < actual.size(); ++k) {
    const Array &w = (*want)[k], &a = actual[k];
    const std::string where = who + ": " + statementOf(graph, graph.outputs()[k]);
    if (w.dtype() != a.dtype() || w.shape() != a.shape()) {
      ADD_FAILURE() << where << " has another type";
      continue;
    }
    if (bounds[k] == Bound::loose) continue;
    if (bounds[k] == Bound::scaled) {
      EXPECT_TRUE(nearAtScale(w, a)) << where;
      continue;
    }
    int64_t wrong = 0, first = -1;
    for (int64_t i = 0; i < w.size(); ++i)
      if (!near(w, a, i, bounds[k]) && wrong++ == 0) first = i;
    if (wrong == 0) continue;
    std::string operands;
    for (ValueId v : graph.node(graph.outputs()[k]).operands)
      for (size_t in = 0; in < inputs_.size(); ++in)
        if (graph.inputs()[in] == v && inputs_[in].size() == w.size())
          operands += fmt::format(" {:.9g}", inputs_[in].getDouble(first));
    ADD_FAILURE() << where
                  << fmt::format("\n  {} of {} elements differ; element {} is {:.9g}, not {:.9g}; operands{}", wrong,
                                 w.size(), first, a.getDouble(first), w.getDouble(first), operands);
  }
}

void Cases::compareLoose(const Graph& graph, const std::vector<Bound>& bounds, const std::vector<Array>& actual,
                         const std::string& who) const {
  std::vector<size_t> loose;
  std::vector<Array> arrays;
  for (size_t k = 0; k < actual.size(); ++k) {
    if (bounds[k] != Bound::loose) continue;
    loose.push_back(k);
    arrays.push_back(actual[k]);
  }
  if (loose.empty() || fuzz::compareOutputs(withOutputs(graph, loose), inputs_, arrays)) return;
  for (size_t k : loose) {
    const auto same = fuzz::compareOutputs(withOutputs(graph, {k}), inputs_, {actual[k]});
    if (!same) ADD_FAILURE() << who << ": " << statementOf(graph, graph.outputs()[k]) << "\n  " << same.error().str();
  }
}

void Cases::expectRight(bool simt, const CompileOptions& options) {
  if (bounds_.empty()) return;
  auto graph = builder.finish();
  ASSERT_TRUE(graph) << graph.error().str();
  for (const Runner& runner : runners())
    if (simt || !runner.onSimt) expectRight(*graph, runner, options);
}

void Cases::expectRight(const Graph& graph, const Runner& runner, const CompileOptions& options) const {
  const auto all = runner.run(graph, inputs_, options);
  if (all) {
    compare(graph, bounds_, *all, runner.name);
    compareLoose(graph, bounds_, *all, runner.name);
    return;
  }
  for (size_t k = 0; k < bounds_.size(); ++k) {  // which of them it is
    const Graph one = withOutputs(graph, {k});
    const auto alone = runner.run(one, inputs_, options);
    if (alone) {
      compare(one, {bounds_[k]}, *alone, runner.name);
      compareLoose(one, {bounds_[k]}, *alone, runner.name);
    } else if (!runner.excuses(alone.error())) {
      ADD_FAILURE() << runner.name << ": " << statementOf(graph, graph.outputs()[k]) << "\n  " << alone.error().str();
    }
  }
  if (!runner.excuses(all.error()))
    ADD_FAILURE() << runner.name << ": all of them together fail\n" << all.error().str();
}

}  // namespace tokamak::sweep
