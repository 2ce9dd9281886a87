#include "fake_cuda.h"

#include <cstdlib>
#include <cstring>
#include <utility>

/// The functions of cuda.h that Tokamak opens, with its names and values.
namespace {

using namespace tokamak::fake;

Cuda& self() {
  static Cuda cuda;
  return cuda;
}

constexpr int kOutOfMemory = 2, kInvalid = 1, kNotFound = 500;

/// Notes the call; the status that a test wants it to have.
int noted(const std::string& name, const std::string& details = {}) {
  Cuda& cuda = self();
  const std::lock_guard lock(cuda.mutex);
  cuda.log.push_back(details.empty() ? name : name + " " + details);
  const auto failing = cuda.failing.find(name);
  return failing == cuda.failing.end() ? 0 : failing->second;
}

struct Function;
struct Module {
  std::string image;
  std::vector<std::unique_ptr<Function>> functions;
};
struct Function {
  Module* module;
  std::string symbol;
};
struct Graph {
  std::vector<std::function<void()>> work;
};
struct Stream {
  Graph* capturing = nullptr;
};
struct Event {
  double at = 0;
};

Stream defaultStream;
Stream& streamOf(void* stream) { return stream ? *static_cast<Stream*>(stream) : defaultStream; }

/// Does it, or keeps it for the graph that is being captured.
void perform(void* stream, std::function<void()> work) {
  if (Graph* graph = streamOf(stream).capturing)
    graph->work.push_back(std::move(work));
  else
    work();
}

std::map<uint64_t, size_t>& sizes() {
  static std::map<uint64_t, size_t> sizes;
  return sizes;
}

int allocate(uint64_t* address, size_t bytes) {
  Cuda& cuda = self();
  const std::lock_guard lock(cuda.mutex);
  if (cuda.inUse + static_cast<int64_t>(bytes) > cuda.memoryLimit) return kOutOfMemory;
  void* data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(data, 0xee, bytes);
  *address = reinterpret_cast<uint64_t>(data);
  sizes()[*address] = bytes;
  cuda.inUse += static_cast<int64_t>(bytes), ++cuda.blocks;
  return 0;
}

int release(uint64_t address) {
  Cuda& cuda = self();
  const std::lock_guard lock(cuda.mutex);
  const auto it = sizes().find(address);
  if (it == sizes().end()) return kInvalid;
  cuda.inUse -= static_cast<int64_t>(it->second), --cuda.blocks;
  sizes().erase(it);
  std::free(reinterpret_cast<void*>(address));
  return 0;
}

int copy(const char* name, void* to, const void* from, size_t bytes, void* stream) {
  const int status = noted(name, std::to_string(bytes));
  if (status == 0) perform(stream, [=] { std::memcpy(to, from, bytes); });
  return status;
}

void* at(uint64_t address) { return reinterpret_cast<void*>(address); }

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
int cuDevicePrimaryCtxRetain(void** context, int device) {
  static int contexts[16];
  *context = &contexts[device];
  return noted("cuDevicePrimaryCtxRetain", std::to_string(device));
}
int cuDevicePrimaryCtxRelease_v2(int device) { return noted("cuDevicePrimaryCtxRelease", std::to_string(device)); }

thread_local std::vector<void*> contexts;
int cuCtxGetCurrent(void** context) { return *context = contexts.empty() ? nullptr : contexts.back(), 0; }
int cuCtxPushCurrent_v2(void* context) { return contexts.push_back(context), noted("cuCtxPushCurrent"); }
int cuCtxPopCurrent_v2(void** context) {
  if (contexts.empty()) return 201;
  *context = contexts.back();
  contexts.pop_back();
  return 0;
}

int cuModuleLoadData(void** module, const void* image) {
  if (const int status = noted("cuModuleLoadData"); status != 0) return status;
  *module = new Module{static_cast<const char*>(image), {}};
  return 0;
}
int cuModuleUnload(void* module) { return delete static_cast<Module*>(module), noted("cuModuleUnload"); }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  if (const int status = noted("cuModuleGetFunction", name); status != 0) return status;
  auto& functions = static_cast<Module*>(module)->functions;
  functions.push_back(std::make_unique<Function>(Function{static_cast<Module*>(module), name}));
  *function = functions.back().get();
  return 0;
}
int cuFuncGetAttribute(int* value, int attribute, void* function) {
  constexpr int kLocalBytes = 3;
  *value = 32;
  if (attribute != kLocalBytes) return 0;
  const auto& spills = self().localBytes;
  return *value = spills ? spills(static_cast<Function*>(function)->module->image) : 0, 0;
}
int cuFuncSetAttribute(void*, int attribute, int value) {
  return noted("cuFuncSetAttribute", std::to_string(attribute) + " " + std::to_string(value));
}

