#pragma once

#include <memory>
#include <string>

#include "oneapi/dnnl/dnnl.h"
#include "support/result.h"

namespace tokamak::library {

/// The functions of oneDNN's C interface that are used, each looked up once when the library is opened.
#define TK_ONEDNN_FUNCTIONS(X)                      \
  X(dnnl_set_max_cpu_isa)                           \
  X(dnnl_version)                                   \
  X(dnnl_engine_create)                             \
  X(dnnl_engine_destroy)                            \
  X(dnnl_stream_create)                             \
  X(dnnl_stream_destroy)                            \
  X(dnnl_stream_wait)                               \
  X(dnnl_memory_desc_create_with_strides)           \
  X(dnnl_memory_desc_create_with_tag)               \
  X(dnnl_memory_desc_clone)                         \
  X(dnnl_memory_desc_destroy)                       \
  X(dnnl_memory_desc_equal)                         \
  X(dnnl_memory_desc_get_size)                      \
  X(dnnl_memory_create)                             \
  X(dnnl_memory_destroy)                            \
  X(dnnl_memory_set_data_handle)                    \
  X(dnnl_primitive_attr_create)                     \
  X(dnnl_primitive_attr_destroy)                    \
  X(dnnl_primitive_attr_set_fpmath_mode)            \
  X(dnnl_primitive_attr_set_scratchpad_mode)        \
  X(dnnl_primitive_attr_set_post_ops)               \
  X(dnnl_post_ops_create)                           \
  X(dnnl_post_ops_destroy)                          \
  X(dnnl_post_ops_append_eltwise)                   \
  X(dnnl_post_ops_append_binary)                    \
  X(dnnl_post_ops_append_sum)                       \
  X(dnnl_matmul_primitive_desc_create)              \
  X(dnnl_convolution_forward_primitive_desc_create) \
  X(dnnl_reorder_primitive_desc_create)             \
  X(dnnl_binary_primitive_desc_create)              \
  X(dnnl_primitive_desc_destroy)                    \
  X(dnnl_primitive_desc_query)                      \
  X(dnnl_primitive_desc_query_md)                   \
  X(dnnl_primitive_create)                          \
  X(dnnl_primitive_execute)                         \
  X(dnnl_primitive_destroy)

struct OneDnnApi {
#define TK_MEMBER(name) decltype(&::name) name = nullptr;
  TK_ONEDNN_FUNCTIONS(TK_MEMBER)
#undef TK_MEMBER
  std::string path;
  void* handle = nullptr;

  OneDnnApi() = default;
  OneDnnApi(const OneDnnApi&) = delete;
  OneDnnApi& operator=(const OneDnnApi&) = delete;
  ~OneDnnApi();
  /// Null, with the reason, where `file` is not oneDNN 3.
  static std::shared_ptr<const OneDnnApi> load(const std::string& file, std::string& reason);
  std::string version() const;
};

/// Something of oneDNN's that is destroyed by the function it carries.
template <class T>
using Owned = std::unique_ptr<T, dnnl_status_t (*)(T*)>;

/// T0701, naming what failed.
Diagnostic oneDnnError(std::string_view what, dnnl_status_t status);

}  // namespace tokamak::library
