#pragma once

/// How torch's tensors come in and go out: by DLPack's exchange table where torch has one, else by ordinary capsules.

#include "dlpack.h"
#include "py.h"
#include "runtime/tensor.h"

namespace tokamak::python {

/// Takes `torch.Tensor` once, when the package is imported; `useTable` false leaves the table alone, for tests.
void setTensorType(PyObject* tensorType, bool useTable);
bool hasExchangeTable();

/// A tensor that is read during one call. `keep` owns what the ordinary path had to make; the table's path makes
/// nothing.
struct Borrowed {
  dlpack::Tensor tensor;
  Ref keep;
};
Borrowed borrow(PyObject* tensor);

/// Torch's current stream on a GPU; nullopt where the table cannot say.
std::optional<void*> currentStream(int device);

/// nullopt for what no kernel computes on: complex numbers and the like.
std::optional<DType> dtypeOf(dlpack::DataType type);

/// A torch tensor around a block of the pool, which returns to the pool when torch drops the tensor. `order[i]` is the
/// axis of the result that the i-th axis of `tensor` is (empty: the same): memory stays as it is, strides are permuted.
Ref toTorch(runtime::Tensor tensor, std::span<const int> order);

}  // namespace tokamak::python
