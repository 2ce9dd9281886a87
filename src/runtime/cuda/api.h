#pragma once

#include <cstddef>
#include <cstdint>

/// The part of CUDA's driver API that is used, declared here so that no toolkit is needed to build. Names and values
/// are those of cuda.h; the library is opened at run time.
namespace tokamak::runtime::cuda {

using Status = int;  // 0: success
using DeviceOrdinal = int;
using Address = uint64_t;  // of device memory
using Context = struct ContextHandle*;
using Module = struct ModuleHandle*;
using FunctionHandle = struct FunctionHandle_*;
using Stream = struct StreamHandle*;
using Event = struct EventHandle*;
using Graph = struct GraphHandle*;
using GraphExec = struct GraphExecHandle*;
using GraphNode = struct GraphNodeHandle*;
using MemoryPoolHandle = struct MemoryPoolHandle_*;

constexpr Status kOutOfMemory = 2;
constexpr Status kDeinitialized = 4;

// Attributes of a device
constexpr int kMaxSharedPerBlockOptin = 97, kSharedPerMultiprocessor = 81, kMultiprocessors = 16, kL2Bytes = 38,
              kComputeMajor = 75, kComputeMinor = 76, kRegistersPerMultiprocessor = 82, kThreadsPerMultiprocessor = 39,
              kMemoryClock = 36, kMemoryBusWidth = 37, kMemoryPoolsSupported = 115, kMaxGridX = 5, kMaxGridY = 6,
              kMaxGridZ = 7;
// Attributes of a function
constexpr int kFunctionMaxThreads = 0, kFunctionStaticShared = 1, kFunctionLocalBytes = 3, kFunctionRegisters = 4,
              kFunctionMaxDynamicShared = 8;
constexpr int kPoolReleaseThreshold = 4;
constexpr unsigned kStreamNonBlocking = 1;
constexpr int kCaptureThreadLocal = 1;

/// `extra` of a launch: the arguments as one block of bytes.
inline void* const kParameterBuffer = reinterpret_cast<void*>(1);
inline void* const kParameterBufferSize = reinterpret_cast<void*>(2);
inline void* const kParameterEnd = nullptr;

/// CUDA_KERNEL_NODE_PARAMS_v1.
struct KernelNodeParameters {
  FunctionHandle function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void** parameters;
  void** extra;
};

// One line a function: member, symbol in libcuda, parameters.
#define TK_CUDA_FUNCTIONS(F)                                                                                    \
  F(init, "cuInit", (unsigned flags))                                                                           \
  F(driverVersion, "cuDriverGetVersion", (int* version))                                                        \
  F(deviceCount, "cuDeviceGetCount", (int* count))                                                              \
  F(deviceGet, "cuDeviceGet", (DeviceOrdinal * device, int ordinal))                                            \
  F(deviceName, "cuDeviceGetName", (char* name, int length, DeviceOrdinal device))                              \
  F(deviceAttribute, "cuDeviceGetAttribute", (int* value, int attribute, DeviceOrdinal device))                 \
  F(deviceMemory, "cuDeviceTotalMem_v2", (size_t* bytes, DeviceOrdinal device))                                 \
  F(retainContext, "cuDevicePrimaryCtxRetain", (Context * context, DeviceOrdinal device))                       \
  F(releaseContext, "cuDevicePrimaryCtxRelease_v2", (DeviceOrdinal device))                                     \
  F(currentContext, "cuCtxGetCurrent", (Context * context))                                                     \
  F(pushContext, "cuCtxPushCurrent_v2", (Context context))                                                      \
  F(popContext, "cuCtxPopCurrent_v2", (Context * context))                                                      \
  F(loadModule, "cuModuleLoadData", (Module * module, const void* image))                                       \
  F(unloadModule, "cuModuleUnload", (Module module))                                                            \
  F(moduleFunction, "cuModuleGetFunction", (FunctionHandle * function, Module module, const char* name))        \
  F(functionAttribute, "cuFuncGetAttribute", (int* value, int attribute, FunctionHandle function))              \
  F(setFunctionAttribute, "cuFuncSetAttribute", (FunctionHandle function, int attribute, int value))            \
  F(launch, "cuLaunchKernel",                                                                                   \
    (FunctionHandle function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, \
     unsigned blockZ, unsigned sharedBytes, Stream stream, void** parameters, void** extra))                    \
  F(allocate, "cuMemAlloc_v2", (Address * address, size_t bytes))                                               \
  F(release, "cuMemFree_v2", (Address address))                                                                 \
  F(allocateAsync, "cuMemAllocAsync", (Address * address, size_t bytes, Stream stream))                         \
  F(releaseAsync, "cuMemFreeAsync", (Address address, Stream stream))                                           \
  F(memoryInfo, "cuMemGetInfo_v2", (size_t* available, size_t* total))                                          \
  F(defaultPool, "cuDeviceGetDefaultMemPool", (MemoryPoolHandle * pool, DeviceOrdinal device))                  \
  F(setPoolAttribute, "cuMemPoolSetAttribute", (MemoryPoolHandle pool, int attribute, void* value))             \
  F(copyToDevice, "cuMemcpyHtoDAsync_v2", (Address to, const void* from, size_t bytes, Stream stream))          \
  F(copyToHost, "cuMemcpyDtoHAsync_v2", (void* to, Address from, size_t bytes, Stream stream))                  \
  F(copyOnDevice, "cuMemcpyDtoDAsync_v2", (Address to, Address from, size_t bytes, Stream stream))              \
  F(fill, "cuMemsetD8Async", (Address at, unsigned char value, size_t bytes, Stream stream))                    \
  F(createStream, "cuStreamCreate", (Stream * stream, unsigned flags))                                          \
  F(destroyStream, "cuStreamDestroy_v2", (Stream stream))                                                       \
  F(synchronizeStream, "cuStreamSynchronize", (Stream stream))                                                  \
  F(beginCapture, "cuStreamBeginCapture_v2", (Stream stream, int mode))                                         \
  F(endCapture, "cuStreamEndCapture", (Stream stream, Graph * graph))                                           \
  F(isCapturing, "cuStreamIsCapturing", (Stream stream, int* status))                                           \
  F(createGraph, "cuGraphCreate", (Graph * graph, unsigned flags))                                              \
  F(addKernelNode, "cuGraphAddKernelNode",                                                                      \
    (GraphNode * node, Graph graph, const GraphNode* dependencies, size_t count,                                \
     const KernelNodeParameters* parameters))                                                                   \
  F(setKernelNode, "cuGraphExecKernelNodeSetParams",                                                            \
    (GraphExec exec, GraphNode node, const KernelNodeParameters* parameters))                                   \
  F(instantiate, "cuGraphInstantiateWithFlags", (GraphExec * exec, Graph graph, unsigned long long flags))      \
  F(launchGraph, "cuGraphLaunch", (GraphExec exec, Stream stream))                                              \
  F(destroyGraph, "cuGraphDestroy", (Graph graph))                                                              \
  F(destroyGraphExec, "cuGraphExecDestroy", (GraphExec exec))                                                   \
  F(createEvent, "cuEventCreate", (Event * event, unsigned flags))                                              \
  F(destroyEvent, "cuEventDestroy_v2", (Event event))                                                           \
  F(recordEvent, "cuEventRecord", (Event event, Stream stream))                                                 \
  F(synchronizeEvent, "cuEventSynchronize", (Event event))                                                      \
  F(elapsed, "cuEventElapsedTime", (float* milliseconds, Event start, Event end))                               \
  F(errorName, "cuGetErrorName", (Status status, const char** name))                                            \
  F(errorText, "cuGetErrorString", (Status status, const char** text))

struct Api {
#define TK_DECLARE(member, symbol, parameters) Status(*member) parameters = nullptr;
  TK_CUDA_FUNCTIONS(TK_DECLARE)
#undef TK_DECLARE
};

}  // namespace tokamak::runtime::cuda
