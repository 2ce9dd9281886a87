/// `SparseProgram`: a program in index notation, compiled for data under a schedule. Tensors come as tuples
/// (name, shape, values, coordinates, keep): float64 values and an int32 matrix of one row an entry, or None where the
/// values are all of them, row by row. What is to be kept stays packed in the program: while it does not change, None
/// for its shape stands for it.
///
///   p = SparseProgram(text, [("A", [4, 4], values, at, True), ("x", [4], x, None, False)], "full")
///   r = p.run(p.bind([("A", None, None, None, True), ("x", [4], other, None, False)]))
///   r.dense("y", out)

#include <fmt/format.h>

#include <cstring>

#include "py.h"
#include "sim/simulate.h"
#include "sparse/io/io.h"
#include "sparse/lower/execute.h"
#include "sparse/lower/explain.h"
#include "sparse/stream/picture.h"
#include "sparse/stream/sam.h"
#include "tensors.h"

namespace tokamak::python {

namespace {

using namespace tokamak::sparse;

using SharedTensors = std::map<std::string, std::shared_ptr<const Tensor>>;

struct SparseProgram {
  Program written;
  Schedule schedule;
  Compiled compiled;
  Bindings data;       // of the compilation, for what is explained
  SharedTensors kept;  // inputs of the last call that are to be kept
};

struct SparseRun {
  Program program;
  Bindings results;
  uint64_t tokens = 0;
};

using Box = Boxed<SparseProgram>;
using RunBox = Boxed<SparseRun>;

/// Lets other Python threads run for as long as it lives.
class Released {
 public:
  Released() : state_(PyEval_SaveThread()) {}
  ~Released() { PyEval_RestoreThread(state_); }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* state_;
};

/// The elements of a contiguous tensor on the CPU; torch's side makes it so.
template <class T>
std::span<T> elementsOf(const Borrowed& in, DType wanted) {
  const auto dtype = dtypeOf(in.tensor.dtype);
  if (in.tensor.device.type != dlpack::cpu || !dtype || *dtype != wanted)
    raise(PyExc_TypeError, fmt::format("a {} tensor on the CPU is wanted", nameOf(wanted)));
  int64_t count = 1;
  for (int i = 0; i < in.tensor.rank; ++i) count *= in.tensor.shape[i];
  return {reinterpret_cast<T*>(static_cast<std::byte*>(in.tensor.data) + in.tensor.byteOffset),
          static_cast<size_t>(count)};
}

std::vector<int64_t> integersOf(PyObject* sequence) {
  std::vector<int64_t> out;
  for (const Ref& item : itemsOf(sequence)) out.push_back(toInt(item.get()));
  return out;
}

Diagnostic named(Diagnostic error, const TensorDecl& decl) {
  error.location = decl.location;
  error.message = fmt::format("{}: {}", decl.name, error.message);
  return error;
}

/// One input in the format that the program declares.
Tensor tensorOf(const TensorDecl& decl, const std::vector<Ref>& item) {
  Entries entries{integersOf(item[1].get()), {}, {}};
  if (entries.shape.size() != decl.dims.size())
    raise(Diagnostic{"T0932", decl.location,
                     fmt::format("{} has {} axes, the data {}", decl.name, decl.dims.size(), entries.shape.size()),
                     "give data of the declared rank"});
  const Borrowed values = borrow(item[2].get());
  const std::span<double> numbers = elementsOf<double>(values, DType::f64);
  const Format format = decl.format.value_or(Format::dense(entries.rank()));
  if (item[3].get() == Py_None) return fromDense({numbers.begin(), numbers.end()}, entries.shape, format, decl.dtype);
  const Borrowed coordinates = borrow(item[3].get());
  const std::span<int32_t> at = elementsOf<int32_t>(coordinates, DType::i32);
  entries.at.assign(at.begin(), at.end());
  entries.values.assign(numbers.begin(), numbers.end());
  Result<Tensor> packed = pack(entries, format, decl.dtype);
  if (!packed) raise(named(packed.error(), decl));
  return std::move(*packed);
}

/// Inputs as the program declares them; sizes must be those of the compilation where there was one.
SharedTensors checkedInputs(SparseProgram& program, PyObject* inputs) {
  Bindings fresh;
  SharedTensors out;
  std::vector<std::string> toKeep;
  for (const Ref& input : itemsOf(inputs)) {
    const std::vector<Ref> item = itemsOf(input.get());
    if (item.size() != 5) raise(PyExc_TypeError, "an input is (name, shape, values, coordinates, keep)");
    const std::string name = toString(item[0].get());
    const TensorId id = program.written.findTensor(name);
    if (!id || program.written.tensor(id).role != Role::input)
      raise(PyExc_ValueError, "the program has no input " + name);
    const auto kept = program.kept.find(name);
    if (item[1].get() == Py_None && kept == program.kept.end()) raise(PyExc_ValueError, name + " was not kept");
    if (item[1].get() == Py_None)
      out[name] = kept->second;
    else
      fresh[name] = tensorOf(program.written.tensor(id), item);
    if (item[1].get() != Py_None && PyObject_IsTrue(item[4].get())) toKeep.push_back(name);
  }
  Bindings sized;  // their shapes are enough
  for (const auto& [name, tensor] : fresh) sized[name].shape = tensor.shape;
  for (const auto& [name, tensor] : out) sized[name].shape = tensor->shape;
  if (auto sizes = bindSizes(program.written, sized); !sizes) raise(sizes.error());
  for (auto& [name, tensor] : valueOf(inDeclaredFormats(program.written, std::move(fresh))))
    out[name] = std::make_shared<const Tensor>(tensor);
  for (const std::string& name : toKeep) program.kept[name] = out[name];
  return out;
}

TensorPointers pointersTo(const SharedTensors& tensors) {
  TensorPointers out;
  for (const auto& [name, tensor] : tensors) out[name] = tensor.get();
  return out;
}

/// `auto`, `unfused`, `full`, or the text of a schedule.
Schedule scheduleOf(const Program& program, const std::string& wanted) {
  if (wanted == "auto") return automatic();
  if (wanted == "unfused") return unfused();
  if (wanted == "full") return Schedule{.name = "full", .fuse = Schedule::Fuse::all};
  std::vector<Schedule> schedules = valueOf(parseSchedules(wanted, program, "schedule"));
  if (schedules.size() != 1)
    raise(PyExc_ValueError, "one schedule is wanted: auto, unfused, full, or schedule name {…}");
  return std::move(schedules[0]);
}

PyObject* create(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&] {
    PyObject *text = nullptr, *inputs = nullptr, *schedule = nullptr;
    check(PyArg_ParseTuple(args, "UOU", &text, &inputs, &schedule));
    SparseProgram out;
    out.written = valueOf(parseProgram(toString(text), "program.ein"));
    for (const auto& [name, tensor] : checkedInputs(out, inputs)) out.data[name] = *tensor;
    out.schedule = scheduleOf(out.written, toString(schedule));
    Result<Compiled> compiled = [&] {
      const Released others;
      return compile(out.written, out.schedule, &out.data);
    }();
    out.compiled = valueOf(std::move(compiled));
    return Box::make(reinterpret_cast<PyObject*>(type), std::move(out));
  });
}

