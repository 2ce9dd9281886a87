#include "arguments.h"

#include <algorithm>
#include <cstdint>

namespace tokamak::python {

namespace {

/// A dense copy by torch, its axes in the order that the executable wants.
Ref denseCopy(PyObject* tensor, std::span<const int> order) {
  Ref permuted = Ref::borrow(tensor);
  if (!order.empty()) {
    const Ref axes = owned(PyTuple_New(static_cast<Py_ssize_t>(order.size())));
    for (size_t i = 0; i < order.size(); ++i)
      check(PyTuple_SetItem(axes.get(), static_cast<Py_ssize_t>(i), PyLong_FromLong(order[i])) == 0);
    permuted = owned(PyObject_CallMethod(tensor, "permute", "O", axes.get()));
  }
  return owned(PyObject_CallMethod(permuted.get(), "contiguous", nullptr));
}

int64_t belowZero(int64_t n) {
  if (n == INT64_MIN) raise(PyExc_OverflowError, "tokamak: an integer argument of a compiled function is -2**63");
  return std::max<int64_t>(0, -n);
}

}  // namespace

void Arguments::add(const SegmentInput& input, PyObject* object) {
  if (input.axis == SegmentInput::number) return addExtent(toInt(object));
  if (input.axis == SegmentInput::aboveZero) return addExtent(std::max<int64_t>(0, toInt(object)));
  if (input.axis == SegmentInput::belowZero) return addExtent(belowZero(toInt(object)));
  Borrowed in = borrow(object);
  const dlpack::Tensor& t = in.tensor;
  if (input.axis >= 0) return addExtent(input.axis < t.rank ? t.shape[input.axis] : 0);
  if (!dtypeOf(t.dtype) || t.device.type != device_.type ||
      (t.device.id != device_.id && t.device.type != dlpack::cpu) || t.rank > kRank)
    raise(PyExc_RuntimeError, "tokamak: a tensor came in that was not compiled for: another dtype or device");
  addTensor(t, input.order);
  if (in.keep) kept_.push_back(std::move(in.keep));
  if (device_.type == dlpack::cpu || refs_.back().contiguous()) return;
  // Kernels of the CPU read any strides, those of a GPU dense memory.
  refs_.pop_back();
  extents_.resize(extents_.size() - 2 * kRank);
  kept_.push_back(denseCopy(object, input.order));
  Borrowed copy = borrow(kept_.back().get());
  addTensor(copy.tensor, {});
  if (copy.keep) kept_.push_back(std::move(copy.keep));
}

void Arguments::addExtent(int64_t n) {
  const size_t at = extents_.size();
  extents_.resize(at + 2);
  extents_[at] = n;
  refs_.push_back({nullptr, DType::boolean, 2, extents_.data() + at, nullptr});
}

void Arguments::addTensor(const dlpack::Tensor& t, std::span<const int> order) {
  const size_t at = extents_.size();
  extents_.resize(at + 2 * kRank);
  int64_t* shape = extents_.data() + at;
  int64_t* strides = shape + kRank;
  for (int i = 0; i < t.rank; ++i) {
    const int axis = order.empty() ? i : order[static_cast<size_t>(i)];
    shape[i] = t.shape[axis];
    strides[i] = t.strides ? t.strides[axis] : 0;
  }
  refs_.push_back({static_cast<std::byte*>(t.data) + t.byteOffset, *dtypeOf(t.dtype), t.rank, shape,
                   t.strides ? strides : nullptr});
}

}  // namespace tokamak::python
