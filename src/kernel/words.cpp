#include "kernel/words.h"

#include <algorithm>
#include <array>

#include "support/dtype.h"
#include "support/scalar_op.h"

namespace tokamak::kernel {

namespace {

constexpr std::array<std::string_view, 31> kReserved = {
    "cluster",    "for",       "let",     "var",         "store",      "if",     "else", "barrier",
    "local",      "shared",    "load",    "select",      "cast",       "splat",  "ramp", "fold",
    "prefix",     "extract",   "philox",  "true",        "false",      "inf",    "nan",  "warpfold",
    "warpprefix", "warpshift", "aligned", "evict_first", "evict_last", "within", "inbox"};

bool isStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isPart(char c) { return isStart(c) || (c >= '0' && c <= '9'); }

}  // namespace

bool isIdentifier(std::string_view name) {
  return !name.empty() && isStart(name[0]) && std::all_of(name.begin(), name.end(), isPart);
}

bool isReserved(std::string_view name) {
  return std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end() || fromName<DType>(name) ||
         fromName<UnaryKind>(name) || fromName<BinaryKind>(name);
}

std::string asIdentifier(std::string_view name) {
  if (name.empty()) return "v";
  std::string out;
  for (char c : name) out += isPart(c) ? c : '_';
  if (!isStart(out[0])) out.insert(out.begin(), '_');
  return out;
}

}  // namespace tokamak::kernel