constexpr const char* kInputs = "tokamak.SparseInputs";  // the capsule that bind gives

PyObject* bind(PyObject* self, PyObject* inputs) {
  return guarded([&] {
    auto bound = std::make_unique<SharedTensors>(checkedInputs(Box::of(self), inputs));
    Ref capsule = owned(PyCapsule_New(bound.get(), kInputs, [](PyObject* object) {
      delete static_cast<SharedTensors*>(PyCapsule_GetPointer(object, kInputs));
    }));
    bound.release();
    return capsule;
  });
}

const SharedTensors& boundInputs(PyObject* object) {
  void* bound = PyCapsule_GetPointer(object, kInputs);
  check(bound != nullptr);
  return *static_cast<SharedTensors*>(bound);
}

PyObject* run(PyObject* self, PyObject* inputs) {
  return guarded([&] {
    SparseProgram& program = Box::of(self);
    const SharedTensors& bound = boundInputs(inputs);
    Result<Execution> execution = [&] {
      const Released others;
      return execute(program.compiled, pointersTo(bound));
    }();
    Execution done = valueOf(std::move(execution));
    return RunBox::make(types().sparseRun, {program.compiled.program, std::move(done.results), done.tokens});
  });
}

/// Writes each input where `tokamak sparse run --data FOLDER` finds it: dense ones as .npy, matrices as .mtx, others as
/// the files of a SAM folder.
PyObject* saveData(PyObject* self, PyObject* args) {
  return guarded([&] {
    PyObject *inputs = nullptr, *folderName = nullptr;
    check(PyArg_ParseTuple(args, "OU", &inputs, &folderName));
    const std::string folder = toString(folderName);
    for (const auto& [name, shared] : boundInputs(inputs)) {
      const Tensor& tensor = *shared;
      const std::string path = fmt::format("{}/{}", folder, name);
      const Result<> written = tensor.format.isDense() ? writeTensor(path + ".npy", tensor)
                               : tensor.rank() == 2    ? writeTensor(path + ".mtx", tensor)
                                                       : writeSamTensor(folder, name, tensor);
      if (!written) raise(written.error());
    }
    return Ref::borrow(Py_None);
  });
}

