#include "graph/interp/value.h"

namespace tokamak::interp {

Value::Value(DType dtype, Extents extents) : dtype(dtype), shape(std::move(extents)) {
  const auto count = static_cast<size_t>(countOf(shape));
  if (isFloat(dtype))
    floats.resize(count);
  else
    ints.resize(count);
}

Value::Value(const Array& array) : Value(array.dtype(), array.shape()) {
  for (size_t i = 0; i < floats.size(); ++i) floats[i] = array.getDouble(static_cast<int64_t>(i));
  for (size_t i = 0; i < ints.size(); ++i) ints[i] = array.getInt(static_cast<int64_t>(i));
}

Array Value::toArray() const {
  Array array(dtype, shape);
  for (size_t i = 0; i < floats.size(); ++i) array.setDouble(static_cast<int64_t>(i), floats[i]);
  for (size_t i = 0; i < ints.size(); ++i) array.setInt(static_cast<int64_t>(i), ints[i]);
  return array;
}

int64_t countOf(const Extents& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  return count;
}

Extents rowMajorStrides(const Extents& shape) {
  Extents strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Extents broadcastStrides(const Extents& shape, const Extents& target) {
  const Extents own = rowMajorStrides(shape);
  Extents strides(target.size(), 0);
  const size_t lead = target.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) strides[lead + i] = own[i];
  return strides;
}

}  // namespace tokamak::interp
