#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <iterator>

#include "graph/graph.h"
#include "graph/ops/reflect.h"

namespace tokamak {

namespace {

constexpr int64_t kLongestList = 64;  // constants with more elements are written as bytes

std::string text(bool v) { return v ? "true" : "false"; }
std::string text(int64_t v) { return std::to_string(v); }
std::string text(double v) { return Scalar::of(v).str(); }
std::string text(const Scalar& v) { return v.str(); }
std::string text(const Dim& v) { return v.str(); }
template <NamedEnum E>
std::string text(E v) {
  return std::string(nameOf(v));
}
template <class T>
std::string text(const std::vector<T>& values) {
  std::string out = "[";
  for (const auto& v : values) out += (out.size() > 1 ? ", " : "") + text(v);
  return out + "]";
}

/// The NaN that the word `nan` stands for; others are written as bytes to keep their bits.
bool isPlainNan(const Array& array, int64_t i) {
  Array plain(array.dtype(), {1});
  plain.setDouble(0, std::nan(""));
  const int64_t width = byteWidth(array.dtype());
  return std::memcmp(plain.as<std::byte>(), array.as<std::byte>() + i * width, static_cast<size_t>(width)) == 0;
}

/// Shortest text that gives the element back.
std::string elementText(const Array& array, int64_t i) {
  if (array.dtype() == DType::boolean) return text(array.getInt(i) != 0);
  if (!isFloat(array.dtype())) return text(array.getInt(i));
  const double v = array.getDouble(i);
  if (array.dtype() == DType::f64 || !std::isfinite(v)) return text(v);
  std::string shortest = fmt::format("{}", static_cast<float>(v));
  if (shortest.find_first_of(".e") == std::string::npos) shortest += ".0";
  return shortest;
}

bool fitsList(const Array& array) {
  if (array.size() > kLongestList) return false;
  if (!isFloat(array.dtype())) return true;
  for (int64_t i = 0; i < array.size(); ++i)
    if (std::isnan(array.getDouble(i)) && !isPlainNan(array, i)) return false;
  return true;
}

std::string text(const std::shared_ptr<const Array>& array) {
  if (!array) return "[]";
  std::string out;
  if (fitsList(*array)) {
    for (int64_t i = 0; i < array->size(); ++i) out += (i ? ", " : "") + elementText(*array, i);
    return "[" + out + "]";
  }
  static constexpr char digits[] = "0123456789abcdef";
  const auto* bytes = array->as<unsigned char>();
  out.reserve(static_cast<size_t>(array->bytes()) * 2);
  for (int64_t i = 0; i < array->bytes(); ++i) {
    out += digits[bytes[i] >> 4];
    out += digits[bytes[i] & 15];
  }
  return "hex\"" + out + "\"";
}

template <class T>
std::string attributes(const T& op) {
  T plain;
  if constexpr (NamedByKind<T>) plain.kind = op.kind;
  std::string out;
  std::apply(
      [&](const auto&... field) {
        const auto one = [&](const auto& f) {
          if (!f.always && op.*(f.member) == plain.*(f.member)) return;
          out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", f.name, text(op.*(f.member)));
        };
        (one(field), ...);
      },
      T::fields());
  return out.empty() ? out : " {" + out + "}";
}

std::vector<std::string> labels(const Graph& graph) {
  std::vector<std::string> out;
  size_t number = 0;
  for (const Node& node : graph.nodes())
    out.push_back(node.name.empty() ? fmt::format("%{}", number++) : "%" + node.name);
  return out;
}

}  // namespace

std::string print(const Graph& graph) {
  const auto names = labels(graph);
  const auto list = [&](const std::vector<ValueId>& values) {
    std::string out;
    for (ValueId v : values) out += (out.empty() ? " " : ", ") + (v.index < names.size() ? names[v.index] : "%<none>");
    return out;
  };
  std::string out = fmt::format("graph @{}(", graph.name);
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const ValueId v = graph.inputs()[i];
    out += fmt::format("{}{}: {}", i ? ", " : "", names[v.index], graph.type(v).str());
  }
  out += ") {\n";
  for (size_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (std::holds_alternative<Input>(node.op)) continue;
    const std::string fields = std::visit([](const auto& op) { return attributes(op); }, node.op);
    out +=
        fmt::format("  {} = {}{}{} : {}\n", names[i], mnemonic(node.op), list(node.operands), fields, node.type.str());
  }
  return out + fmt::format("  return{}\n}}\n", list(graph.outputs()));
}

}  // namespace tokamak
