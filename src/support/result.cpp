#include "support/result.h"

#include <fmt/format.h>

namespace tokamak {

std::string Diagnostic::str() const {
  std::string out;
  if (!location.file.empty()) out += location.file + ":";
  if (location.line > 0) out += fmt::format("{}:{}:", location.line, location.column);
  if (!out.empty()) out += " ";
  out += fmt::format("error {}: {}", code, message);
  if (!hint.empty()) out += "\n  hint: " + hint;
  return out;
}

}  // namespace tokamak
