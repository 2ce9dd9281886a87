/// `Plan`: what runs when a compiled function is called. A table of values (the arguments first), and steps that read
/// and write them: a compiled segment, or one call of a Python function for what is not ours. A value is dropped after
/// the last step that reads it, so its memory serves the next.
///
///   plan = Plan(values, inputs, steps, outputs, constants, growth="free")
///   step = ("run", executable, [(value, order, axis), ...], [(value, order), ...])
///        | ("call", function, args, kwargs, value)
///
/// `constants` maps values to objects that every call starts with. In args, kwargs and outputs `Slot(i)` stands for
/// value i. `order` permutes a tensor's axes into the executable's (None: as they are). An output of value -1 is a
/// flag, bool[], and `order` is (exception, message): false raises it. With `axis` at least 0 the input is no data but
/// the extent of that axis; with -2 it is a Python integer, with -3 and -4 how far that is above zero and below; all
/// reach the executable as an empty tensor of shape [n, 0].
///
/// `growth` says how the plan asks the pool for memory (`runtime/memory_pool.h`): "free", or, in training, "fitted",
/// "thrifty" or "lasting".

/// `Entry(plan)` runs it too, with its arguments one by one.
///
/// `plan.guard(watch, changed)`: before a call, tensors taken as constants are looked at; from the call on that finds
/// one changed, `changed(arguments)` answers every call.

#include "cuda_segment.h"
#include "executable.h"
#include "runtime/executable.h"
#include "watch.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>

namespace tokamak::python {

namespace {

struct Slot {
  int index = 0;
};
using SlotBox = Boxed<Slot>;

struct SegmentOutput {
  int value = 0;
  std::vector<int> order;
  Ref exception;  // of a flag that has to hold: value is -1
  std::string message;
  DType dtype = DType::f32;
};

struct Step {
  std::shared_ptr<const runtime::Executable> executable;
  std::shared_ptr<const runtime::cuda::Executable> onGpu;  // neither: a call
  mutable std::shared_ptr<const GpuShapes> shapes;         // of the last call; touched while Python's lock is held
  std::vector<SegmentInput> inputs;
  std::vector<int> sameAs;     // one an input: the first input of the same value
  std::vector<int> lastReads;  // one an input: how many have its value, if it is the first and the step drops it
  std::vector<SegmentOutput> outputs;
  std::vector<GpuOutput> gpuOutputs;  // the same for a GPU
  Ref function, args, kwargs;
  int result = -1;
  std::vector<int> drops;
};

struct PlanData {
  int valueCount = 0, inputCount = 0;
  runtime::Growth growth = runtime::Growth::free;
  std::vector<Step> steps;
  std::vector<Ref> outputs;
  std::vector<std::pair<int, Ref>> constants;
  mutable std::unique_ptr<std::atomic<int64_t>> arena = std::make_unique<std::atomic<int64_t>>(0);
  mutable Ref watch;  // on arguments that were taken as constants; dropped when one has changed
  Ref changed;
  std::vector<int> unread;  // arguments that no step and no output needs
};
using PlanBox = Boxed<PlanData>;

bool isSlot(PyObject* object) { return Py_TYPE(object) == reinterpret_cast<PyTypeObject*>(types().slot); }

void readSlots(PyObject* tree, std::vector<int>& out) {
  if (isSlot(tree)) return out.push_back(SlotBox::of(tree).index);
  if (PyDict_Check(tree)) {
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(tree, &at, &key, &value);) readSlots(value, out);
  } else if (PyList_Check(tree) || PyTuple_Check(tree)) {
    for (const Ref& item : itemsOf(tree)) readSlots(item.get(), out);
  }
}

/// The tree with slots replaced by their values.
Ref filled(PyObject* tree, const std::vector<Ref>& values) {
  if (isSlot(tree)) {
    const Ref& value = values[static_cast<size_t>(SlotBox::of(tree).index)];
    if (!value) raise(PyExc_RuntimeError, "tokamak: a value was read before it was written");
    return value;
  }
  const bool list = PyList_Check(tree);
  if (list || PyTuple_Check(tree)) {
    const auto items = itemsOf(tree);
    const auto n = static_cast<Py_ssize_t>(items.size());
    Ref out = owned(list ? PyList_New(n) : PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* item = filled(items[static_cast<size_t>(i)].get(), values).release();
      list ? PyList_SetItem(out.get(), i, item) : PyTuple_SetItem(out.get(), i, item);
    }
    return out;
  }
  if (PyDict_Check(tree)) {
    Ref out = owned(PyDict_New());
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(tree, &at, &key, &value);)
      check(PyDict_SetItem(out.get(), key, filled(value, values).get()) == 0);
    return out;
  }
  return Ref::borrow(tree);
}

