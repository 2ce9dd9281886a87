#ifdef TOKAMAK_HAS_ONEDNN
#include "library/onednn_primitive.h"

#include <fmt/format.h>

namespace tokamak::library {

namespace {

#define TK_DNN(expression, what)                                                                          \
  do {                                                                                                    \
    if (const dnnl_status_t tkDnn = (expression); tkDnn != dnnl_success) return oneDnnError(what, tkDnn); \
  } while (false)

struct Eltwise {
  dnnl_alg_kind_t kind;
  float alpha, beta;
};

Eltwise eltwise(const PostOp& op) {
  switch (op.kind) {
    case PostOpKind::relu: return {dnnl_eltwise_relu, 0, 0};
    case PostOpKind::leaky_relu: return {dnnl_eltwise_relu, op.alpha, 0};
    case PostOpKind::elu: return {dnnl_eltwise_elu, op.alpha, 0};
    case PostOpKind::gelu_erf: return {dnnl_eltwise_gelu_erf, 0, 0};
    case PostOpKind::gelu_tanh: return {dnnl_eltwise_gelu_tanh, 0, 0};
    case PostOpKind::tanh: return {dnnl_eltwise_tanh, 0, 0};
    case PostOpKind::sigmoid: return {dnnl_eltwise_logistic, 0, 0};
    case PostOpKind::swish: return {dnnl_eltwise_swish, op.alpha, 0};
    case PostOpKind::exp: return {dnnl_eltwise_exp, 0, 0};
    case PostOpKind::abs: return {dnnl_eltwise_abs, 0, 0};
    case PostOpKind::sqrt: return {dnnl_eltwise_sqrt, 0, 0};
    case PostOpKind::square: return {dnnl_eltwise_square, 0, 0};
    case PostOpKind::linear: return {dnnl_eltwise_linear, op.alpha, op.beta};
    case PostOpKind::clip: return {dnnl_eltwise_clip, op.alpha, op.beta};
    case PostOpKind::hardswish: return {dnnl_eltwise_hardswish, op.alpha, op.beta};
    case PostOpKind::hardsigmoid: return {dnnl_eltwise_hardsigmoid, op.alpha, op.beta};
    case PostOpKind::mish: return {dnnl_eltwise_mish, 0, 0};
    case PostOpKind::softplus: return {dnnl_eltwise_soft_relu, op.alpha, 0};
    default: return {dnnl_alg_kind_undef, 0, 0};
  }
}

dnnl_alg_kind_t binary(PostOpKind kind) {
  switch (kind) {
    case PostOpKind::add: return dnnl_binary_add;
    case PostOpKind::mul: return dnnl_binary_mul;
    case PostOpKind::sub: return dnnl_binary_sub;
    case PostOpKind::div: return dnnl_binary_div;
    case PostOpKind::max: return dnnl_binary_max;
    case PostOpKind::min: return dnnl_binary_min;
    default: return dnnl_alg_kind_undef;
  }
}

}  // namespace

dnnl_data_type_t oneDnnType(DType dtype) {
  switch (dtype) {
    case DType::f32: return dnnl_f32;
    case DType::bf16: return dnnl_bf16;
    case DType::f16: return dnnl_f16;
    default: return dnnl_data_type_undef;
  }
}

std::vector<int64_t> denseStrides(std::span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

Result<MemoryDesc> makeMemoryDesc(const OneDnn& lib, std::span<const int64_t> dims, DType dtype,
                                  std::span<const int64_t> strides) {
  dnnl_memory_desc_t desc = nullptr;
  const int rank = static_cast<int>(dims.size());
  const dnnl_status_t status =
      strides.empty()
          ? lib.api->dnnl_memory_desc_create_with_tag(&desc, rank, dims.data(), oneDnnType(dtype), dnnl_format_tag_any)
          : lib.api->dnnl_memory_desc_create_with_strides(&desc, rank, dims.data(), oneDnnType(dtype), strides.data());
  TK_DNN(status, "memory descriptor");
  return MemoryDesc(desc, lib.api->dnnl_memory_desc_destroy);
}

Result<Owned<dnnl_primitive_attr>> makeAttributes(const OneDnn& lib, std::span<const PostOp> postOps,
                                                  std::span<const MemoryDesc> operands) {
  const OneDnnApi& api = *lib.api;
  dnnl_primitive_attr_t attr = nullptr;
  TK_DNN(api.dnnl_primitive_attr_create(&attr), "attributes");
  Owned<dnnl_primitive_attr> owned(attr, api.dnnl_primitive_attr_destroy);
  TK_DNN(api.dnnl_primitive_attr_set_fpmath_mode(attr, dnnl_fpmath_mode_strict), "attributes");
  TK_DNN(api.dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user), "attributes");
  if (postOps.empty()) return owned;
  dnnl_post_ops_t list = nullptr;
  TK_DNN(api.dnnl_post_ops_create(&list), "post-ops");
  const Owned<dnnl_post_ops> ownedList(list, api.dnnl_post_ops_destroy);
  for (size_t i = 0; i < postOps.size(); ++i) {
    const PostOp& op = postOps[i];
    const std::string what = fmt::format("post-op {}", nameOf(op.kind));
    if (op.kind == PostOpKind::sum) {
      TK_DNN(api.dnnl_post_ops_append_sum(list, op.alpha, 0, dnnl_data_type_undef), what);
    } else if (hasOperand(op.kind)) {
      TK_DNN(api.dnnl_post_ops_append_binary(list, binary(op.kind), operands[i].get()), what);
    } else {
      const Eltwise e = eltwise(op);
      TK_DNN(api.dnnl_post_ops_append_eltwise(list, e.kind, e.alpha, e.beta), what);
    }
  }
  TK_DNN(api.dnnl_primitive_attr_set_post_ops(attr, list), "post-ops");
  return owned;
}

Primitive::Primitive(std::shared_ptr<const OneDnn> lib, Owned<dnnl_primitive_desc> desc)
    : lib_(std::move(lib)), desc_(std::move(desc)) {
  const auto scratch = argumentDesc(dnnl_query_scratchpad_md);
  scratchBytes_ = static_cast<int64_t>(lib_->api->dnnl_memory_desc_get_size(scratch));
}

Result<> Primitive::build() const {
  std::lock_guard lock(mutex_);
  if (primitive_) return Unit{};
  dnnl_primitive_t primitive = nullptr;
  TK_DNN(lib_->api->dnnl_primitive_create(&primitive, desc_.get()), "primitive");
  primitive_ = {primitive, lib_->api->dnnl_primitive_destroy};
  return Unit{};
}

void Primitive::addArgument(int arg, const_dnnl_memory_desc_t desc) {
  dnnl_memory_desc_t copy = nullptr;
  lib_->api->dnnl_memory_desc_clone(&copy, desc);
  arguments_.emplace_back(arg, MemoryDesc(copy, lib_->api->dnnl_memory_desc_destroy));
}

const_dnnl_memory_desc_t Primitive::argumentDesc(dnnl_query_t what, int index) const {
  return lib_->api->dnnl_primitive_desc_query_md(desc_.get(), what, index);
}

std::string Primitive::implementation() const {
  const char* name = nullptr;
  lib_->api->dnnl_primitive_desc_query(desc_.get(), dnnl_query_impl_info_str, 0, static_cast<void*>(&name));
  return name ? name : "";
}

Result<std::unique_ptr<Primitive::Arguments>> Primitive::takeArguments() const {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto out = std::move(idle_.back());
      idle_.pop_back();
      return out;
    }
  }
  TK_RETURN_IF_ERROR(build());
  const OneDnnApi& api = *lib_->api;
  auto out = std::make_unique<Arguments>();
  dnnl_stream_t stream = nullptr;
  TK_DNN(api.dnnl_stream_create(&stream, lib_->engine.get(), dnnl_stream_default_flags), "stream");
  out->stream = {stream, api.dnnl_stream_destroy};
  auto add = [&](int arg, const_dnnl_memory_desc_t desc) {
    dnnl_memory_t memory = nullptr;
    const dnnl_status_t status = api.dnnl_memory_create(&memory, desc, lib_->engine.get(), DNNL_MEMORY_NONE);
    out->memories.emplace_back(memory, api.dnnl_memory_destroy);
    out->list.push_back({arg, memory});
    return status;
  };
  for (const auto& [arg, desc] : arguments_) TK_DNN(add(arg, desc.get()), "memory");
  TK_DNN(add(DNNL_ARG_SCRATCHPAD, argumentDesc(dnnl_query_scratchpad_md)), "memory");
  return out;
}

