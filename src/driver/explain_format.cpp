#include <fmt/format.h>

#include <cmath>

#include "driver/explain.h"

namespace tokamak {

namespace {

/// Three significant digits without an exponent: `8.39`, `83.9`, `839`.
std::string threeDigits(double v) {
  const double size = std::fabs(v);
  return fmt::format("{:.{}f}", v, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

}  // namespace

std::string formatBytes(double bytes) {
  constexpr std::string_view units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  if (std::fabs(bytes) < 999.5) return fmt::format("{:.0f} B", bytes);
  size_t unit = 0;
  bytes /= 1000;
  while (std::fabs(bytes) >= 999.5 && unit + 1 < std::size(units)) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", threeDigits(bytes), units[unit]);
}

std::string formatMicroseconds(double microseconds) {
  if (std::fabs(microseconds) < 999.5) return threeDigits(microseconds) + " us";
  if (std::fabs(microseconds) < 999.5e3) return threeDigits(microseconds / 1e3) + " ms";
  return threeDigits(microseconds / 1e6) + " s";
}

std::string formatReduction(double before, double after) {
  if (!(before > 0) || !(after > 0) || before <= after * 1.005) return "none";
  return fmt::format("{}x less", before / after < 9.95 ? fmt::format("{:.1f}", before / after)
                                                       : fmt::format("{:.0f}", before / after));
}

std::string escapeHtml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  return out;
}

double bytesOf(const Explanation& explanation, ValueId value) {
  const TensorType& type = explanation.graph.type(value);
  std::set<std::string, std::less<>> symbols;
  for (const Dim& extent : type.shape) extent.collectSymbols(symbols);
  DimBindings dims = explanation.dims;
  for (const std::string& symbol : symbols) dims.try_emplace(symbol, 1024);
  double bytes = static_cast<double>(byteWidth(type.dtype));
  for (const Dim& extent : type.shape) {
    const Result<int64_t> n = extent.eval(dims);
    bytes *= n ? static_cast<double>(*n) : 0;
  }
  return bytes;
}

size_t computingOps(const Graph& graph) {
  size_t count = 0;
  for (const Node& node : graph.nodes())
    count += !std::holds_alternative<Input>(node.op) && !std::holds_alternative<Constant>(node.op);
  return count;
}

}  // namespace tokamak
