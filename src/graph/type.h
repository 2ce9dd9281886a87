#pragma once

#include <string>

#include "support/dim.h"
#include "support/dtype.h"

namespace tokamak {

/// Element type and shape: `f32[M, 64]`; rank 0 is `f32[]`.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;

  size_t rank() const { return shape.size(); }
  Dim elements() const { return elementCount(shape); }
  Dim bytes() const { return elements() * Dim(byteWidth(dtype)); }
  std::string str() const { return std::string(nameOf(dtype)) + tokamak::str(shape); }
  bool operator==(const TensorType&) const = default;
};

using Axis = int64_t;  // 0-based, within rank; never negative in the IR

}  // namespace tokamak