Result<> Primitive::run(std::span<void* const> addresses, std::byte* scratch) const {
  TK_CHECK(addresses.size() == arguments_.size(), "one address an argument");
  TK_TRY(std::unique_ptr<Arguments> arguments, takeArguments());
  const OneDnnApi& api = *lib_->api;
  for (size_t i = 0; i < addresses.size(); ++i)
    TK_DNN(api.dnnl_memory_set_data_handle(arguments->memories[i].get(), addresses[i]), "memory");
  TK_DNN(api.dnnl_memory_set_data_handle(arguments->memories.back().get(), scratch), "memory");
  TK_DNN(api.dnnl_primitive_execute(primitive_.get(), arguments->stream.get(), static_cast<int>(arguments->list.size()),
                                    arguments->list.data()),
         "execution");
  TK_DNN(api.dnnl_stream_wait(arguments->stream.get()), "execution");
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(arguments));
  return Unit{};
}

Result<std::unique_ptr<Primitive>> makeBinary(const std::shared_ptr<const OneDnn>& lib, const PostOp& first,
                                              std::span<const PostOp> rest, const_dnnl_memory_desc_t x,
                                              std::span<const MemoryDesc> operands) {
  TK_TRY(const auto attributes, makeAttributes(*lib, rest, operands.subspan(1)));
  dnnl_primitive_desc_t desc = nullptr;
  TK_DNN(lib->api->dnnl_binary_primitive_desc_create(&desc, lib->engine.get(), binary(first.kind), x,
                                                     operands.front().get(), x, attributes.get()),
         "binary");
  auto primitive =
      std::make_unique<Primitive>(lib, Owned<dnnl_primitive_desc>(desc, lib->api->dnnl_primitive_desc_destroy));
  primitive->addArgument(DNNL_ARG_SRC_0, x);
  primitive->addArgument(DNNL_ARG_SRC_1, operands.front().get());
  for (size_t i = 0; i < rest.size(); ++i)
    if (hasOperand(rest[i].kind))
      primitive->addArgument(DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1,
                             operands[i + 1].get());
  primitive->addArgument(DNNL_ARG_DST, x);
  return primitive;
}

