#include "output_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "support/hash.h"

namespace tokamak::tool {

OutputSummary summarise(std::string name, const Array& array) {
  OutputSummary out;
  out.name = std::move(name);
  out.dtype = array.dtype();
  out.shape = array.shape();
  double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
  for (int64_t i = 0; i < array.size(); ++i) {
    const double v = array.getDouble(i);
    if (i < 4) out.first.push_back(v);
    if (std::isnan(v)) {
      ++out.nans;
      continue;
    }
    low = std::min(low, v);
    high = std::max(high, v);
    sum += v;
  }
  const int64_t counted = array.size() - out.nans;
  out.min = counted ? low : std::nan("");
  out.max = counted ? high : std::nan("");
  out.mean = counted ? sum / static_cast<double>(counted) : std::nan("");
  out.checksum =
      fmt::format("{:016x}", hashBytes({static_cast<const char*>(array.data()), static_cast<size_t>(array.bytes())}));
  return out;
}

std::string OutputSummary::str() const {
  std::string out = fmt::format("{}: {}[{}]", name, nameOf(dtype), fmt::join(shape, ", "));
  if (first.empty()) return out + "  empty";
  out += fmt::format("  min {:.6g}  max {:.6g}  mean {:.6g}", min, max, mean);
  if (nans > 0) out += fmt::format("  {} NaN", nans);
  std::vector<std::string> head;
  head.reserve(first.size());
  for (double v : first) head.push_back(fmt::format("{:.6g}", v));
  out += fmt::format("  first [{}]  checksum {}", fmt::join(head, ", "), checksum);
  if (!file.empty()) out += "  -> " + file;
  return out;
}

nlohmann::ordered_json OutputSummary::json() const {
  nlohmann::ordered_json out = {{"name", name},        {"dtype", nameOf(dtype)}, {"shape", shape}, {"min", min},
                                {"max", max},          {"mean", mean},           {"nan", nans},    {"first", first},
                                {"checksum", checksum}};
  if (!file.empty()) out["file"] = file;
  return out;
}

namespace {

/// Largest difference relative to |reference| + `magnitude`; infinite where one side alone is NaN or infinite.
double worstDifference(const Array& result, const Array& reference, double magnitude) {
  double worst = 0;
  for (int64_t i = 0; i < reference.size(); ++i) {
    const double a = result.getDouble(i), b = reference.getDouble(i);
    if ((std::isnan(a) && std::isnan(b)) || a == b) continue;
    const double error = std::fabs(a - b) / (std::fabs(b) + magnitude);
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
  }
  return worst;
}

double meanMagnitude(const Array& array) {
  double sum = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < array.size(); ++i)
    if (const double v = array.getDouble(i); std::isfinite(v)) {
      sum += std::fabs(v);
      ++finite;
    }
  return finite ? sum / static_cast<double>(finite) : 0;
}

}  // namespace

Comparison compare(const Array& result, const Array& reference, const std::vector<const Array*>& perturbed) {
  Comparison out;
  if (result.dtype() != reference.dtype() || result.shape() != reference.shape()) {
    out.worst = std::numeric_limits<double>::infinity();
    out.close = false;
    return out;
  }
  if (!isFloat(reference.dtype())) {
    for (int64_t i = 0; i < reference.size(); ++i) out.worst += result.getInt(i) != reference.getInt(i) ? 1 : 0;
    for (const Array* other : perturbed)
      for (int64_t i = 0; i < reference.size(); ++i) out.tolerance += other->getInt(i) != reference.getInt(i) ? 8 : 0;
  } else {
    constexpr double usual[] = {5e-3, 3e-2, 1e-4, 1e-9};  // f16, bf16, f32, f64
    const double magnitude = meanMagnitude(reference);
    out.worst = worstDifference(result, reference, magnitude);
    out.tolerance = usual[static_cast<int>(reference.dtype()) - static_cast<int>(DType::f16)];
    for (const Array* other : perturbed)
      out.tolerance = std::max(out.tolerance, 8 * worstDifference(*other, reference, magnitude));
  }
  out.close = out.worst <= out.tolerance;
  return out;
}

}  // namespace tokamak::tool
