#pragma once

/// The small part of Python's limited C API that the extension needs, with owned references.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <utility>
#include <vector>

#include "support/result.h"

namespace tokamak::python {

/// An owned reference, or none.
class Ref {
 public:
  Ref() = default;
  static Ref steal(PyObject* object) { return Ref(object); }
  static Ref borrow(PyObject* object) {
    Py_XINCREF(object);
    return Ref(object);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref(const Ref& other) : object_(other.object_) { Py_XINCREF(object_); }
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  explicit Ref(PyObject* object) : object_(object) {}
  PyObject* object_ = nullptr;
};

/// Thrown where a Python exception is already set; `guarded` turns it back into one.
struct PythonError {};

/// The reference a C API call returned; throws if it failed.
inline Ref owned(PyObject* object) {
  if (!object) throw PythonError{};
  return Ref::steal(object);
}
inline void check(bool ok) {
  if (!ok) throw PythonError{};
}

/// Sets `tokamak.Error` (a RuntimeError) from a diagnostic and throws.
[[noreturn]] void raise(const Diagnostic& diagnostic);
[[noreturn]] void raise(PyObject* type, const std::string& message);

template <class T>
T valueOf(Result<T> result) {
  if (!result) raise(result.error());
  return std::move(*result);
}

std::string toString(PyObject* object);
int64_t toInt(PyObject* object);
Ref fromString(std::string_view text);

/// The items of a list or tuple, owned.
std::vector<Ref> itemsOf(PyObject* sequence);

/// Runs `body` and turns what it throws into a Python exception.
template <class Body>
PyObject* guarded(Body&& body) {
  try {
    return body().release();
  } catch (const PythonError&) {
  } catch (const std::exception& error) { PyErr_SetString(PyExc_RuntimeError, error.what()); }
  return nullptr;
}

/// A Python object around a C++ value, made by `makeType`.
template <class T>
struct Boxed {
  PyObject_HEAD T* value;
  static T& of(PyObject* object) { return *reinterpret_cast<Boxed*>(object)->value; }
  static void dealloc(PyObject* object) {
    delete reinterpret_cast<Boxed*>(object)->value;
    PyTypeObject* type = Py_TYPE(object);
    auto* free = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
    free(object);
    Py_DECREF(reinterpret_cast<PyObject*>(type));
  }
  static Ref make(PyObject* type, T value) {
    auto* alloc = reinterpret_cast<allocfunc>(PyType_GetSlot(reinterpret_cast<PyTypeObject*>(type), Py_tp_alloc));
    Ref object = owned(alloc(reinterpret_cast<PyTypeObject*>(type), 0));
    reinterpret_cast<Boxed*>(object.get())->value = new T(std::move(value));
    return object;
  }
};

/// Heap types of this module, and its exception; filled when the module is made. Python keeps one module a process.
struct Types {
  PyObject* error = nullptr;
  PyObject *engine = nullptr, *graph = nullptr, *executable = nullptr, *slot = nullptr, *plan = nullptr,
           *watch = nullptr, *sparseProgram = nullptr, *sparseRun = nullptr;
};
Types& types();

void addGraph(PyObject* module);
void addExecutable(PyObject* module);
void addPlan(PyObject* module);
void addWatch(PyObject* module);
void addSparse(PyObject* module);

/// Makes a heap type of these slots and puts it into the module.
PyObject* addType(PyObject* module, PyType_Spec& spec, const char* name);

}  // namespace tokamak::python