Result<std::unique_ptr<Primitive>> makeReorder(const std::shared_ptr<const OneDnn>& lib, const_dnnl_memory_desc_t from,
                                               const_dnnl_memory_desc_t to) {
  TK_TRY(const Owned<dnnl_primitive_attr> attr, makeAttributes(*lib, {}, {}));
  dnnl_primitive_desc_t desc = nullptr;
  dnnl_engine_t engine = lib->engine.get();
  TK_DNN(lib->api->dnnl_reorder_primitive_desc_create(&desc, from, engine, to, engine, attr.get()), "reorder");
  auto primitive =
      std::make_unique<Primitive>(lib, Owned<dnnl_primitive_desc>(desc, lib->api->dnnl_primitive_desc_destroy));
  primitive->addArgument(DNNL_ARG_FROM, from);
  primitive->addArgument(DNNL_ARG_TO, to);
  return primitive;
}

Result<void*> PackedWeights::get(const std::shared_ptr<const OneDnn>& lib, void* weights,
                                 const_dnnl_memory_desc_t plain, const_dnnl_memory_desc_t packed) const {
  std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_)
    if (entry.weights == weights && lib->api->dnnl_memory_desc_equal(entry.layout.get(), packed))
      return entry.memory.data();
  TK_TRY(const auto reorder, makeReorder(lib, plain, packed));
  Entry entry{
      weights, {nullptr, nullptr}, PackedMemory(static_cast<int64_t>(lib->api->dnnl_memory_desc_get_size(packed)))};
  const ScratchLease scratch(lib->scratch(), reorder->scratchBytes());
  if (!entry.memory.data() || (reorder->scratchBytes() > 0 && !scratch.data()))
    return oneDnnError("packed weights", dnnl_out_of_memory);
  void* const addresses[] = {weights, entry.memory.data()};
  TK_RETURN_IF_ERROR(reorder->run(addresses, scratch.data()));
  dnnl_memory_desc_t copy = nullptr;
  TK_DNN(lib->api->dnnl_memory_desc_clone(&copy, packed), "memory descriptor");
  entry.layout = {copy, lib->api->dnnl_memory_desc_destroy};
  entries_.push_back(std::move(entry));
  return entries_.back().memory.data();
}

}  // namespace tokamak::library
#endif
