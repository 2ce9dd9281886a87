#include "fake_cuda.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/cuda/api.h"

/// The functions of cuda.h that Tokamak opens, with its names and values. They have the very types by which they are
/// called: a call through a pointer of another type is undefined.
namespace tokamak::runtime::cuda {

struct ContextHandle {};
struct FunctionHandle_ {
  Module module;
  std::string symbol;
};
struct ModuleHandle {
  std::string image;
  std::vector<std::unique_ptr<FunctionHandle_>> functions;
};
struct GraphHandle {
  std::vector<std::function<void()>> work;
};
struct GraphExecHandle {
  std::vector<std::function<void()>> work;
};
struct GraphNodeHandle {
  size_t number;  // in its graph
};
struct StreamHandle {
  Graph capturing = nullptr;
};
struct EventHandle {
  double at = 0;
};
struct MemoryPoolHandle_ {};

namespace {

using fake::Cuda;
using fake::Launch;

Cuda& self() {
  static Cuda cuda;
  return cuda;
}

constexpr Status kInvalid = 1, kNotFound = 500;

/// Notes the call; the status that a test wants it to have.
int noted(const std::string& name, const std::string& details = {}) {
  Cuda& cuda = self();
  const std::lock_guard lock(cuda.mutex);
  cuda.log.push_back(details.empty() ? name : name + " " + details);
  const auto failing = cuda.failing.find(name);
  return failing == cuda.failing.end() ? 0 : failing->second;
}

StreamHandle defaultStream;
StreamHandle& streamOf(Stream stream) { return stream ? *stream : defaultStream; }

/// Does it, or keeps it for the graph that is being captured.
void perform(Stream stream, std::function<void()> work) {
  if (Graph graph = streamOf(stream).capturing)
    graph->work.push_back(std::move(work));
  else
    work();
}

std::map<Address, size_t>& sizes() {
  static std::map<Address, size_t> sizes;
  return sizes;
}

int allocate(Address* address, size_t bytes) {
  Cuda& cuda = self();
  const std::lock_guard lock(cuda.mutex);
  if (cuda.inUse + static_cast<int64_t>(bytes) > cuda.memoryLimit) return kOutOfMemory;
  void* data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(data, 0xee, bytes);
  *address = reinterpret_cast<Address>(data);
  sizes()[*address] = bytes;
  cuda.inUse += static_cast<int64_t>(bytes), ++cuda.blocks;
  return 0;
}

int release(Address address) {
  Cuda& cuda = self();
  const std::lock_guard lock(cuda.mutex);
  const auto it = sizes().find(address);
  if (it == sizes().end()) return kInvalid;
  cuda.inUse -= static_cast<int64_t>(it->second), --cuda.blocks;
  sizes().erase(it);
  std::free(std::bit_cast<void*>(address));
  return 0;
}

int copy(const char* name, void* to, const void* from, size_t bytes, Stream stream) {
  const int status = noted(name, std::to_string(bytes));
  if (status == 0) perform(stream, [=] { std::memcpy(to, from, bytes); });
  return status;
}

void* at(Address address) { return std::bit_cast<void*>(address); }

/// What a launch does; its arguments are taken now. Empty where the launch is not valid.
std::function<void()> workOf(const KernelNodeParameters& p) {
  const bool isBlock = !p.parameters && p.extra && p.extra[0] == kParameterBuffer &&
                       p.extra[2] == kParameterBufferSize && p.extra[4] == kParameterEnd;
  if (!isBlock || p.gridX * p.gridY * p.gridZ == 0 || p.blockX * p.blockY * p.blockZ > 1024) return {};
  const size_t bytes = *static_cast<size_t*>(p.extra[3]);
  Launch launch{p.function->module->image,      p.function->symbol, {p.gridX, p.gridY, p.gridZ},
                {p.blockX, p.blockY, p.blockZ}, p.sharedBytes,      {}};
  launch.words.resize(bytes / 8);
  std::memcpy(launch.words.data(), p.extra[1], bytes);
  return [launch] {
    if (self().onLaunch) self().onLaunch(launch);
  };
}

/// Nodes by their place in their graph.
GraphNode nodeAt(size_t number) {
  static const auto nodes = [] {
    std::vector<GraphNodeHandle> all;
    for (size_t i = 0; i < 1024; ++i) all.push_back({i});
    return all;
  }();
  return const_cast<GraphNode>(&nodes.at(number));
}

}  // namespace

extern "C" {

Cuda* tokamakFakeCuda() { return &self(); }

int cuInit(unsigned) { return noted("cuInit"); }
int cuDriverGetVersion(int* version) { return *version = 13000, noted("cuDriverGetVersion"); }
int cuDeviceGetCount(int* count) { return *count = self().devices, noted("cuDeviceGetCount"); }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, noted("cuDeviceGet"); }
int cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, "Fake H200", static_cast<size_t>(length));
  return noted("cuDeviceGetName");
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  static const std::map<int, int> values = {{97, 227 << 10}, {81, 228 << 10}, {16, 132},  {38, 50 << 20}, {75, 9},
                                            {76, 0},         {82, 65536},     {39, 2048}, {36, 2619000},  {37, 6144},
                                            {115, 1},        {5, INT32_MAX},  {6, 65535}, {7, 65535}};
  const auto it = values.find(attribute);
  if (it == values.end()) return kInvalid;
  *value = it->second;
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = static_cast<size_t>(self().memoryLimit), 0; }
int cuDevicePrimaryCtxRetain(Context* context, int device) {
  static ContextHandle contexts[16];
  *context = &contexts[device];
  return noted("cuDevicePrimaryCtxRetain", std::to_string(device));
}
int cuDevicePrimaryCtxRelease_v2(int device) { return noted("cuDevicePrimaryCtxRelease", std::to_string(device)); }

