#pragma once

#include <cstdint>
#include <string>

#include "support/dtype.h"

namespace tokamak {

/// An immediate number: an exact integer (also bool, as 0 or 1) or a float64. Its dtype comes from where it stands.
/// Two NaNs compare equal, 0.0 and -0.0 do not, so that printing and parsing give back an equal value.
struct Scalar {
  bool isFloat = false;
  int64_t i = 0;
  double d = 0;

  static Scalar of(int64_t v) { return {false, v, 0}; }
  static Scalar of(double v) { return {true, 0, v}; }
  double asDouble() const { return isFloat ? d : static_cast<double>(i); }
  int64_t asInt() const;  // truncates a float; saturates

  bool operator==(const Scalar&) const;
  /// Shortest text that parses back equal: `3`, `0.5`, `1.0`, `inf`, `-inf`, `nan`.
  std::string str() const;
};

}  // namespace tokamak
