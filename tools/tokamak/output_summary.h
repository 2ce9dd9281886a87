#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/array.h"

namespace tokamak::tool {

/// What `run` says about one output.
struct OutputSummary {
  std::string name;  // as in the graph, `%y`
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  double min = 0, max = 0, mean = 0;  // over the elements that are not NaN; NaN where there are none
  int64_t nans = 0;
  std::vector<double> first;  // up to four elements
  std::string checksum;       // of the bytes, 16 hexadecimal digits
  std::string file;           // where it was written; empty if it was not

  std::string str() const;  // one line
  nlohmann::ordered_json json() const;
};

OutputSummary summarise(std::string name, const Array& array);

/// How far apart a result and the reference are, and whether that is close enough for the dtype.
struct Comparison {
  double worst = 0;      // largest difference relative to the magnitude of the reference, or count of unequal integers
  double tolerance = 0;  // what is allowed
  bool close = true;
};

/// NaNs equal each other. Differences of floats are taken relative to |reference| + mean |reference|. `perturbed` are
/// evaluations with rounding errors put in: what they stray, eight times over, is allowed where it is above the dtype's
/// usual tolerance.
Comparison compare(const Array& result, const Array& reference, const std::vector<const Array*>& perturbed = {});

}  // namespace tokamak::tool
