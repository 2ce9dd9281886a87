/// `Engine`, what compilations share, and `Executable`, a compiled graph with its explanation.

#include "executable.h"

#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "driver/explain.h"
#include "driver/tune.h"

namespace tokamak::python {

namespace {

PyObject* createEngine(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    static const char* names[] = {"threads", "disk_cache", "cache_folder", "onednn", "pool_limit", nullptr};
    EngineOptions options;
    int diskCache = 1;
    const char *folder = "", *onednn = "";
    long long limit = -1;
    check(PyArg_ParseTupleAndKeywords(args, keywords, "|ipssL", const_cast<char**>(names), &options.threads, &diskCache,
                                      &folder, &onednn, &limit));
    options.diskCache = diskCache != 0;
    options.cacheFolder = folder;
    options.oneDnnPath = onednn;
    options.poolLimitBytes = limit;
    return EngineBox::make(reinterpret_cast<PyObject*>(type), Engine(options));
  });
}

Ref parsedJson(const std::string& text) {
  Ref json = owned(PyImport_ImportModule("json"));
  return owned(PyObject_CallMethod(json.get(), "loads", "s", text.c_str()));
}

/// Counters of the pool, and the library's name and place (or why there is none).
PyObject* status(PyObject* self, PyObject*) {
  return guarded([&] {
    const Engine& engine = EngineBox::of(self);
    const auto pool = engine.pool->counters();
    nlohmann::json out{{"in_use_bytes", pool.inUseBytes},
                       {"cached_bytes", pool.cachedBytes},
                       {"peak_bytes", pool.peakBytes},
                       {"hits", pool.hits},
                       {"misses", pool.misses},
                       {"limit_bytes", pool.limitBytes},
                       {"library", engine.library->version()},
                       {"library_path", engine.library->path()},
                       {"threads", engine.host->threads()}};
    return parsedJson(out.dump());
  });
}

/// Why segments on a GPU call no library for products; empty where they do.
PyObject* whyNoProducts(PyObject* self, PyObject*) {
  return guarded([&] {
    const auto& library = EngineBox::of(self).cuda->cublas();
    return fromString(library ? "" : library.error().message);
  });
}

PyObject* trim(PyObject* self, PyObject*) {
  return guarded([&] {
    EngineBox::of(self).pool->trim();
    return Ref::borrow(Py_None);
  });
}

DimBindings hintsOf(PyObject* dict) {
  DimBindings hints;
  if (dict == Py_None) return hints;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) hints[toString(key)] = toInt(value);
  return hints;
}

/// A person at a terminal sees each plan as it is measured.
TuneOptions shown() {
  TuneOptions tuning;
  if (isatty(2))
    tuning.progress = [](std::string_view line) {
      std::fprintf(stderr, "tokamak: tuning, %.*s\n", static_cast<int>(line.size()), line.data());
    };
  return tuning;
}

PyObject* compileGraph(PyObject* self, PyObject* args, PyObject* keywords) {
  return guarded([&] {
    static const char* names[] = {"graph",     "hints", "eager_rounding", "fuse", "library",
                                  "use_cache", "tune",  "device",         nullptr};
    PyObject *graph = nullptr, *hints = Py_None;
    int eagerRounding = 0, fuse = 1, library = 1, useCache = 1, tuned = 0, device = -1;
    check(PyArg_ParseTupleAndKeywords(args, keywords, "O!|Opppppi", const_cast<char**>(names), types().graph, &graph,
                                      &hints, &eagerRounding, &fuse, &library, &useCache, &tuned, &device));
    CompileOptions options{hintsOf(hints), fuse != 0, library != 0, useCache != 0, eagerRounding != 0};
    const Graph copy = inputsFirst(Boxed<Graph>::of(graph));
    const Engine& engine = EngineBox::of(self);
    PyThreadState* state = PyEval_SaveThread();
    auto compiled = [&]() -> Result<Segment> {
      try {
        if (device >= 0) {
          TK_TRY(CompiledCuda made,
                 tuned ? tuneCuda(copy, engine, device, options, shown()) : compileCuda(copy, engine, device, options));
          return Segment{nullptr, std::move(made.executable), std::move(made.explanation)};
        }
        TK_TRY(Compiled made, tuned ? tune(copy, engine, options, shown()) : compile(copy, engine, options));
        return Segment{std::move(made.executable), nullptr, std::move(made.explanation)};
      } catch (const std::exception& error) { return Diagnostic{"T0500", {}, error.what(), "please report this"}; }
    }();
    PyEval_RestoreThread(state);
    return ExecutableBox::make(types().executable, valueOf(std::move(compiled)));
  });
}

