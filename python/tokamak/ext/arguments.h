#pragma once

/// The inputs of one segment as the runtime wants them.

#include <vector>

#include "tensors.h"

namespace tokamak::python {

struct SegmentInput {
  /// What an input with such an axis is of a Python integer: its value, or how far that is above zero, or below.
  static constexpr int number = -2, aboveZero = -3, belowZero = -4;
  int value = 0, axis = -1;
  std::vector<int> order;
};

class Arguments {
 public:
  Arguments(size_t count, dlpack::Device device) : device_(device) {
    extents_.reserve(2 * kRank * count), refs_.reserve(count), kept_.reserve(count);
  }

  /// `object` is a tensor, or an integer where the input is one or a part of one.
  void add(const SegmentInput& input, PyObject* object);
  std::span<const runtime::TensorRef> refs() const { return refs_; }

 private:
  static constexpr int kRank = 16;
  void addExtent(int64_t n);
  void addTensor(const dlpack::Tensor& t, std::span<const int> order);

  dlpack::Device device_;
  std::vector<int64_t> extents_;  // never grows beyond what was reserved: refs_ point into it
  std::vector<runtime::TensorRef> refs_;
  std::vector<Ref> kept_;
};

}  // namespace tokamak::python
