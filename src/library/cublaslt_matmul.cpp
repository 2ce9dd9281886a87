#include "library/cublaslt_matmul.h"

#include <fmt/format.h>

#include <bit>

namespace tokamak::library {

namespace {

constexpr size_t kKeptPlans = 256;

lt::DataType typeOf(DType t) {
  switch (t) {
    case DType::f64: return lt::kDouble;
    case DType::f16: return lt::kHalf;
    case DType::bf16: return lt::kBfloat;
    default: return lt::kFloat;
  }
}

uint32_t epilogueOf(const MatMulDesc& desc) {
  bool bias = desc.bias;
  uint32_t activation = 0;
  for (const PostOp& post : desc.postOps) {
    bias = bias || (post.kind == PostOpKind::add && post.broadcast == Broadcast::row);
    if (post.kind == PostOpKind::relu) activation = lt::kRelu;
    if (post.kind == PostOpKind::gelu_tanh) activation = lt::kGelu;
  }
  const uint32_t bits = (bias ? lt::kBias : 0u) | activation;
  return bits ? bits : lt::kNoEpilogue;
}

constexpr uint32_t kMostAligned = 256;  // beyond which nothing gains

/// The largest power of two, at most kMostAligned, that divides every address.
uint32_t alignmentOf(std::initializer_list<const void*> addresses) {
  uint64_t all = kMostAligned;
  for (const void* address : addresses) all |= reinterpret_cast<uint64_t>(address);
  return 1u << std::countr_zero(all);
}

}  // namespace

Diagnostic cublasLtError(std::string_view what, lt::Status status) {
  static constexpr std::pair<lt::Status, const char*> names[] = {
      {1, "NOT_INITIALIZED"}, {3, "ALLOC_FAILED"},      {7, "INVALID_VALUE"},   {8, "ARCH_MISMATCH"},
      {11, "MAPPING_ERROR"},  {13, "EXECUTION_FAILED"}, {14, "INTERNAL_ERROR"}, {15, "NOT_SUPPORTED"}};
  std::string name = fmt::format("status {}", status);
  for (auto [value, text] : names)
    if (value == status) name = fmt::format("CUBLAS_STATUS_{}", text);
  return {"T0704", {}, fmt::format("cuBLASLt: {}: {}", what, name), "compile without the library tier"};
}

/// All that is the same for every call with these extents and alignments.
struct CublasLtMatMul::Plan {
  explicit Plan(std::shared_ptr<const lt::Api> api) : api(std::move(api)) {}
  ~Plan() {
    if (desc) api->cublasLtMatmulDescDestroy(desc);
    for (lt::Layout layout : {first, second, result})
      if (layout) api->cublasLtMatrixLayoutDestroy(layout);
    if (preference) api->cublasLtMatmulPreferenceDestroy(preference);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  std::shared_ptr<const lt::Api> api;
  lt::MatmulDesc desc = nullptr;
  lt::Layout first = nullptr, second = nullptr, result = nullptr;
  lt::Preference preference = nullptr;
  lt::HeuristicResult chosen{};
  std::mutex mutex;  // the bias's address is part of the description
};

CublasLtMatMul::CublasLtMatMul(std::shared_ptr<const CublasLtHandle> handle, MatMulDesc desc)
    : handle_(std::move(handle)), desc_(std::move(desc)), epilogue_(epilogueOf(desc_)) {}
CublasLtMatMul::~CublasLtMatMul() = default;

CublasLtMatMul::Operands CublasLtMatMul::operandsOf(std::span<void* const> buffers) const {
  Operands out;
  size_t at = 0;
  out.a = buffers[at++], out.b = buffers[at++];
  if (desc_.bias) out.bias = buffers[at++];
  for (const PostOp& post : desc_.postOps)
    if (hasOperand(post.kind)) (post.broadcast == Broadcast::row ? out.bias : out.residual) = buffers[at++];
  out.result = buffers[at];
  return out;
}

Result<std::shared_ptr<CublasLtMatMul::Plan>> CublasLtMatMul::makePlan(const MatMulDims& dims, uint32_t alignment,
                                                                       int64_t workspace) const {
  const lt::Api& api = *handle_->api;
  auto plan = std::make_shared<Plan>(handle_->api);
  const auto [batch, m, n, k] = dims;
  const std::string doing =
      fmt::format("a product of {}x{}x{}x{} (batch, m, n, k) in {}", batch, m, n, k, nameOf(desc_.c));
  const bool isDouble = desc_.c == DType::f64;
  lt::Status status = api.cublasLtMatmulDescCreate(&plan->desc, isDouble ? lt::kComputeDouble : lt::kComputeFloat,
                                                   isDouble ? lt::kDouble : lt::kFloat);
  const auto set = [&](lt::DescAttribute which, const auto& value) {
    if (status == 0)
      status = api.cublasLtMatmulDescSetAttribute(plan->desc, which, static_cast<const void*>(&value), sizeof value);
  };
  const auto layout = [&](lt::Layout& to, DType type, uint64_t rows, uint64_t columns, int64_t stride) {
    if (status == 0)
      status = api.cublasLtMatrixLayoutCreate(&to, typeOf(type), rows, columns, static_cast<int64_t>(rows));
    const auto count = static_cast<int32_t>(batch);
    if (status == 0 && batch > 1)
      status = api.cublasLtMatrixLayoutSetAttribute(to, lt::kBatchCount, &count, sizeof count);
    if (status == 0 && batch > 1)
      status = api.cublasLtMatrixLayoutSetAttribute(to, lt::kBatchStride, &stride, sizeof stride);
  };
  set(lt::kTransposeA, desc_.transposeB ? lt::kTransposed : lt::kPlain);
  set(lt::kTransposeB, desc_.transposeA ? lt::kTransposed : lt::kPlain);
  set(lt::kEpilogue, epilogue_);
  layout(plan->first, desc_.b, desc_.transposeB ? k : n, desc_.transposeB ? n : k, desc_.broadcastB ? 0 : n * k);
  layout(plan->second, desc_.a, desc_.transposeA ? m : k, desc_.transposeA ? k : m, desc_.broadcastA ? 0 : m * k);
  layout(plan->result, desc_.c, n, m, m * n);
  if (status == 0) status = api.cublasLtMatmulPreferenceCreate(&plan->preference);
  const auto prefer = [&](lt::PreferenceAttribute which, const auto& value) {
    if (status == 0)
      status = api.cublasLtMatmulPreferenceSetAttribute(plan->preference, which, static_cast<const void*>(&value),
                                                        sizeof value);
  };
  prefer(lt::kMaxWorkspace, static_cast<uint64_t>(workspace));
  for (auto which : {lt::kAlignmentA, lt::kAlignmentB, lt::kAlignmentC, lt::kAlignmentD}) prefer(which, alignment);
  if (status != 0) return cublasLtError(doing, status);
  int found = 0;
  status = api.cublasLtMatmulAlgoGetHeuristic(handle_->handle, plan->desc, plan->first, plan->second, plan->result,
                                              plan->result, plan->preference, 1, &plan->chosen, &found);
  if (status != 0 || found == 0 || plan->chosen.state != 0)
    return cublasLtError("no algorithm for " + doing, status ? status : 15);
  return plan;
}

Result<std::shared_ptr<CublasLtMatMul::Plan>> CublasLtMatMul::planFor(const MatMulDims& dims, uint32_t alignment,
                                                                      int64_t workspace) const {
  const Key key{dims.batch, dims.m, dims.n, dims.k, alignment, workspace};
  const std::lock_guard lock(mutex_);
  if (const auto known = plans_.find(key); known != plans_.end()) return known->second;
  TK_TRY(auto plan, makePlan(dims, alignment, workspace));
  if (plans_.size() >= kKeptPlans) plans_.clear();
  plans_.emplace(key, plan);
  return plan;
}

Result<int64_t> CublasLtMatMul::workspaceBytes(const MatMulDims& dims) const {
  if (dims.batch == 0 || dims.m == 0 || dims.n == 0) return 0;
  TK_TRY(const auto plan,
         planFor({dims.batch, dims.m, dims.n, std::max<int64_t>(1, dims.k)}, kMostAligned, kDeviceWorkspaceBytes));
  return static_cast<int64_t>(plan->chosen.workspaceBytes);
}

Result<> CublasLtMatMul::run(const MatMulDims& dims, std::span<void* const> buffers, std::span<std::byte> workspace,
                             void* stream) const {
  if (dims.batch == 0 || dims.m == 0 || dims.n == 0) return Unit{};
  if (dims.k == 0)
    return Diagnostic{"T0704", {}, "cuBLASLt: a product over no elements", "give the folded axis elements"};
  const Operands o = operandsOf(buffers);
  TK_TRY(const auto plan, planFor(dims, alignmentOf({o.a, o.b, o.bias, o.residual, o.result}), std::ssize(workspace)));
  const lt::Api& api = *handle_->api;
  const double one = 1, zero = 0;
  const float oneF = 1, zeroF = 0;
  const bool isDouble = desc_.c == DType::f64;
  const void* alpha = isDouble ? static_cast<const void*>(&one) : &oneF;
  const void* none = isDouble ? static_cast<const void*>(&zero) : &zeroF;
  const std::lock_guard lock(plan->mutex);
  lt::Status status = 0;
  if (epilogue_ & lt::kBias)
    status = api.cublasLtMatmulDescSetAttribute(plan->desc, lt::kBiasPointer, static_cast<const void*>(&o.bias),
                                                sizeof o.bias);
  if (status == 0)
    status = api.cublasLtMatmul(handle_->handle, plan->desc, alpha, o.b, plan->first, o.a, plan->second,
                                o.residual ? alpha : none, o.residual ? o.residual : o.result, plan->result, o.result,
                                plan->result, &plan->chosen.algorithm, workspace.data(), workspace.size(), stream);
  if (status == 0) return Unit{};
  return cublasLtError(fmt::format("a product of {}x{}x{}x{} (batch, m, n, k)", dims.batch, dims.m, dims.n, dims.k),
                       status);
}

}  // namespace tokamak::library