std::vector<int> intsOf(PyObject* object) {
  std::vector<int> out;
  if (object != Py_None)
    for (const Ref& item : itemsOf(object)) out.push_back(static_cast<int>(toInt(item.get())));
  return out;
}

Step segmentStep(const std::vector<Ref>& parts) {
  Step step;
  if (parts.size() != 4 || !Py_IS_TYPE(parts[1].get(), reinterpret_cast<PyTypeObject*>(types().executable)))
    raise(PyExc_TypeError, "a run step is ('run', executable, inputs, outputs)");
  const Segment& compiled = ExecutableBox::of(parts[1].get());
  step.executable = compiled.executable;
  step.onGpu = compiled.onGpu;
  for (const Ref& item : itemsOf(parts[2].get())) {
    const auto fields = itemsOf(item.get());
    step.inputs.push_back({static_cast<int>(toInt(fields.at(0).get())), static_cast<int>(toInt(fields.at(2).get())),
                           intsOf(fields.at(1).get())});
  }
  for (const Ref& item : itemsOf(parts[3].get())) {
    const auto fields = itemsOf(item.get());
    const int value = static_cast<int>(toInt(fields.at(0).get()));
    SegmentOutput output{.value = value};
    if (value < 0) {
      const auto error = itemsOf(fields.at(1).get());
      output.exception = error.at(0);
      output.message = toString(error.at(1).get());
    } else {
      output.order = intsOf(fields.at(1).get());
    }
    step.outputs.push_back(std::move(output));
  }
  const auto& program = step.onGpu ? step.onGpu->program() : step.executable->program();
  int inputs = 0, outputs = 0;
  for (const runtime::Slot& slot : program.slots) {
    inputs += slot.kind == runtime::SlotKind::input;
    outputs += slot.kind == runtime::SlotKind::output;
    if (slot.kind == runtime::SlotKind::output && slot.index < std::ssize(step.outputs))
      step.outputs[static_cast<size_t>(slot.index)].dtype = slot.dtype;
  }
  if (std::ssize(step.inputs) != inputs || std::ssize(step.outputs) != outputs)
    raise(PyExc_ValueError, "a run step has other inputs or outputs than its executable");
  for (const SegmentOutput& output : step.outputs) step.gpuOutputs.push_back({output.dtype, output.order});
  return step;
}

Step callStep(const std::vector<Ref>& parts) {
  if (parts.size() != 5) raise(PyExc_TypeError, "a call step is ('call', function, args, kwargs, value)");
  Step step;
  step.function = parts[1];
  step.args = parts[2];
  step.kwargs = parts[3];
  step.result = static_cast<int>(toInt(parts[4].get()));
  return step;
}

std::vector<int> readsOf(const Step& step) {
  std::vector<int> reads;
  for (const auto& input : step.inputs) reads.push_back(input.value);
  if (step.args) readSlots(step.args.get(), reads);
  if (step.kwargs) readSlots(step.kwargs.get(), reads);
  return reads;
}

/// Each value goes to the step that touches it last; outputs stay.
void planDrops(PlanData& plan) {
  std::vector<int> last(static_cast<size_t>(plan.valueCount), -1), kept;
  auto touch = [&](int value, int step) {
    if (value < 0 || value >= plan.valueCount) raise(PyExc_ValueError, "a step names a value that does not exist");
    last[static_cast<size_t>(value)] = step;
  };
  for (int i = 0; i < std::ssize(plan.steps); ++i) {
    const Step& step = plan.steps[static_cast<size_t>(i)];
    for (const int value : readsOf(step)) touch(value, i);
    for (const auto& output : step.outputs)
      if (output.value >= 0) touch(output.value, i);
    if (step.result >= 0) touch(step.result, i);
  }
  for (const Ref& output : plan.outputs) readSlots(output.get(), kept);
  for (const int value : kept) touch(value, -2);
  for (int value = 0; value < plan.valueCount; ++value) {
    const int step = last[static_cast<size_t>(value)];
    if (step >= 0) plan.steps[static_cast<size_t>(step)].drops.push_back(value);
    if (step == -1 && value < plan.inputCount) plan.unread.push_back(value);
  }
  for (Step& step : plan.steps) {
    step.lastReads.assign(step.inputs.size(), 0);
    for (const SegmentInput& input : step.inputs) {
      const auto first = std::ranges::find(step.inputs, input.value, &SegmentInput::value) - step.inputs.begin();
      step.sameAs.push_back(static_cast<int>(first));
      step.lastReads[static_cast<size_t>(first)] += std::ranges::binary_search(step.drops, input.value);
    }
  }
}

