/// `Watch`: tensors whose contents were taken as constants, and whether they still hold them.
///
///   watch = Watch({argument: tensor, ...})
///   watch.changed(arguments) -> [argument, ...]
///
/// A tensor has changed if its version or its address has. The watch keeps the memory of every tensor, so nothing else
/// can come to lie at its address. Changes that torch does not count (through `.data`, numpy, another process) are
/// looked for in all of a small tensor, and in a few elements spread over a large one: what touches all of that is
/// noticed, a few elements may not be.

#include "watch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "tensors.h"

namespace tokamak::python {

namespace {

constexpr int kSamples = 4;         // each is a miss of the caches, at every call
constexpr size_t kSmall = 4 << 10;  // bytes that are compared whole

struct Watched {
  int argument = 0;
  int64_t version = 0;
  Ref memory;  // a detached tensor
  const std::byte* address = nullptr;
  size_t width = 0;  // bytes of an element
  std::array<int64_t, kSamples> offsets{};
  int samples = 0;
  uint64_t sum = 0;
  std::vector<std::byte> copy;  // of a small tensor, instead of samples
};
using WatchBox = Boxed<std::vector<Watched>>;

const std::byte* addressOf(const dlpack::Tensor& t) { return static_cast<const std::byte*>(t.data) + t.byteOffset; }

/// A copy of all of it, or offsets in bytes of elements from the first to the last, evenly spread.
void chooseSamples(const dlpack::Tensor& t, Watched& out) {
  int64_t count = 1;
  bool dense = true;
  for (int i = t.rank - 1; i >= 0; --i) {
    dense &= !t.strides || t.shape[i] == 1 || t.strides[i] == count;
    count *= t.shape[i];
  }
  const size_t width = (t.dtype.bits * t.dtype.lanes + 7u) / 8u, bytes = static_cast<size_t>(count) * width;
  if (dense && bytes <= kSmall) {
    out.copy.assign(out.address, out.address + bytes);
    return;
  }
  out.width = std::min<size_t>(sizeof(uint64_t), width);
  out.samples = static_cast<int>(std::min<int64_t>(count, kSamples));
  for (int k = 0; k < out.samples; ++k) {
    int64_t rest = out.samples == 1 ? 0 : (count - 1) * k / (out.samples - 1), offset = 0, stride = 1;
    for (int i = t.rank - 1; i >= 0; --i) {
      offset += rest % t.shape[i] * (t.strides ? t.strides[i] : stride);
      rest /= t.shape[i];
      stride *= t.shape[i];
    }
    out.offsets[static_cast<size_t>(k)] = offset * static_cast<int64_t>(out.width);
  }
}

uint64_t sumOf(const Watched& watched) {
  uint64_t sum = 0;
  for (int k = 0; k < watched.samples; ++k) {
    uint64_t word = 0;
    std::memcpy(&word, watched.address + watched.offsets[static_cast<size_t>(k)], watched.width);
    sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
    sum ^= sum >> 32;
  }
  return sum;
}

/// Nothing for a tensor that counts no versions, as those made in inference mode.
std::optional<int64_t> versionOf(PyObject* tensor) {
  static PyObject* const name = PyUnicode_InternFromString("_version");
  const Ref version = Ref::steal(PyObject_GetAttr(tensor, name));
  if (version) return toInt(version.get());
  PyErr_Clear();
  return std::nullopt;
}

bool same(const Watched& watched, PyObject* tensor) {
  if (versionOf(tensor) != watched.version) return false;
  const Borrowed now = borrow(tensor);
  if (addressOf(now.tensor) != watched.address) return false;
  if (!watched.copy.empty()) return std::memcmp(watched.copy.data(), watched.address, watched.copy.size()) == 0;
  return sumOf(watched) == watched.sum;
}

PyObject* create(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&] {
    PyObject *tensors = nullptr, *key = nullptr, *tensor = nullptr;
    check(PyArg_ParseTuple(args, "O!", &PyDict_Type, &tensors));
    std::vector<Watched> all;
    for (Py_ssize_t at = 0; PyDict_Next(tensors, &at, &key, &tensor);) {
      Watched watched;
      watched.argument = static_cast<int>(toInt(key));
      const auto version = versionOf(tensor);
      if (!version) raise(PyExc_ValueError, "a tensor made in inference mode cannot be watched");
      watched.version = *version;
      watched.memory = owned(PyObject_CallMethod(tensor, "detach", nullptr));
      const Borrowed in = borrow(watched.memory.get());
      watched.address = addressOf(in.tensor);
      chooseSamples(in.tensor, watched);
      watched.sum = sumOf(watched);
      all.push_back(std::move(watched));
    }
    return WatchBox::make(reinterpret_cast<PyObject*>(type), std::move(all));
  });
}

PyObject* changed(PyObject* self, PyObject* list) {
  return guarded([&] {
    Ref out = owned(PyList_New(0));
    for (const int argument : changedArguments(self, list, true))
      check(PyList_Append(out.get(), owned(PyLong_FromLong(argument)).get()) == 0);
    return out;
  });
}

PyMethodDef methods[] = {{"changed", changed, METH_O, "changed(arguments) -> numbers of the changed ones"}, {}};

}  // namespace

std::vector<int> changedArguments(PyObject* watch, PyObject* arguments, bool every) {
  std::vector<int> out;
  const auto& all = WatchBox::of(watch);
  for (const Watched& watched : all)  // they miss the caches: all at once rather than one after another
    for (int k = 0; k < watched.samples; ++k)
      __builtin_prefetch(watched.address + watched.offsets[static_cast<size_t>(k)]);
  for (const Watched& watched : all) {
    const Ref tensor = Ref::borrow(PyList_Check(arguments) ? PyList_GetItem(arguments, watched.argument)
                                                           : PyTuple_GetItem(arguments, watched.argument));
    check(static_cast<bool>(tensor));
    if (same(watched, tensor.get())) continue;
    out.push_back(watched.argument);
    if (!every) break;
  }
  return out;
}

void addWatch(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&create)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(&WatchBox::dealloc)},
                         {Py_tp_methods, methods},
                         {}};
  PyType_Spec spec{"tokamak._ext.Watch", sizeof(WatchBox), 0, Py_TPFLAGS_DEFAULT, slots};
  types().watch = addType(module, spec, "Watch");
}

}  // namespace tokamak::python