thread_local std::vector<Context> contexts;
int cuCtxGetCurrent(Context* context) { return *context = contexts.empty() ? nullptr : contexts.back(), 0; }
int cuCtxPushCurrent_v2(Context context) { return contexts.push_back(context), noted("cuCtxPushCurrent"); }
int cuCtxPopCurrent_v2(Context* context) {
  if (contexts.empty()) return 201;
  *context = contexts.back();
  contexts.pop_back();
  return 0;
}

int cuModuleLoadData(Module* module, const void* image) {
  if (const int status = noted("cuModuleLoadData"); status != 0) return status;
  *module = new ModuleHandle{static_cast<const char*>(image), {}};
  return 0;
}
int cuModuleUnload(Module module) { return delete module, noted("cuModuleUnload"); }
int cuModuleGetFunction(FunctionHandle* function, Module module, const char* name) {
  if (const int status = noted("cuModuleGetFunction", name); status != 0) return status;
  module->functions.push_back(std::make_unique<FunctionHandle_>(FunctionHandle_{module, name}));
  *function = module->functions.back().get();
  return 0;
}
int cuFuncGetAttribute(int* value, int attribute, FunctionHandle function) {
  *value = 32;
  if (attribute != kFunctionLocalBytes) return 0;
  const auto& spills = self().localBytes;
  return *value = spills ? spills(function->module->image) : 0, 0;
}
int cuFuncSetAttribute(FunctionHandle, int attribute, int value) {
  return noted("cuFuncSetAttribute", std::to_string(attribute) + " " + std::to_string(value));
}

int cuLaunchKernel(FunctionHandle function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                   unsigned blockY, unsigned blockZ, unsigned sharedBytes, Stream stream, void** parameters,
                   void** extra) {
  if (const int status = noted("cuLaunchKernel", function->symbol); status != 0) return status;
  auto work = workOf({function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, parameters, extra});
  if (!work) return kInvalid;
  perform(stream, std::move(work));
  return 0;
}

int cuMemAlloc_v2(Address* address, size_t bytes) {
  const int status = noted("cuMemAlloc", std::to_string(bytes));
  return status ? status : allocate(address, bytes);
}
int cuMemFree_v2(Address address) { return noted("cuMemFree"), release(address); }
int cuMemAllocAsync(Address* address, size_t bytes, Stream) {
  const int status = noted("cuMemAllocAsync", std::to_string(bytes));
  return status ? status : allocate(address, bytes);
}
int cuMemFreeAsync(Address address, Stream) { return noted("cuMemFreeAsync"), release(address); }
int cuMemGetInfo_v2(size_t* available, size_t* total) {
  *total = static_cast<size_t>(self().memoryLimit);
  *available = *total - static_cast<size_t>(self().inUse);
  return 0;
}
int cuDeviceGetDefaultMemPool(MemoryPoolHandle* pool, int) {
  static MemoryPoolHandle_ theOne;
  return *pool = &theOne, 0;
}
int cuMemPoolSetAttribute(MemoryPoolHandle, int, void*) { return noted("cuMemPoolSetAttribute"); }
int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, Stream stream) {
  return copy("cuMemcpyHtoDAsync", at(to), from, bytes, stream);
}
int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, Stream stream) {
  return copy("cuMemcpyDtoHAsync", to, at(from), bytes, stream);
}
int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream stream) {
  return copy("cuMemcpyDtoDAsync", at(to), at(from), bytes, stream);
}
int cuMemsetD8Async(Address to, unsigned char value, size_t bytes, Stream stream) {
  const int status = noted("cuMemsetD8Async", std::to_string(bytes));
  if (status == 0) perform(stream, [=] { std::memset(at(to), value, bytes); });
  return status;
}