template <std::string (*Explain)(const Explanation&)>
PyObject* explained(PyObject* self, PyObject*) {
  return guarded([&] { return fromString(Explain(ExecutableBox::of(self).explanation)); });
}

PyObject* kernels(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref list = owned(PyList_New(0));
    for (const auto& text : ExecutableBox::of(self).explanation.kernels)
      check(PyList_Append(list.get(), fromString(text).get()) == 0);
    return list;
  });
}

/// Bytes that one call takes at these sizes: {"peak", "without_reuse", "outputs", "constants"}.
PyObject* memory(PyObject* self, PyObject* dims) {
  return guarded([&] {
    const Segment& segment = ExecutableBox::of(self);
    if (!segment.executable) raise(PyExc_RuntimeError, "torch's allocator counts what a GPU's kernels take");
    const auto report = valueOf(segment.executable->memory(hintsOf(dims)));
    nlohmann::json out{{"peak", report.peakBytes},
                       {"without_reuse", report.withoutReuseBytes},
                       {"outputs", report.outputBytes},
                       {"constants", report.constantBytes}};
    return parsedJson(out.dump());
  });
}

PyMethodDef engineMethods[] = {
    {"compile", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&compileGraph)),
     METH_VARARGS | METH_KEYWORDS, "compile(graph, hints=None, ...) -> Executable"},
    {"status", status, METH_NOARGS, "pool counters and the library"},
    {"why_no_products", whyNoProducts, METH_NOARGS, "of segments on a GPU; empty: they have some"},
    {"trim", trim, METH_NOARGS, "give kept memory back to the system"},
    {}};

PyMethodDef executableMethods[] = {
    {"table", explained<&explainTable>, METH_NOARGS, "the ledger as a table"},
    {"summary", explained<&explainSummary>, METH_NOARGS, "the table without its edges"},
    {"source", explained<&explainKernels>, METH_NOARGS, "the kernels, one after another"},
    {"json", explained<&explainJson>, METH_NOARGS, "the ledger as JSON"},
    {"html", explained<&explainHtml>, METH_NOARGS, "the ledger as a page"},
    {"kernels", kernels, METH_NOARGS, "text of the kernels; empty for library calls"},
    {"memory", memory, METH_O, "memory(dims) -> bytes of one call"},
    {}};

}  // namespace

void addExecutable(PyObject* module) {
  PyType_Slot engineSlots[] = {{Py_tp_new, reinterpret_cast<void*>(&createEngine)},
                               {Py_tp_dealloc, reinterpret_cast<void*>(&EngineBox::dealloc)},
                               {Py_tp_methods, engineMethods},
                               {}};
  PyType_Spec engineSpec{"tokamak._ext.Engine", sizeof(EngineBox), 0, Py_TPFLAGS_DEFAULT, engineSlots};
  types().engine = addType(module, engineSpec, "Engine");
  PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(&ExecutableBox::dealloc)}, {Py_tp_methods, executableMethods}, {}};
  PyType_Spec spec{"tokamak._ext.Executable", sizeof(ExecutableBox), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  types().executable = addType(module, spec, "Executable");
}

}  // namespace tokamak::python
