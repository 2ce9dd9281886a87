/// The extension module `tokamak._ext`, built once for every Python from 3.11 on (limited API).

#include "driver/engine.h"
#include "py.h"
#include "support/dim.h"
#include "tensors.h"
#include "tool.h"

namespace tokamak::python {

Types& types() {
  static Types instance;
  return instance;
}

void raise(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw PythonError{};
}
void raise(const Diagnostic& diagnostic) { raise(types().error, diagnostic.str()); }

std::string toString(PyObject* object) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  check(text != nullptr);
  return {text, static_cast<size_t>(size)};
}

int64_t toInt(PyObject* object) {
  const int64_t value = PyLong_AsLongLong(object);
  check(value != -1 || !PyErr_Occurred());
  return value;
}

Ref fromString(std::string_view text) {
  return owned(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

std::vector<Ref> itemsOf(PyObject* sequence) {
  const bool list = PyList_Check(sequence);
  if (!list && !PyTuple_Check(sequence)) raise(PyExc_TypeError, "a list or a tuple is wanted");
  const Py_ssize_t n = list ? PyList_Size(sequence) : PyTuple_Size(sequence);
  std::vector<Ref> items;
  items.reserve(static_cast<size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i)
    items.push_back(Ref::borrow(list ? PyList_GetItem(sequence, i) : PyTuple_GetItem(sequence, i)));
  return items;
}

PyObject* addType(PyObject* module, PyType_Spec& spec, const char* name) {
  Ref type = owned(PyType_FromSpec(&spec));
  check(PyModule_AddObjectRef(module, name, type.get()) == 0);
  return type.release();
}

namespace {

PyObject* useTensorType(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject* type = nullptr;
    int useTable = 1;
    check(PyArg_ParseTuple(args, "O|p", &type, &useTable));
    setTensorType(type, useTable != 0);
    return owned(PyBool_FromLong(hasExchangeTable()));
  });
}

/// The extent in its one canonical form, so that equal extents are equal texts.
PyObject* canonicalDim(PyObject*, PyObject* text) {
  return guarded([&] {
    const Dim dim = valueOf(Dim::parse(toString(text)));
    if (auto constant = dim.constant()) return owned(PyLong_FromLongLong(*constant));
    return fromString(dim.str());
  });
}

PyObject* cacheFolder(PyObject*, PyObject*) {
  return guarded([&] { return fromString(defaultCacheFolder()); });
}

/// The command line; the interpreter has nothing else to do meanwhile.
PyObject* runCommandLine(PyObject*, PyObject* arguments) {
  return guarded([&] {
    std::vector<std::string> words;
    for (const Ref& word : itemsOf(arguments)) words.push_back(toString(word.get()));
    std::vector<char*> raw;
    for (std::string& word : words) raw.push_back(word.data());
    raw.push_back(nullptr);
    return owned(PyLong_FromLong(tool::runTool(static_cast<int>(words.size()), raw.data())));
  });
}

PyMethodDef functions[] = {
    {"command_line", runCommandLine, METH_O, "command_line(argv) -> exit code, as the program `tokamak` gives it"},
    {"cache_folder", cacheFolder, METH_NOARGS, "where compiled kernels and saved programs lie"},
    {"dim", canonicalDim, METH_O, "dim(text) -> int, or the canonical text of a symbolic extent"},
    {"use_tensor_type", useTensorType, METH_VARARGS,
     "use_tensor_type(torch.Tensor, table=True) -> whether by the table"},
    {}};

PyModuleDef definition{PyModuleDef_HEAD_INIT, "_ext", "Tokamak's compiler and runtime", -1, functions};

}  // namespace

}  // namespace tokamak::python

PyMODINIT_FUNC PyInit__ext() {
  using namespace tokamak::python;
  return guarded([&] {
    Ref module = owned(PyModule_Create(&definition));
    types().error = owned(PyErr_NewException("tokamak.Error", PyExc_RuntimeError, nullptr)).release();
    check(PyModule_AddObjectRef(module.get(), "Error", types().error) == 0);
    addGraph(module.get());
    addExecutable(module.get());
    addPlan(module.get());
    addWatch(module.get());
    addSparse(module.get());
    return module;
  });
}