/// Runs the regions one after another in the simulator: their names, cycles and tokens.
PyObject* simulateRegions(PyObject* self, PyObject* args) {
  return guarded([&] {
    PyObject *inputs = nullptr, *profileName = nullptr;
    check(PyArg_ParseTuple(args, "OU", &inputs, &profileName));
    const auto profile = fromName<sim::Profile>(toString(profileName));
    if (!profile) raise(PyExc_ValueError, "there is no such profile: " + toString(profileName));
    SparseProgram& program = Box::of(self);
    const SharedTensors& bound = boundInputs(inputs);
    struct Line {
      std::string name;
      uint64_t cycles, tokens;
    };
    std::vector<Line> lines;
    const auto simulated = [&] {
      const Released others;
      return executeWith(program.compiled, pointersTo(bound),
                         [&](const CompiledRegion& region, const stream::Inputs& reads) -> Result<stream::Storages> {
                           sim::Options options;
                           options.profile = *profile;
                           TK_TRY(sim::Report report, sim::simulate(region.graph, reads, options));
                           lines.push_back({region.table.name, report.cycles, report.tokens});
                           return std::move(report.outputs);
                         });
    }();
    if (!simulated) raise(simulated.error());
    Ref list = owned(PyList_New(0));
    for (const Line& line : lines) {
      Ref item = owned(Py_BuildValue("(sKK)", line.name.c_str(), static_cast<unsigned long long>(line.cycles),
                                     static_cast<unsigned long long>(line.tokens)));
      check(PyList_Append(list.get(), item.get()) == 0);
    }
    return list;
  });
}

PyObject* explainText(PyObject* self, PyObject* brief) {
  return guarded([&] {
    const SparseProgram& program = Box::of(self);
    const bool whole = PyObject_IsTrue(brief) == 0;
    return fromString(explain(program.written, program.compiled, &program.data, {.before = whole, .rules = whole}));
  });
}

PyObject* explainData(PyObject* self, PyObject*) {
  return guarded([&] { return fromString(explainJson(Box::of(self).compiled).dump()); });
}

PyObject* text(PyObject* self, PyObject*) {
  return guarded([&] { return fromString(print(Box::of(self).written)); });
}

PyObject* scheduleText(PyObject* self, PyObject*) {
  return guarded([&] {
    const SparseProgram& program = Box::of(self);
    return fromString(print(sparse::scheduleOf(program.compiled, program.schedule.name)));
  });
}

/// Each region's name with its table, its stream graph or a picture of it.
PyObject* stages(PyObject* self, PyObject* kind) {
  return guarded([&] {
    const std::string wanted = toString(kind);
    Ref list = owned(PyList_New(0));
    for (const CompiledRegion& region : Box::of(self).compiled.regions) {
      const std::string stage = wanted == "table" ? print(region.table)
                                : wanted == "svg" ? stream::drawSvg(region.graph)
                                                  : print(region.graph);
      Ref pair = owned(PyTuple_Pack(2, fromString(region.table.name).get(), fromString(stage).get()));
      check(PyList_Append(list.get(), pair.get()) == 0);
    }
    return list;
  });
}

const Tensor& resultOf(const SparseRun& run, PyObject* name) {
  const auto found = run.results.find(toString(name));
  if (found == run.results.end()) raise(PyExc_KeyError, "the program has no result " + toString(name));
  return found->second;
}