runtime::Growth growthOf(const std::string& name) {
  if (name == "free") return runtime::Growth::free;
  if (name == "fitted") return runtime::Growth::fitted;
  if (name == "thrifty") return runtime::Growth::thrifty;
  if (name == "lasting") return runtime::Growth::lasting;
  raise(PyExc_ValueError, "a plan's growth is free, fitted, thrifty or lasting");
}

PyObject* create(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&] {
    PlanData plan;
    const char* growth = "free";
    PyObject *steps = nullptr, *outputs = nullptr, *constants = nullptr;
    check(PyArg_ParseTuple(args, "iiOOO!|s", &plan.valueCount, &plan.inputCount, &steps, &outputs, &PyDict_Type,
                           &constants, &growth));
    plan.growth = growthOf(growth);
    for (const Ref& item : itemsOf(steps)) {
      const auto parts = itemsOf(item.get());
      plan.steps.push_back(toString(parts.at(0).get()) == "run" ? segmentStep(parts) : callStep(parts));
    }
    plan.outputs = itemsOf(outputs);
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(constants, &at, &key, &value);)
      plan.constants.emplace_back(static_cast<int>(toInt(key)), Ref::borrow(value));
    planDrops(plan);
    return PlanBox::make(reinterpret_cast<PyObject*>(type), std::move(plan));
  });
}

using Clock = std::chrono::steady_clock;

/// What the steps of one call share.
struct Running {
  std::vector<Ref> values;
  runtime::Profile* profile = nullptr;
  std::atomic<int64_t>* arena = nullptr;
  runtime::Growth growth = runtime::Growth::free;
};

/// Segments share the largest one's arena, unless memory matters more: then each takes what it needs.
Running begin(const PlanData& plan, std::vector<Ref> values, runtime::Profile* profile) {
  auto* arena = plan.growth == runtime::Growth::free ? plan.arena.get() : nullptr;
  return {std::move(values), profile, arena, plan.growth};
}

void runGpuSegment(const Step& step, Running& running) {
  auto& values = running.values;
  Arguments arguments(step.inputs.size(), {dlpack::cuda, step.onGpu->device().ordinal()});
  for (const SegmentInput& input : step.inputs) arguments.add(input, values[static_cast<size_t>(input.value)].get());
  auto tensors = runOnGpu(*step.onGpu, arguments, step.gpuOutputs, step.shapes, running.profile);
  for (size_t i = 0; i < tensors.size(); ++i)
    values[static_cast<size_t>(step.outputs[i].value)] = std::move(tensors[i]);
}

/// While a segment runs: drops the values that it is the last to read. That takes Python's lock, so it is done in few
/// turns.
class EarlyDrops {
 public:
  EarlyDrops(const Step& step, const Arguments& arguments, std::vector<Ref>& values, PyThreadState*& state)
      : step_(step), arguments_(arguments), values_(values), state_(state), left_(step.lastReads) {
    int64_t all = 0;
    for (size_t i = 0; i < left_.size(); ++i)
      if (left_[i] > 0) all += arguments.refs()[i].bytes();
    enough_ = std::max(kLeast, all / kTurns);
  }

  void finished(int input) {
    const auto first = static_cast<size_t>(step_.sameAs[static_cast<size_t>(input)]);
    if (left_[first] == 0 || --left_[first] > 0) return;
    done_.push_back(step_.inputs[first].value);
    bytes_ += arguments_.refs()[first].bytes();
    if (bytes_ < enough_) return;
    PyEval_RestoreThread(state_);
    for (const int value : done_) values_[static_cast<size_t>(value)] = Ref();
    state_ = PyEval_SaveThread();
    done_.clear();
    bytes_ = 0;
  }

 private:
  static constexpr int64_t kLeast = 256 << 10;
  static constexpr int64_t kTurns = 8;
  const Step& step_;
  const Arguments& arguments_;
  std::vector<Ref>& values_;
  PyThreadState*& state_;
  std::vector<int> left_, done_;
  int64_t bytes_ = 0, enough_ = 0;
};

