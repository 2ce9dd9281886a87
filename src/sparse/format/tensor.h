#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sparse/format/format.h"
#include "support/dtype.h"
#include "support/result.h"

namespace tokamak::sparse {

/// Entries by coordinate: `at[e * rank + axis]` and `values[e]`. The neutral form between files and formats.
struct Entries {
  std::vector<int64_t> shape;
  std::vector<int32_t> at;
  std::vector<double> values;

  int rank() const { return static_cast<int>(shape.size()); }
  int64_t count() const { return static_cast<int64_t>(values.size()); }
  void add(std::initializer_list<int32_t> coordinate, double value) {
    at.insert(at.end(), coordinate);
    values.push_back(value);
  }
};

/// One level of a stored tensor. `pos` is a compressed level's (positions above + 1 of them), `crd` a compressed or
/// singleton level's.
struct LevelStorage {
  int64_t size = 0;
  std::vector<int64_t> pos;
  std::vector<int32_t> crd;
  bool operator==(const LevelStorage&) const = default;
};

/// A tensor in memory: a value for each position of the last level. Values are computed in float64 whatever `dtype`
/// says; it decides how they are rounded when read and written.
struct Tensor {
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  Format format;
  std::vector<LevelStorage> levels;
  std::vector<double> values;

  int rank() const { return static_cast<int>(shape.size()); }
  int64_t stored() const { return static_cast<int64_t>(values.size()); }
  /// What it takes in memory: positions at 8 bytes, coordinates at 4, values by dtype.
  int64_t bytes() const;
  bool operator==(const Tensor&) const = default;
};

/// Sorts the entries into the format. T0901 where a coordinate is outside the shape, T0902 where one comes twice.
Result<Tensor> pack(const Entries& entries, const Format& format, DType dtype = DType::f32);

/// All stored entries in level order; a dense level stores every coordinate.
Entries unpack(const Tensor& tensor);

/// The same tensor in another format. Zeros that only a dense level stored are dropped on the way to a compressed one,
/// unless `stored` is to be kept: then the other format stores the same entries.
enum class Keep : uint8_t { values, stored };
Tensor convert(const Tensor& tensor, const Format& format, Keep keep = Keep::values);

/// Row-major values, absent entries zero.
std::vector<double> toDense(const Tensor& tensor);
Tensor fromDense(std::vector<double> values, const std::vector<int64_t>& shape, const Format& format,
                 DType dtype = DType::f32);

/// Positions, coordinates and sizes agree and fibers are sorted; names the level and position at fault (T0903).
Result<> verify(const Tensor& tensor);

}  // namespace tokamak::sparse
