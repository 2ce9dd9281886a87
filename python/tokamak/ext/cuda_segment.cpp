#include "cuda_segment.h"

#include <unordered_map>

namespace tokamak::python {

namespace {

namespace cuda = runtime::cuda;

/// What is asked of torch again and again.
struct Torch {
  Ref fastEmpty;  // an internal function of torch 2.x that costs a third of empty_strided; null where it is gone
  Ref empty, stream;
  std::vector<Ref> dtypes;  // by DType
  bool oneDevice = false;
};

const Torch& torchApi() {
  static const Torch api = [] {
    Torch out;
    const Ref torch = owned(PyImport_ImportModule("torch"));
    out.empty = owned(PyObject_GetAttrString(torch.get(), "empty_strided"));
    const Ref internals = owned(PyObject_GetAttrString(torch.get(), "_C"));
    out.stream = owned(PyObject_GetAttrString(internals.get(), "_cuda_getCurrentRawStream"));
    if (const Ref guards = Ref::steal(PyImport_ImportModule("torch._C._dynamo.guards")))
      out.fastEmpty = Ref::steal(PyObject_GetAttrString(guards.get(), "_empty_strided_cuda"));
    PyErr_Clear();
    for (const char* name :
         {"bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"})
      out.dtypes.push_back(owned(PyObject_GetAttrString(torch.get(), name)));
    const Ref module = owned(PyImport_ImportModule("torch.cuda"));
    out.oneDevice = toInt(owned(PyObject_CallMethod(module.get(), "device_count", nullptr)).get()) == 1;
    return out;
  }();
  return api;
}

PyObject* torchType(DType dtype) { return torchApi().dtypes[static_cast<size_t>(dtype)].get(); }

Ref tupleOf(std::span<const int64_t> numbers) {
  Ref out = owned(PyTuple_New(static_cast<Py_ssize_t>(numbers.size())));
  for (size_t i = 0; i < numbers.size(); ++i)
    check(PyTuple_SetItem(out.get(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(numbers[i])) == 0);
  return out;
}

Ref emptyTensor(const Ref& sizes, const Ref& steps, DType dtype, int device) {
  const Torch& api = torchApi();
  if (api.oneDevice && api.fastEmpty)
    return owned(
        PyObject_CallFunctionObjArgs(api.fastEmpty.get(), sizes.get(), steps.get(), torchType(dtype), nullptr));
  const Ref arguments = owned(PyTuple_Pack(2, sizes.get(), steps.get()));
  const std::string place = "cuda:" + std::to_string(device);
  const Ref keywords = owned(Py_BuildValue("{s:O,s:s}", "dtype", torchType(dtype), "device", place.c_str()));
  return owned(PyObject_Call(api.empty.get(), arguments.get(), keywords.get()));
}

cuda::Stream torchStream(int device) {
  if (const auto known = currentStream(device)) return reinterpret_cast<cuda::Stream>(*known);
  const Ref number = owned(PyLong_FromLong(device));
  const Ref stream = owned(PyObject_CallFunctionObjArgs(torchApi().stream.get(), number.get(), nullptr));
  return reinterpret_cast<cuda::Stream>(PyLong_AsVoidPtr(stream.get()));
}

/// Temporaries of one call. Used while Python's lock is held; torch's allocator knows the order of the stream.
class TorchMemory final : public cuda::Allocator {
 public:
  explicit TorchMemory(int device) : device_(device) {}
  Result<void*> allocate(int64_t bytes, cuda::Stream) override {
    const int64_t shape[] = {bytes}, strides[] = {1};
    try {
      Ref tensor = emptyTensor(tupleOf(shape), tupleOf(strides), DType::u8, device_);
      void* data = borrow(tensor.get()).tensor.data;
      held_[data] = std::move(tensor);
      return data;
    } catch (const PythonError&) {
      failed_ = true;  // torch's own exception, which says how much there is, is raised
      return Diagnostic{"T0612", {}, "torch's allocator has no more memory", "run smaller batches"};
    }
  }
  void release(void* data, cuda::Stream) noexcept override { held_.erase(data); }
  bool failed() const { return failed_; }

 private:
  int device_;
  bool failed_ = false;
  std::unordered_map<void*, Ref> held_;
};

/// Sizes and strides of a result that is dense in the executable's order of axes, as torch sees them in its own.
std::pair<Ref, Ref> seenByTorch(std::span<const int64_t> shape, std::span<const int> order) {
  std::vector<int64_t> sizes(shape.size()), strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    const size_t axis = order.empty() ? i : static_cast<size_t>(order[i]);
    sizes[axis] = shape[i];
    strides[axis] = stride;
    stride *= std::max<int64_t>(1, shape[i]);
  }
  return {tupleOf(sizes), tupleOf(strides)};
}

bool sameExtents(std::span<const runtime::TensorRef> refs, const std::vector<int64_t>& before) {
  size_t at = 0;
  for (const runtime::TensorRef& ref : refs)
    for (const int64_t extent : ref.extents())
      if (at >= before.size() || before[at++] != extent) return false;
  return at == before.size() && at > 0;
}

std::shared_ptr<const GpuShapes> shapesFor(const cuda::Executable& executable, std::span<const runtime::TensorRef> refs,
                                           std::span<const GpuOutput> outputs) {
  GpuShapes shapes{{}, valueOf(executable.outputShapes(refs)), {}};
  for (size_t i = 0; i < outputs.size(); ++i)
    shapes.torchSees.push_back(seenByTorch(shapes.outputs[i], outputs[i].order));
  for (const runtime::TensorRef& ref : refs)
    shapes.inputs.insert(shapes.inputs.end(), ref.extents().begin(), ref.extents().end());
  return std::make_shared<const GpuShapes>(std::move(shapes));
}

}  // namespace

std::vector<Ref> runOnGpu(const cuda::Executable& executable, const Arguments& arguments,
                          std::span<const GpuOutput> outputs, std::shared_ptr<const GpuShapes>& known,
                          runtime::Profile* profile) {
  const int device = executable.device().ordinal();
  std::shared_ptr<const GpuShapes> shapes = known;
  if (!shapes || !sameExtents(arguments.refs(), shapes->inputs))
    known = shapes = shapesFor(executable, arguments.refs(), outputs);
  std::vector<Ref> tensors;
  std::vector<runtime::TensorRef> refs;
  tensors.reserve(outputs.size()), refs.reserve(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& [sizes, strides] = shapes->torchSees[i];
    tensors.push_back(emptyTensor(sizes, strides, outputs[i].dtype, device));
    const Borrowed view = borrow(tensors.back().get());
    refs.push_back({static_cast<std::byte*>(view.tensor.data) + view.tensor.byteOffset, outputs[i].dtype,
                    static_cast<int>(shapes->outputs[i].size()), shapes->outputs[i].data(), nullptr});
  }
  const auto memory = std::make_shared<TorchMemory>(device);
  auto done = executable.run(
      arguments.refs(), refs,
      {.stream = torchStream(device), .allocator = memory, .profile = profile, .dims = nullptr, .freshOutputs = true});
  if (!done && memory->failed()) throw PythonError{};
  valueOf(std::move(done));
  return tensors;
}

}  // namespace tokamak::python