int cuStreamCreate(Stream* stream, unsigned) { return *stream = new StreamHandle, noted("cuStreamCreate"); }
int cuStreamDestroy_v2(Stream stream) { return delete stream, noted("cuStreamDestroy"); }
int cuStreamSynchronize(Stream) { return noted("cuStreamSynchronize"); }
int cuStreamBeginCapture_v2(Stream stream, int) {
  streamOf(stream).capturing = new GraphHandle;
  return noted("cuStreamBeginCapture");
}
int cuStreamEndCapture(Stream stream, Graph* graph) {
  *graph = std::exchange(streamOf(stream).capturing, nullptr);
  return noted("cuStreamEndCapture");
}
int cuStreamIsCapturing(Stream stream, int* status) { return *status = streamOf(stream).capturing != nullptr, 0; }
int cuGraphCreate(Graph* graph, unsigned) {
  if (const int status = noted("cuGraphCreate"); status != 0) return status;
  *graph = new GraphHandle;
  return 0;
}
int cuGraphAddKernelNode(GraphNode* node, Graph graph, const GraphNode* before, size_t count,
                         const KernelNodeParameters* parameters) {
  if (const int status = noted("cuGraphAddKernelNode", parameters->function->symbol); status != 0) return status;
  auto work = workOf(*parameters);
  const size_t number = graph->work.size();  // one after another, as they are performed
  if (!work || count != std::min<size_t>(number, 1) || (count == 1 && before[0]->number + 1 != number)) return kInvalid;
  *node = nodeAt(number);
  graph->work.push_back(std::move(work));
  return 0;
}
int cuGraphExecKernelNodeSetParams(GraphExec exec, GraphNode node, const KernelNodeParameters* parameters) {
  if (const int status = noted("cuGraphExecKernelNodeSetParams", parameters->function->symbol); status != 0)
    return status;
  auto work = workOf(*parameters);
  if (!work) return kInvalid;
  exec->work.at(node->number) = std::move(work);
  return 0;
}
int cuGraphInstantiateWithFlags(GraphExec* exec, Graph graph, unsigned long long) {
  if (const int status = noted("cuGraphInstantiate"); status != 0) return status;
  *exec = new GraphExecHandle{graph->work};
  return 0;
}
int cuGraphLaunch(GraphExec exec, Stream) {
  if (const int status = noted("cuGraphLaunch"); status != 0) return status;
  for (const auto& work : exec->work) work();
  return 0;
}
int cuGraphDestroy(Graph graph) { return delete graph, noted("cuGraphDestroy"); }
int cuGraphExecDestroy(GraphExec exec) { return delete exec, noted("cuGraphExecDestroy"); }

int cuEventCreate(Event* event, unsigned) { return *event = new EventHandle, noted("cuEventCreate"); }
int cuEventDestroy_v2(Event event) { return delete event, 0; }
int cuEventRecord(Event event, Stream) {
  static double clock = 0;
  event->at = clock += 0.5;  // half a millisecond apart
  return noted("cuEventRecord");
}
int cuEventSynchronize(Event) { return noted("cuEventSynchronize"); }
int cuEventElapsedTime(float* milliseconds, Event start, Event end) {
  *milliseconds = static_cast<float>(end->at - start->at);
  return 0;
}
int cuGetErrorName(int status, const char** name) {
  *name = status == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY"
          : status == 700        ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : status == kNotFound  ? "CUDA_ERROR_NOT_FOUND"
                                 : "CUDA_ERROR_INVALID_VALUE";
  return 0;
}
int cuGetErrorString(int status, const char** text) {
  return *text = status == 700 ? "an illegal memory access was encountered" : "a failure that a test asked for", 0;
}

}  // extern "C"

}  // namespace tokamak::runtime::cuda
