#pragma once

/// DLPack's C ABI, version 1: the structs as its specification lays them out, no more than the extension uses.

#include <cstdint>

namespace tokamak::dlpack {

enum DeviceType : int32_t { cpu = 1, cuda = 2 };
enum TypeCode : uint8_t { integer = 0, unsignedInteger = 1, floating = 2, bfloat = 4, complex = 5, boolean = 6 };

struct Version {
  uint32_t major, minor;
};
struct Device {
  DeviceType type;
  int32_t id;
};
struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  int32_t rank;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byteOffset;
};
struct ManagedTensor {
  Version version;
  void* context;
  void (*deleter)(ManagedTensor*);
  uint64_t flags;
  Tensor tensor;
};
/// What `__dlpack__` without a version gives.
struct OldManagedTensor {
  Tensor tensor;
  void* context;
  void (*deleter)(OldManagedTensor*);
};

/// The table behind `torch.Tensor.__dlpack_c_exchange_api__`. Functions return 0, or -1 with a Python exception set.
struct ExchangeTable {
  struct Header {
    Version version;
    Header* older;
  } header;
  int (*allocate)(Tensor* like, ManagedTensor** out, void* errorContext,
                  void (*setError)(void*, const char* kind, const char* message));
  int (*fromObject)(void* object, ManagedTensor** out);
  int (*toObject)(ManagedTensor* tensor, void** out);
  int (*viewObject)(void* object, Tensor* out);  // borrowed: valid while the object lives unchanged
  int (*currentStream)(DeviceType type, int32_t id, void** out);
};

}  // namespace tokamak::dlpack