void runSegment(const Step& step, Running& running) {
  auto& values = running.values;
  Arguments arguments(step.inputs.size(), {dlpack::cpu, 0});
  for (const SegmentInput& input : step.inputs) arguments.add(input, values[static_cast<size_t>(input.value)].get());
  PyThreadState* state = nullptr;
  runtime::RunOptions options{running.profile, nullptr, running.arena, running.growth};
  std::optional<EarlyDrops> drops;
  const std::function<void(int)> finished = [&](int input) { drops->finished(input); };
  if (running.growth != runtime::Growth::free) {
    drops.emplace(step, arguments, values, state);
    options.finished = &finished;
  }
  state = PyEval_SaveThread();
  auto results = [&]() -> Result<std::vector<runtime::Tensor>> {
    try {
      return step.executable->run(arguments.refs(), options);
    } catch (const std::exception& error) { return Diagnostic{"T0600", {}, error.what(), "please report this"}; }
  }();
  PyEval_RestoreThread(state);
  auto tensors = valueOf(std::move(results));
  for (size_t i = 0; i < tensors.size(); ++i)
    if (const auto& output = step.outputs[i]; output.value < 0 && !*tensors[i].as<bool>())
      raise(output.exception.get(), output.message);
  for (size_t i = 0; i < tensors.size(); ++i)
    if (step.outputs[i].value >= 0)
      values[static_cast<size_t>(step.outputs[i].value)] = toTorch(std::move(tensors[i]), step.outputs[i].order);
}

void runStep(const Step& step, Running& running) {
  auto& values = running.values;
  if (step.executable) {
    runSegment(step, running);
  } else if (step.onGpu) {
    runGpuSegment(step, running);
  } else {
    const auto start = running.profile ? Clock::now() : Clock::time_point{};
    const Ref args = filled(step.args.get(), values);
    const Ref kwargs = step.kwargs.get() == Py_None ? Ref() : filled(step.kwargs.get(), values);
    Ref result = owned(PyObject_Call(step.function.get(), args.get(), kwargs.get()));
    if (step.result >= 0) values[static_cast<size_t>(step.result)] = std::move(result);
    if (running.profile) {
      const Ref name = owned(PyObject_Str(step.function.get()));
      const int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
      running.profile->entries.push_back({toString(name.get()), ns, 0, false});
    }
  }
  for (const int value : step.drops) values[static_cast<size_t>(value)] = Ref();
}

PyObject* guard(PyObject* self, PyObject* args) {
  return guarded([&] {
    PlanData& plan = PlanBox::of(self);
    PyObject *watch = nullptr, *changed = nullptr;
    check(PyArg_ParseTuple(args, "O!O", types().watch, &watch, &changed));
    plan.watch = Ref::borrow(watch);
    plan.changed = Ref::borrow(changed);
    return Ref::borrow(Py_None);
  });
}

/// Whether the constants are still what the arguments hold. Once they are not, the plan never runs again by itself.
bool holds(const PlanData& plan, PyObject* list) {
  if (!plan.changed) return true;
  const Ref watch = plan.watch;  // another thread may drop it meanwhile
  if (watch && changedArguments(watch.get(), list, false).empty()) return true;
  plan.watch = Ref();
  return false;
}

/// The arguments as values, with room for the others.
std::vector<Ref> valuesOf(const PlanData& plan, PyObject* arguments, bool list) {
  std::vector<Ref> values(static_cast<size_t>(plan.valueCount));
  for (Py_ssize_t i = 0; i < plan.inputCount; ++i)
    values[static_cast<size_t>(i)] = Ref::borrow(list ? PyList_GetItem(arguments, i) : PyTuple_GetItem(arguments, i));
  return values;
}

Ref results(const PlanData& plan, Running& running) {
  auto& values = running.values;
  for (const auto& [value, object] : plan.constants) values.at(static_cast<size_t>(value)) = object;
  for (const int value : plan.unread) values[static_cast<size_t>(value)] = Ref();
  for (const Step& step : plan.steps) runStep(step, running);
  Ref out = owned(PyTuple_New(static_cast<Py_ssize_t>(plan.outputs.size())));
  for (size_t i = 0; i < plan.outputs.size(); ++i)
    PyTuple_SetItem(out.get(), static_cast<Py_ssize_t>(i), filled(plan.outputs[i].get(), values).release());
  return out;
}

Ref run(const PlanData& plan, PyObject* list, runtime::Profile* profile) {
  if (!list || !PyList_Check(list) || PyList_Size(list) != plan.inputCount)
    raise(PyExc_TypeError,
          "tokamak: a plan is called with one list of " + std::to_string(plan.inputCount) + " arguments");
  if (!holds(plan, list)) return owned(PyObject_CallFunctionObjArgs(plan.changed.get(), list, nullptr));
  Running running = begin(plan, valuesOf(plan, list, true), profile);
  check(PyList_SetSlice(list, 0, plan.inputCount, nullptr) == 0);  // the plan alone holds them now
  return results(plan, running);
}

