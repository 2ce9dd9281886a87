#include "tensors.h"

#include <algorithm>
#include <memory>
#include <optional>

namespace tokamak::python {

namespace {

const dlpack::ExchangeTable* table = nullptr;
PyObject* fromDlpack = nullptr;  // torch.from_dlpack
PyObject* toCapsule = nullptr;   // torch.utils.dlpack.to_dlpack

dlpack::DataType dlpackType(DType dtype) {
  const auto bits = static_cast<uint8_t>(byteWidth(dtype) * 8);
  switch (dtype) {
    case DType::boolean: return {dlpack::boolean, 8, 1};
    case DType::u8: return {dlpack::unsignedInteger, 8, 1};
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64: return {dlpack::integer, bits, 1};
    case DType::bf16: return {dlpack::bfloat, 16, 1};
    default: return {dlpack::floating, bits, 1};
  }
}

/// What torch holds on to: the block, and the shape that DLPack points to.
struct Held {
  dlpack::ManagedTensor managed;
  runtime::MemoryPool::Block* block;
  int64_t extents[2 * 32];

  static void drop(dlpack::ManagedTensor* managed) {
    std::unique_ptr<Held> held(static_cast<Held*>(managed->context));
    runtime::MemoryPool::release(held->block);
  }
};

constexpr const char* kNewName = "dltensor_versioned";

Ref capsuleToTorch(dlpack::ManagedTensor* managed) {
  Ref capsule = Ref::steal(PyCapsule_New(managed, kNewName, [](PyObject* object) {
    if (!PyCapsule_IsValid(object, kNewName)) return;  // consumed
    auto* unused = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(object, kNewName));
    unused->deleter(unused);
  }));
  if (!capsule) managed->deleter(managed);
  check(static_cast<bool>(capsule));
  return owned(PyObject_CallFunctionObjArgs(fromDlpack, capsule.get(), nullptr));
}

}  // namespace

void setTensorType(PyObject* tensorType, bool useTable) {
  table = nullptr;
  if (useTable) {
    Ref capsule = Ref::steal(PyObject_GetAttrString(tensorType, "__dlpack_c_exchange_api__"));
    PyErr_Clear();
    if (capsule && PyCapsule_IsValid(capsule.get(), "dlpack_exchange_api")) {
      auto* found = static_cast<dlpack::ExchangeTable*>(PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
      if (found && found->header.version.major == 1 && found->viewObject && found->toObject) table = found;
    }
  }
  Ref torch = owned(PyImport_ImportModule("torch.utils.dlpack"));
  Py_XDECREF(std::exchange(fromDlpack, owned(PyObject_GetAttrString(torch.get(), "from_dlpack")).release()));
  Py_XDECREF(std::exchange(toCapsule, owned(PyObject_GetAttrString(torch.get(), "to_dlpack")).release()));
}

bool hasExchangeTable() { return table != nullptr; }

Borrowed borrow(PyObject* tensor) {
  Borrowed out{};
  if (table) {
    check(table->viewObject(tensor, &out.tensor) == 0);
    return out;
  }
  Ref detached = owned(PyObject_CallMethod(tensor, "detach", nullptr));
  out.keep = owned(PyObject_CallFunctionObjArgs(toCapsule, detached.get(), nullptr));
  auto* managed = static_cast<dlpack::OldManagedTensor*>(PyCapsule_GetPointer(out.keep.get(), "dltensor"));
  check(managed != nullptr);
  out.tensor = managed->tensor;
  return out;
}

std::optional<void*> currentStream(int device) {
  void* stream = nullptr;
  if (!table || !table->currentStream) return std::nullopt;
  check(table->currentStream(dlpack::cuda, device, &stream) == 0);
  return stream;
}

std::optional<DType> dtypeOf(dlpack::DataType type) {
  if (type.lanes != 1) return std::nullopt;
  for (const DType dtype : {DType::f32, DType::bf16, DType::i64, DType::f16, DType::boolean, DType::f64, DType::i32,
                            DType::u8, DType::i8, DType::i16}) {
    const dlpack::DataType candidate = dlpackType(dtype);
    if (candidate.code == type.code && candidate.bits == type.bits) return dtype;
  }
  return std::nullopt;
}

Ref toTorch(runtime::Tensor tensor, std::span<const int> order) {
  const auto& shape = tensor.shape();
  const int rank = static_cast<int>(shape.size());
  if (rank > 32) raise(PyExc_RuntimeError, "a result has more than 32 axes");
  auto* held = new Held;
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    const int axis = order.empty() ? i : order[i];
    held->extents[axis] = shape[i];
    held->extents[32 + axis] = stride;
    stride *= std::max<int64_t>(1, shape[i]);
  }
  held->managed = {{1, 0}, held, &Held::drop, 0, {}};
  held->managed.tensor = {tensor.data(), {dlpack::cpu, 0},   rank, dlpackType(tensor.dtype()),
                          held->extents, held->extents + 32, 0};
  held->block = tensor.takeBlock().detach();
  if (!table) return capsuleToTorch(&held->managed);
  void* object = nullptr;
  if (table->toObject(&held->managed, &object) != 0) {
    Held::drop(&held->managed);
    throw PythonError{};
  }
  return Ref::steal(static_cast<PyObject*>(object));
}

}  // namespace tokamak::python
