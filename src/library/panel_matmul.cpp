#ifdef TOKAMAK_HAS_ONEDNN
#include "library/panel_matmul.h"

#include <fmt/format.h>

#include <algorithm>

#include "library/post_op.h"
#include "library/product_sums.h"

namespace tokamak::library {

namespace {

constexpr float kOne = 1;

std::vector<int64_t> operandShape(const MatMulDims& d, Broadcast broadcast) {
  const bool rows = broadcast == Broadcast::none || broadcast == Broadcast::column;
  const bool columns = broadcast == Broadcast::none || broadcast == Broadcast::row;
  return {rows ? d.batch * d.m : 1, columns ? d.n : 1};
}

}  // namespace

PanelMatMul::PanelMatMul(std::shared_ptr<const OneDnn> lib, std::shared_ptr<const MatMulCall> whole)
    : lib_(std::move(lib)),
      whole_(std::move(whole)),
      tileOps_(desc().postOps),
      prepared_(lib_->options.cachedPrimitives) {
  const std::span<const PostOp> rest = std::span(desc().postOps).subspan(tileOps_.count);
  postOps_ = keepNan({rest.begin(), rest.end()}, desc().mayLoseNan);
  timesOne_ = !postOps_.empty() && !hasOperand(postOps_.front().kind);
  if (timesOne_) postOps_.insert(postOps_.begin(), PostOp{.kind = PostOpKind::mul, .broadcast = Broadcast::scalar});
}

bool PanelMatMul::accepts(const MatMulDesc& desc) {
  const auto isSum = [](const PostOp& op) { return op.kind == PostOpKind::sum; };
  return hasPanelProduct() && desc.a == DType::f32 && desc.b == DType::f32 && desc.c == DType::f32 &&
         (!desc.bias || desc.biasType == DType::f32) && std::ranges::none_of(desc.postOps, isSum);
}

bool PanelMatMul::appliesAll(const MatMulDesc& desc) {
  return accepts(desc) && TileOps(desc.postOps).count == desc.postOps.size();
}

Result<std::shared_ptr<const PanelMatMul::Prepared>> PanelMatMul::make(const MatMulDims& d) const {
  auto prepared = std::make_shared<Prepared>();
  // oneDNN's code for batches is as fast, but where sums are cut its own are longer than eager's.
  const bool cutsBatch = sumLength(d.k) < d.k && !desc().constantB;
  prepared->byPanels = d.m > 0 && d.n > 0 && d.k > 0 && (d.batch == 1 || cutsBatch);
  if (!prepared->byPanels || postOps_.empty()) return std::shared_ptr<const Prepared>(std::move(prepared));
  const int64_t shape[] = {d.batch * d.m, d.n};
  TK_TRY(const MemoryDesc result, makeMemoryDesc(*lib_, shape, DType::f32, denseStrides(shape)));
  std::vector<MemoryDesc> operands;
  for (const PostOp& op : postOps_) {
    const auto operand = operandShape(d, op.broadcast);
    TK_TRY(operands.emplace_back(nullptr, nullptr), makeMemoryDesc(*lib_, operand, op.dtype, denseStrides(operand)));
  }
  TK_TRY(prepared->postOps, makeBinary(lib_, postOps_.front(), std::span(postOps_).subspan(1), result.get(), operands));
  if (prepared->postOps->isReference()) prepared->byPanels = false;
  return std::shared_ptr<const Prepared>(std::move(prepared));
}

Result<std::shared_ptr<const PanelMatMul::Prepared>> PanelMatMul::find(const MatMulDims& dims) const {
  if (auto found = prepared_.find(dims)) return found;
  TK_TRY(auto made, make(dims));
  prepared_.insert(dims, made);
  return made;
}

Result<> PanelMatMul::prepare(const MatMulDims& dims) const {
  const MatMulDims d = collapsed(desc(), dims);
  TK_TRY(const auto prepared, find(d));
  if (!prepared->byPanels) return whole_->prepare(dims);
  return prepared->postOps ? prepared->postOps->build() : Unit{};
}

Result<std::string> PanelMatMul::implementation(const MatMulDims& dims) const {
  const MatMulDims d = collapsed(desc(), dims);
  TK_TRY(const auto prepared, find(d));
  if (!prepared->byPanels) return whole_->implementation(dims);
  const std::string name = panelName(d.k);
  return prepared->postOps ? name + ", " + prepared->postOps->implementation() : name;
}

Result<> PanelMatMul::runPostOps(const Primitive& primitive, std::span<void* const> operands, void* result) const {
  std::vector<void*> addresses = {result};
  if (timesOne_) addresses.push_back(const_cast<float*>(&kOne));
  addresses.insert(addresses.end(), operands.begin(), operands.end());
  addresses.push_back(result);
  const ScratchLease scratch(lib_->scratch(), primitive.scratchBytes());
  if (primitive.scratchBytes() > 0 && !scratch.data()) return oneDnnError("scratch of post-ops", dnnl_out_of_memory);
  return primitive.run(addresses, scratch.data());
}

Result<> PanelMatMul::run(const MatMulDims& dims, std::span<void* const> buffers) const {
  const MatMulDims d = collapsed(desc(), dims);
  TK_TRY(const auto prepared, find(d));
  if (!prepared->byPanels) return whole_->run(dims, buffers);
  std::span<void* const> operands = buffers.subspan(desc().bias ? 3 : 2);
  PanelProduct product{.batch = d.batch,
                       .m = d.m,
                       .n = d.n,
                       .k = d.k,
                       .a = static_cast<const float*>(buffers[0]),
                       .b = static_cast<const float*>(buffers[1]),
                       .bias = desc().bias ? static_cast<const float*>(buffers[2]) : nullptr,
                       .c = static_cast<float*>(buffers.back()),
                       .strideA = desc().transposeA ? d.m : d.k,
                       .strideB = desc().transposeB ? d.k : d.n,
                       .stepA = desc().broadcastA ? 0 : d.m * d.k,
                       .stepB = desc().broadcastB ? 0 : d.n * d.k,
                       .transposeA = desc().transposeA,
                       .transposeB = desc().transposeB,
                       .length = panelLength(d.k)};
  tileOps_.addTo(product, operands);
  const KernelHost& host = panelHost(*lib_);
  const ScratchLease scratch(lib_->scratch(), PackedPanels::scratchBytes(product, desc().constantB));
  TK_RETURN_IF_ERROR(packed_.giveTo(product, desc().constantB, scratch.data(), host));
  runPanelProduct(product, host);
  if (!prepared->postOps) return Unit{};
  operands = operands.subspan(tileOps_.operands);
  return runPostOps(*prepared->postOps, operands.first(operands.size() - 1), buffers.back());
}

}  // namespace tokamak::library
#endif
