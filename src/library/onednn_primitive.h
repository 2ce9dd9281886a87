#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "library/library.h"
#include "library/onednn_api.h"
#include "library/scratch.h"

namespace tokamak::library {

/// The opened library with its engine; shared by everything made from it.
struct OneDnn {
  std::shared_ptr<const OneDnnApi> api;
  Owned<dnnl_engine> engine{nullptr, nullptr};
  LibraryOptions options;
  ScratchSource& scratch() const { return options.scratch ? *options.scratch : threadScratchSource(); }
};

using MemoryDesc = Owned<dnnl_memory_desc>;

dnnl_data_type_t oneDnnType(DType dtype);  // undef where it has none

/// Dense in the order of `strides`, or in whatever order is fastest where they are empty.
Result<MemoryDesc> makeMemoryDesc(const OneDnn& lib, std::span<const int64_t> dims, DType dtype,
                                  std::span<const int64_t> strides);
std::vector<int64_t> denseStrides(std::span<const int64_t> dims);

/// Strict arithmetic, scratch from us, `postOps` in order; the operand of the i-th, where it has one, is `operands[i]`.
Result<Owned<dnnl_primitive_attr>> makeAttributes(const OneDnn& lib, std::span<const PostOp> postOps,
                                                  std::span<const MemoryDesc> operands);

/// A primitive ready to run, from many threads at once: each takes a set of arguments of its own from a list.
class Primitive {
 public:
  static Result<std::unique_ptr<Primitive>> create(std::shared_ptr<const OneDnn> lib, Owned<dnnl_primitive_desc> desc);

  /// Declares argument `arg` (DNNL_ARG_SRC, ...), in the order in which `run` gets addresses.
  void addArgument(int arg, const_dnnl_memory_desc_t desc);
  const_dnnl_memory_desc_t argumentDesc(dnnl_query_t what, int index = 0) const;
  /// As queried, `avx512_core:brgemm` or such.
  std::string implementation() const;
  bool isReference() const { return implementation().find("ref") != std::string::npos; }
  int64_t scratchBytes() const { return scratchBytes_; }
  /// One address an argument; `scratch` is of scratchBytes.
  Result<> run(std::span<void* const> addresses, std::byte* scratch) const;

 private:
  /// oneDNN's objects for one call at a time.
  struct Arguments {
    std::vector<Owned<dnnl_memory>> memories;
    std::vector<dnnl_exec_arg_t> list;
    Owned<dnnl_stream> stream{nullptr, nullptr};
  };
  Result<std::unique_ptr<Arguments>> takeArguments() const;

  std::shared_ptr<const OneDnn> lib_;
  Owned<dnnl_primitive_desc> desc_{nullptr, nullptr};
  Owned<dnnl_primitive> primitive_{nullptr, nullptr};
  std::vector<std::pair<int, MemoryDesc>> arguments_;
  int64_t scratchBytes_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Arguments>> idle_;
};

/// Copies between two layouts.
Result<std::unique_ptr<Primitive>> makeReorder(std::shared_ptr<const OneDnn> lib, const_dnnl_memory_desc_t from,
                                               const_dnnl_memory_desc_t to);

/// Scratch for the time of one call.
class ScratchLease {
 public:
  ScratchLease(ScratchSource& source, int64_t bytes) : source_(source) {
    if (bytes > 0) data_ = source.take(bytes, ticket_);
  }
  ~ScratchLease() {
    if (data_) source_.give(ticket_);
  }
  ScratchLease(const ScratchLease&) = delete;
  ScratchLease& operator=(const ScratchLease&) = delete;
  std::byte* data() const { return data_; }

 private:
  ScratchSource& source_;
  void* ticket_ = nullptr;
  std::byte* data_ = nullptr;
};

/// Constant weights in the layouts that primitives asked for, each packed once.
class PackedWeights {
 public:
  /// The address of `weights`, laid out as `plain`, in the layout `packed`; made on the first call.
  Result<void*> get(const std::shared_ptr<const OneDnn>& lib, void* weights, const_dnnl_memory_desc_t plain,
                    const_dnnl_memory_desc_t packed) const;

 private:
  struct Entry {
    const void* weights;
    MemoryDesc layout;
    PackedMemory memory;
  };
  mutable std::mutex mutex_;
  mutable std::vector<Entry> entries_;
};

}  // namespace tokamak::library