/// Fills a contiguous float64 tensor with the values of a result, absent entries zero.
PyObject* dense(PyObject* self, PyObject* args) {
  return guarded([&] {
    PyObject *name = nullptr, *out = nullptr;
    check(PyArg_ParseTuple(args, "UO", &name, &out));
    const std::vector<double> values = toDense(resultOf(RunBox::of(self), name));
    const Borrowed target = borrow(out);
    const std::span<double> room = elementsOf<double>(target, DType::f64);
    if (room.size() != values.size()) raise(PyExc_ValueError, "the tensor has another size than the result");
    std::copy(values.begin(), values.end(), room.begin());
    return Ref::borrow(Py_None);
  });
}

PyObject* stored(PyObject* self, PyObject* name) {
  return guarded([&] { return owned(PyLong_FromLongLong(resultOf(RunBox::of(self), name).stored())); });
}

/// Fills an int32 matrix and a float64 vector with the stored entries of a result, in the order of its levels.
PyObject* entries(PyObject* self, PyObject* args) {
  return guarded([&] {
    PyObject *name = nullptr, *at = nullptr, *values = nullptr;
    check(PyArg_ParseTuple(args, "UOO", &name, &at, &values));
    const Entries all = unpack(resultOf(RunBox::of(self), name));
    const Borrowed atTensor = borrow(at), valueTensor = borrow(values);
    const std::span<int32_t> atRoom = elementsOf<int32_t>(atTensor, DType::i32);
    const std::span<double> valueRoom = elementsOf<double>(valueTensor, DType::f64);
    if (atRoom.size() != all.at.size() || valueRoom.size() != all.values.size())
      raise(PyExc_ValueError, "the tensors have another size than the result");
    std::copy(all.at.begin(), all.at.end(), atRoom.begin());
    std::copy(all.values.begin(), all.values.end(), valueRoom.begin());
    return Ref::borrow(Py_None);
  });
}

PyObject* tokens(PyObject* self, PyObject*) {
  return guarded([&] { return owned(PyLong_FromUnsignedLongLong(RunBox::of(self).tokens)); });
}

PyMethodDef programMethods[] = {
    {"bind", bind, METH_O, "bind([(name, shape, values, coordinates, keep), ...]) -> inputs"},
    {"run", run, METH_O, "run(inputs) -> SparseRun"},
    {"simulate", simulateRegions, METH_VARARGS, "simulate(inputs, profile) -> [(region, cycles, tokens)]"},
    {"save_data", saveData, METH_VARARGS, "save_data(inputs, folder): each input as a file"},
    {"explain", explainText, METH_O, "explain(brief) -> what was decided and why"},
    {"explain_json", explainData, METH_NOARGS, "the same as JSON, without tables"},
    {"text", text, METH_NOARGS, "the program"},
    {"schedule", scheduleText, METH_NOARGS, "the schedule that gives the same regions and orders"},
    {"stages", stages, METH_O, "stages('table' | 'stream' | 'svg') -> [(region, text)]"},
    {}};

PyMethodDef runMethods[] = {
    {"dense", dense, METH_VARARGS, "dense(name, tensor): fills it with a result"},
    {"stored", stored, METH_O, "stored(name) -> how many entries a result stores"},
    {"entries", entries, METH_VARARGS, "entries(name, coordinates, values): fills them with a result's entries"},
    {"tokens", tokens, METH_NOARGS, "how many tokens ran through streams"},
    {}};

}  // namespace

void addSparse(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&create)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(&Box::dealloc)},
                         {Py_tp_methods, programMethods},
                         {}};
  PyType_Spec spec{"tokamak._ext.SparseProgram", sizeof(Box), 0, Py_TPFLAGS_DEFAULT, slots};
  types().sparseProgram = addType(module, spec, "SparseProgram");
  PyType_Slot runSlots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(&RunBox::dealloc)}, {Py_tp_methods, runMethods}, {}};
  PyType_Spec runSpec{"tokamak._ext.SparseRun", sizeof(RunBox), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, runSlots};
  types().sparseRun = addType(module, runSpec, "SparseRun");
}

}  // namespace tokamak::python
