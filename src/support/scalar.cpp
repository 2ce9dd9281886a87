#include "support/scalar.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

namespace tokamak {

int64_t Scalar::asInt() const { return isFloat ? truncateToInt(d) : i; }

bool Scalar::operator==(const Scalar& other) const {
  if (isFloat != other.isFloat) return false;
  if (!isFloat) return i == other.i;
  if (std::isnan(d) || std::isnan(other.d)) return std::isnan(d) && std::isnan(other.d);
  return std::bit_cast<uint64_t>(d) == std::bit_cast<uint64_t>(other.d);
}

std::string Scalar::str() const {
  if (!isFloat) return std::to_string(i);
  if (std::isnan(d)) return "nan";
  std::string text = fmt::format("{}", d);
  const bool looksInteger = text.find_first_of(".en") == std::string::npos;
  return looksInteger ? text + ".0" : text;
}

}  // namespace tokamak