/// `entry(*arguments)`.
PyObject* enter(PyObject* self, PyObject* args, PyObject*) {
  return guarded([&] {
    const PlanData& plan = PlanBox::of(Boxed<Ref>::of(self).get());
    if (PyTuple_Size(args) != plan.inputCount)
      raise(PyExc_TypeError, "tokamak: an entry is called with " + std::to_string(plan.inputCount) + " arguments");
    if (!holds(plan, args)) {
      const Ref list = owned(PySequence_List(args));
      return owned(PyObject_CallFunctionObjArgs(plan.changed.get(), list.get(), nullptr));
    }
    Running running = begin(plan, valuesOf(plan, args, false), nullptr);
    return results(plan, running);
  });
}

PyObject* createEntry(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&] {
    PyObject* plan = nullptr;
    check(PyArg_ParseTuple(args, "O!", types().plan, &plan));
    return Boxed<Ref>::make(reinterpret_cast<PyObject*>(type), Ref::borrow(plan));
  });
}

PyObject* inputCount(PyObject* self, void*) { return PyLong_FromLong(PlanBox::of(self).inputCount); }

PyObject* call(PyObject* self, PyObject* args, PyObject*) {
  return guarded(
      [&] { return run(PlanBox::of(self), PyTuple_Size(args) == 1 ? PyTuple_GetItem(args, 0) : nullptr, nullptr); });
}

/// One call with its steps timed: (results, [(kernel or function, nanoseconds, predicted bytes), ...]).
PyObject* profile(PyObject* self, PyObject* list) {
  return guarded([&] {
    runtime::Profile profile;
    const Ref results = run(PlanBox::of(self), list, &profile);
    Ref entries = owned(PyList_New(0));
    for (const auto& e : profile.entries) {
      const Ref entry = owned(Py_BuildValue("sLL", e.name.c_str(), static_cast<long long>(e.nanoseconds),
                                            static_cast<long long>(e.predictedBytes)));
      check(PyList_Append(entries.get(), entry.get()) == 0);
    }
    return owned(PyTuple_Pack(2, results.get(), entries.get()));
  });
}

PyObject* createSlot(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&] {
    Slot slot;
    check(PyArg_ParseTuple(args, "i", &slot.index));
    return SlotBox::make(reinterpret_cast<PyObject*>(type), slot);
  });
}

PyGetSetDef planFields[] = {{"inputs", inputCount, nullptr, "how many arguments a call takes", nullptr}, {}};

PyMethodDef planMethods[] = {
    {"guard", guard, METH_VARARGS, "guard(watch, changed)"},
    {"profile", profile, METH_O, "profile(arguments) -> (results, [(step, nanoseconds, predicted bytes), ...])"},
    {}};

PyObject* slotText(PyObject* self) { return PyUnicode_FromFormat("Slot(%d)", SlotBox::of(self).index); }

}  // namespace

void addPlan(PyObject* module) {
  PyType_Slot slotSlots[] = {{Py_tp_new, reinterpret_cast<void*>(&createSlot)},
                             {Py_tp_dealloc, reinterpret_cast<void*>(&SlotBox::dealloc)},
                             {Py_tp_repr, reinterpret_cast<void*>(&slotText)},
                             {}};
  PyType_Spec slotSpec{"tokamak._ext.Slot", sizeof(SlotBox), 0, Py_TPFLAGS_DEFAULT, slotSlots};
  types().slot = addType(module, slotSpec, "Slot");
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(&create)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(&PlanBox::dealloc)},
                         {Py_tp_call, reinterpret_cast<void*>(&call)},
                         {Py_tp_methods, planMethods},
                         {Py_tp_getset, planFields},
                         {}};
  PyType_Spec spec{"tokamak._ext.Plan", sizeof(PlanBox), 0, Py_TPFLAGS_DEFAULT, slots};
  types().plan = addType(module, spec, "Plan");
  check(PyObject_SetAttrString(types().plan, "_boxed_call", Py_True) == 0);  // AOTAutograd's calling convention
  PyType_Slot entrySlots[] = {{Py_tp_new, reinterpret_cast<void*>(&createEntry)},
                              {Py_tp_dealloc, reinterpret_cast<void*>(&Boxed<Ref>::dealloc)},
                              {Py_tp_call, reinterpret_cast<void*>(&enter)},
                              {}};
  PyType_Spec entrySpec{"tokamak._ext.Entry", sizeof(Boxed<Ref>), 0, Py_TPFLAGS_DEFAULT, entrySlots};
  addType(module, entrySpec, "Entry");
}

}  // namespace tokamak::python
