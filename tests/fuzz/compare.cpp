#include "fuzz/compare.h"

#include <fmt/format.h>

#include <cmath>

#include "graph/interp/evaluate.h"

namespace tokamak::fuzz {

namespace {

constexpr uint64_t kUsual = 4, kThorough = 32;  // perturbed evaluations
constexpr double kSlack = 64;

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::f64: return 1e-12;
    case DType::f32: return 1e-5;
    case DType::f16: return 0x1p-9;
    default: return 0x1p-6;
  }
}

/// The reference outputs first, then those of other correct implementations.
using Evaluations = std::vector<std::vector<Array>>;

Result<Evaluations> evaluations(const Graph& graph, const std::vector<Array>& inputs) {
  Evaluations all;
  for (auto precision : {EvalPrecision::wide, EvalPrecision::compute, EvalPrecision::eager}) {
    TK_TRY(auto outputs, evaluate(graph, inputs, precision));
    all.push_back(std::move(outputs));
  }
  return all;
}

Result<> addPerturbed(const Graph& graph, const std::vector<Array>& inputs, uint64_t from, uint64_t to,
                      Evaluations& all) {
  for (uint64_t seed = from; seed < to; ++seed) {
    TK_TRY(auto outputs, evaluatePerturbed(graph, inputs, seed));
    all.push_back(std::move(outputs));
  }
  return Unit{};
}

bool sameSpecial(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// The largest finite magnitude of an output: sums that cancel leave errors in proportion to what they summed, which
/// the output's other elements tell better than the one that cancelled.
double magnitude(const Array& reference) {
  double most = 0;
  for (int64_t i = 0; isFloat(reference.dtype()) && i < reference.size(); ++i)
    if (const double x = std::abs(reference.getDouble(i)); std::isfinite(x)) most = std::max(most, x);
  return most;
}

/// How far from the reference an element may lie; infinity where anything goes.
double allowance(const Evaluations& all, size_t output, int64_t i, double most) {
  const Array& reference = all[0][output];
  double spread = 0;
  for (size_t e = 1; e < all.size(); ++e) {
    const Array& other = all[e][output];
    if (!isFloat(reference.dtype())) {
      if (other.getInt(i) != reference.getInt(i)) return INFINITY;
      continue;
    }
    const double a = reference.getDouble(i), b = other.getDouble(i);
    if (!std::isfinite(a) || !std::isfinite(b)) {
      if (!sameSpecial(a, b)) return INFINITY;
    } else {
      spread = std::max(spread, std::abs(a - b));
    }
  }
  if (!isFloat(reference.dtype()) || !std::isfinite(reference.getDouble(i))) return 0;
  return tolerance(reference.dtype()) * (std::abs(reference.getDouble(i)) + 0.01 + 0.1 * most) + kSlack * spread;
}

bool accepts(const Array& reference, const Array& actual, int64_t i, double allowed) {
  if (allowed == INFINITY) return true;
  if (!isFloat(reference.dtype())) return reference.getInt(i) == actual.getInt(i);
  const double r = reference.getDouble(i), a = actual.getDouble(i);
  return sameSpecial(r, a) || std::abs(r - a) <= allowed;
}

Diagnostic differs(const std::string& message) { return {"FUZZ", {}, message, {}}; }

Result<> compareAll(const Graph& graph, const Evaluations& all, const std::vector<Array>& actual) {
  if (actual.size() != all[0].size()) return differs(fmt::format("{} outputs, not {}", actual.size(), all[0].size()));
  for (size_t output = 0; output < actual.size(); ++output) {
    const Array &reference = all[0][output], &given = actual[output];
    const ValueId id = graph.outputs()[output];
    if (given.dtype() != reference.dtype() || given.shape() != reference.shape())
      return differs(fmt::format("output {} ({}) has another dtype or shape", output, graph.label(id)));
    int64_t wrong = 0, first = -1, undecided = 0;
    const double most = magnitude(reference);
    for (int64_t i = 0; i < reference.size(); ++i) {
      const double allowed = allowance(all, output, i, most);
      undecided += allowed == INFINITY;
      if (accepts(reference, given, i, allowed)) continue;
      if (wrong++ == 0) first = i;
    }
    // Where rounding decided many integers of an output, it decided those that no evaluation happened to turn as well.
    if (!isFloat(reference.dtype()) && wrong <= undecided) continue;
    if (wrong > 0)
      return differs(fmt::format(
          "output {} ({} : {}) differs at {} of {} elements; element {} is {:.9g}, not {:.9g} within {:.2g}", output,
          graph.label(id), graph.type(id).str(), wrong, reference.size(), first, given.getDouble(first),
          reference.getDouble(first), allowance(all, output, first, most)));
  }
  return Unit{};
}

}  // namespace

Result<> compareOutputs(const Graph& graph, const std::vector<Array>& inputs, const std::vector<Array>& actual) {
  TK_TRY(Evaluations all, evaluations(graph, inputs));
  TK_RETURN_IF_ERROR(addPerturbed(graph, inputs, 0, kUsual, all));
  if (compareAll(graph, all, actual).ok()) return Unit{};
  // A tie may fall either way with even odds; few evaluations can all miss one of the ways.
  TK_RETURN_IF_ERROR(addPerturbed(graph, inputs, kUsual, kThorough, all));
  return compareAll(graph, all, actual);
}

}  // namespace tokamak::fuzz