int cuLaunchKernel(void* function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                   unsigned blockZ, unsigned sharedBytes, void* stream, void** parameters, void** extra) {
  const auto& f = *static_cast<Function*>(function);
  if (const int status = noted("cuLaunchKernel", f.symbol); status != 0) return status;
  const bool isBlock = !parameters && extra && extra[0] == reinterpret_cast<void*>(1) &&
                       extra[2] == reinterpret_cast<void*>(2) && extra[4] == nullptr;
  if (!isBlock || gridX * gridY * gridZ == 0 || blockX * blockY * blockZ > 1024) return kInvalid;
  const size_t bytes = *static_cast<size_t*>(extra[3]);
  Launch launch{f.module->image, f.symbol, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, {}};
  launch.words.resize(bytes / 8);
  std::memcpy(launch.words.data(), extra[1], bytes);
  perform(stream, [launch] {
    if (self().onLaunch) self().onLaunch(launch);
  });
  return 0;
}

int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  const int status = noted("cuMemAlloc", std::to_string(bytes));
  return status ? status : allocate(address, bytes);
}
int cuMemFree_v2(uint64_t address) { return noted("cuMemFree"), release(address); }
int cuMemAllocAsync(uint64_t* address, size_t bytes, void*) {
  const int status = noted("cuMemAllocAsync", std::to_string(bytes));
  return status ? status : allocate(address, bytes);
}
int cuMemFreeAsync(uint64_t address, void*) { return noted("cuMemFreeAsync"), release(address); }
int cuMemGetInfo_v2(size_t* available, size_t* total) {
  *total = static_cast<size_t>(self().memoryLimit);
  *available = *total - static_cast<size_t>(self().inUse);
  return 0;
}
int cuDeviceGetDefaultMemPool(void** pool, int) { return *pool = &defaultStream, 0; }
int cuMemPoolSetAttribute(void*, int, void*) { return noted("cuMemPoolSetAttribute"); }
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void* stream) {
  return copy("cuMemcpyHtoDAsync", at(to), from, bytes, stream);
}
int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void* stream) {
  return copy("cuMemcpyDtoHAsync", to, at(from), bytes, stream);
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void* stream) {
  return copy("cuMemcpyDtoDAsync", at(to), at(from), bytes, stream);
}
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void* stream) {
  const int status = noted("cuMemsetD8Async", std::to_string(bytes));
  if (status == 0) perform(stream, [=] { std::memset(at(to), value, bytes); });
  return status;
}

int cuStreamCreate(void** stream, unsigned) { return *stream = new Stream, noted("cuStreamCreate"); }
int cuStreamDestroy_v2(void* stream) { return delete static_cast<Stream*>(stream), noted("cuStreamDestroy"); }
int cuStreamSynchronize(void*) { return noted("cuStreamSynchronize"); }
int cuStreamBeginCapture_v2(void* stream, int) {
  streamOf(stream).capturing = new Graph;
  return noted("cuStreamBeginCapture");
}
int cuStreamEndCapture(void* stream, void** graph) {
  *graph = std::exchange(streamOf(stream).capturing, nullptr);
  return noted("cuStreamEndCapture");
}
int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  *exec = new Graph(*static_cast<Graph*>(graph));
  return noted("cuGraphInstantiate");
}
int cuGraphLaunch(void* exec, void*) {
  if (const int status = noted("cuGraphLaunch"); status != 0) return status;
  for (const auto& work : static_cast<Graph*>(exec)->work) work();
  return 0;
}
int cuGraphDestroy(void* graph) { return delete static_cast<Graph*>(graph), noted("cuGraphDestroy"); }
int cuGraphExecDestroy(void* exec) { return delete static_cast<Graph*>(exec), noted("cuGraphExecDestroy"); }

int cuEventCreate(void** event, unsigned) { return *event = new Event, noted("cuEventCreate"); }
int cuEventDestroy_v2(void* event) { return delete static_cast<Event*>(event), 0; }
int cuEventRecord(void* event, void*) {
  static double clock = 0;
  static_cast<Event*>(event)->at = clock += 0.5;  // half a millisecond apart
  return noted("cuEventRecord");
}
int cuEventSynchronize(void*) { return noted("cuEventSynchronize"); }
int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  *milliseconds = static_cast<float>(static_cast<Event*>(end)->at - static_cast<Event*>(start)->at);
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
