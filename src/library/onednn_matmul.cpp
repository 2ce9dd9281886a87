#ifdef TOKAMAK_HAS_ONEDNN
#include "library/onednn_matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "library/mended_call.h"
#include "library/post_op.h"
#include "library/product_sums.h"

namespace tokamak::library {

namespace {

constexpr int kMostLayouts = 3;  // of one constant b: beyond, extents share the first one's
constexpr int kInlineAddresses = 16;

Diagnostic badDims(const MatMulDims& d) {
  return {"T0702",
          {},
          fmt::format("matmul of batch {}, m {}, n {}, k {}", d.batch, d.m, d.n, d.k),
          "extents are zero or more"};
}

/// [batch, rows, columns] without the batch where it is one.
std::vector<int64_t> shapeOf(const MatMulDims& dims, int64_t batch, int64_t rows, int64_t columns) {
  if (dims.batch == 1) return {rows, columns};
  return {batch, rows, columns};
}

std::vector<int64_t> stridesOf(std::span<const int64_t> shape, bool transposed) {
  std::vector<int64_t> strides = denseStrides(shape);
  if (transposed) {
    const size_t r = shape.size() - 2;
    strides[r] = 1, strides[r + 1] = shape[r];
  }
  return strides;
}

std::vector<int64_t> operandShape(const MatMulDims& d, Broadcast broadcast) {
  switch (broadcast) {
    case Broadcast::none: return shapeOf(d, d.batch, d.m, d.n);
    case Broadcast::row: return shapeOf(d, 1, 1, d.n);
    case Broadcast::column: return shapeOf(d, d.batch, d.m, 1);
    case Broadcast::scalar: return shapeOf(d, 1, 1, 1);
  }
  return {};
}

}  // namespace

OneDnnMatMul::OneDnnMatMul(std::shared_ptr<const OneDnn> lib, MatMulDesc desc)
    : lib_(std::move(lib)),
      desc_(std::move(desc)),
      postOps_(keepNan(desc_.postOps, desc_.mayLoseNan)),
      prepared_(lib_->options.cachedPrimitives) {}

Decision OneDnnMatMul::accepts(const std::shared_ptr<const OneDnn>& lib, const MatMulDesc& desc) {
  for (const DType dtype : {desc.a, desc.b, desc.c})
    if (oneDnnType(dtype) == dnnl_data_type_undef)
      return Decision::no(fmt::format("matmul of {} and {} to {}: oneDNN is used for f32, bf16 and f16", nameOf(desc.a),
                                      nameOf(desc.b), nameOf(desc.c)));
  if (desc.a != desc.b)
    return Decision::no(fmt::format("matmul of {} and {}: dtypes differ", nameOf(desc.a), nameOf(desc.b)));
  if (desc.broadcastA && desc.broadcastB) return Decision::no("matmul repeats both operands over the batch");
  for (const PostOp& op : desc.postOps)
    if (losesNan(op.kind) && !desc.mayLoseNan)
      return Decision::no(fmt::format("oneDNN's {} turns NaN into a number", nameOf(op.kind)));
  if (cannotMend(desc.postOps))
    return Decision::no("oneDNN's gelu_erf of infinity is NaN, and sum keeps it from being mended");
  const OneDnnMatMul probe(lib, desc);
  for (const MatMulDims& dims : {MatMulDims{1, 64, 96, 80}, MatMulDims{2, 64, 96, 80}}) {
    auto made = probe.make(collapsed(desc, dims));
    if (!made) return Decision::no(made.error().message);
    if ((*made)->parts.front()->primitive->isReference()) {
      std::string list;
      for (const PostOp& op : desc.postOps)
        list +=
            fmt::format(" {}{}", nameOf(op.kind), hasOperand(op.kind) ? fmt::format("({})", nameOf(op.broadcast)) : "");
      return Decision::no(fmt::format("oneDNN has only slow reference code for a {} matmul{}{} here", nameOf(desc.a),
                                      list.empty() ? "" : " with post-ops", list));
    }
  }
  return Decision::yes();
}

MatMulDims collapsed(const MatMulDesc& desc, MatMulDims dims) {
  if (dims.batch > 1 && desc.broadcastB && !desc.transposeA && !desc.broadcastA) {
    dims.m *= dims.batch;
    dims.batch = 1;
  }
  return dims;
}

/// Any layout where b is packed, as long as few different ones have been asked for.
Result<MemoryDesc> OneDnnMatMul::weightsDesc(const MatMulDims& dims, std::span<const int64_t> shape,
                                             std::span<const int64_t> strides) const {
  if (!desc_.constantB) return makeMemoryDesc(*lib_, shape, desc_.b, strides);
  std::lock_guard lock(layoutsMutex_);
  const Layout* first = nullptr;
  int count = 0;
  for (const Layout& layout : layouts_) {
    if (layout.n != dims.n || layout.k != dims.k) continue;
    if (!first) first = &layout;
    ++count;
  }
  if (count < kMostLayouts) return makeMemoryDesc(*lib_, shape, desc_.b, {});
  dnnl_memory_desc_t copy = nullptr;
  if (const auto status = lib_->api->dnnl_memory_desc_clone(&copy, first->desc.get()); status != dnnl_success)
    return oneDnnError("memory descriptor", status);
  return MemoryDesc(copy, lib_->api->dnnl_memory_desc_destroy);
}

void OneDnnMatMul::rememberLayout(const MatMulDims& dims, const_dnnl_memory_desc_t desc) const {
  std::lock_guard lock(layoutsMutex_);
  for (const Layout& layout : layouts_)
    if (lib_->api->dnnl_memory_desc_equal(layout.desc.get(), desc)) return;
  dnnl_memory_desc_t copy = nullptr;
  if (lib_->api->dnnl_memory_desc_clone(&copy, desc) != dnnl_success) return;
  layouts_.push_back({dims.n, dims.k, MemoryDesc(copy, lib_->api->dnnl_memory_desc_destroy)});
}

/// Over `k` of the dims.k: parts after the first add to the result, the last one has bias and post-ops.
Result<std::shared_ptr<const OneDnnMatMul::Part>> OneDnnMatMul::makePart(const MatMulDims& d, int64_t k, bool first,
                                                                         bool last) const {
  const auto shapeA = shapeOf(d, desc_.broadcastA ? 1 : d.batch, d.m, d.k);
  const auto shapeB = shapeOf(d, desc_.broadcastB ? 1 : d.batch, d.k, d.n);
  const auto shapeC = shapeOf(d, d.batch, d.m, d.n), shapeBias = shapeOf(d, 1, 1, d.n);
  const auto stridesB = stridesOf(shapeB, desc_.transposeB);
  auto partA = shapeA, partB = shapeB;
  partA.back() = k, partB[partB.size() - 2] = k;
  MatMulDims partDims = d;
  partDims.k = k;
  const bool bias = desc_.bias && last;
  std::vector<PostOp> postOps;
  if (!first) postOps.push_back({PostOpKind::sum});
  if (last) postOps.insert(postOps.end(), postOps_.begin(), postOps_.end());

  TK_TRY(const MemoryDesc a, makeMemoryDesc(*lib_, partA, desc_.a, stridesOf(shapeA, desc_.transposeA)));
  TK_TRY(const MemoryDesc b, weightsDesc(partDims, partB, stridesB));
  TK_TRY(const MemoryDesc c, makeMemoryDesc(*lib_, shapeC, desc_.c, denseStrides(shapeC)));
  TK_TRY(const MemoryDesc biasDesc, makeMemoryDesc(*lib_, shapeBias, desc_.biasType, denseStrides(shapeBias)));
  std::vector<MemoryDesc> operands;
  for (const PostOp& op : postOps) {
    const auto shape = operandShape(d, op.broadcast);
    TK_TRY(operands.emplace_back(nullptr, nullptr), makeMemoryDesc(*lib_, shape, op.dtype, denseStrides(shape)));
  }
  TK_TRY(const auto attributes, makeAttributes(*lib_, postOps, operands));

  dnnl_primitive_desc_t created = nullptr;
  const dnnl_status_t status = lib_->api->dnnl_matmul_primitive_desc_create(
      &created, lib_->engine.get(), a.get(), b.get(), bias ? biasDesc.get() : nullptr, c.get(), attributes.get());
  if (status != dnnl_success) return oneDnnError(fmt::format("{} matmul", nameOf(desc_.a)), status);
  auto part = std::make_shared<Part>();
  part->primitive =
      std::make_unique<Primitive>(lib_, Owned<dnnl_primitive_desc>(created, lib_->api->dnnl_primitive_desc_destroy));
  TK_TRY(part->plainB, makeMemoryDesc(*lib_, partB, desc_.b, stridesB));

  Primitive& primitive = *part->primitive;
  const auto chosen = primitive.argumentDesc(dnnl_query_weights_md);
  part->packed = !lib_->api->dnnl_memory_desc_equal(chosen, part->plainB.get());
  if (part->packed) rememberLayout(partDims, chosen);
  primitive.addArgument(DNNL_ARG_SRC, a.get());
  primitive.addArgument(DNNL_ARG_WEIGHTS, chosen);
  if (bias) primitive.addArgument(DNNL_ARG_BIAS, biasDesc.get());
  for (size_t i = 0; i < postOps.size(); ++i)
    if (hasOperand(postOps[i].kind))
      primitive.addArgument(DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1, operands[i].get());
  primitive.addArgument(DNNL_ARG_DST, c.get());
  return std::shared_ptr<const Part>(std::move(part));
}

Result<std::shared_ptr<const OneDnnMatMul::Prepared>> OneDnnMatMul::make(const MatMulDims& d) const {
  const int64_t length = partLength(desc_, d);
  auto prepared = std::make_shared<Prepared>();
  prepared->length = length;
  for (int64_t begin = 0; begin < d.k; begin += length) {
    const bool last = begin + length >= d.k, likeBefore = begin > length && !last;
    if (!likeBefore) {
      TK_TRY(auto part, makePart(d, std::min(length, d.k - begin), begin == 0, last));
      prepared->scratchBytes = std::max(prepared->scratchBytes, part->primitive->scratchBytes());
      prepared->parts.push_back(std::move(part));
    } else {
      prepared->parts.push_back(prepared->parts.back());
    }
  }
  return std::shared_ptr<const Prepared>(std::move(prepared));
}

Result<std::shared_ptr<const OneDnnMatMul::Prepared>> OneDnnMatMul::find(const MatMulDims& dims) const {
  if (auto found = prepared_.find(dims)) return found;
  TK_TRY(auto made, make(dims));
  prepared_.insert(dims, made);
  return made;
}

Result<> OneDnnMatMul::prepare(const MatMulDims& dims) const {
  if (dims.batch < 0 || dims.m < 0 || dims.n < 0 || dims.k < 0) return badDims(dims);
  if (dims.batch == 0 || dims.m == 0 || dims.n == 0 || dims.k == 0) return Unit{};
  TK_TRY(const auto prepared, find(collapsed(desc_, dims)));
  for (const auto& part : prepared->parts) TK_RETURN_IF_ERROR(part->primitive->build());
  return Unit{};
}

Result<std::string> OneDnnMatMul::implementation(const MatMulDims& dims) const {
  TK_TRY(const auto prepared, find(collapsed(desc_, dims)));
  std::string name = prepared->parts.front()->primitive->implementation();
  if (prepared->parts.size() > 1) name += fmt::format(" in {} parts", prepared->parts.size());
  return name;
}

Result<> OneDnnMatMul::runPart(const Part& part, std::span<void* const> buffers, std::byte* scratch) const {
  std::array<void*, kInlineAddresses> small;
  std::vector<void*> large(buffers.size() > small.size() ? buffers.size() : 0);
  const std::span<void*> addresses(large.empty() ? small.data() : large.data(), buffers.size());
  std::copy(buffers.begin(), buffers.end(), addresses.begin());
  if (part.packed) {
    TK_TRY(addresses[1],
           weights_.get(lib_, buffers[1], part.plainB.get(), part.primitive->argumentDesc(dnnl_query_weights_md)));
  }
  return part.primitive->run(addresses, scratch);
}

Result<> OneDnnMatMul::run(const MatMulDims& dims, std::span<void* const> buffers) const {
  if (dims.batch < 0 || dims.m < 0 || dims.n < 0 || dims.k < 0) return badDims(dims);
  if (dims.batch == 0 || dims.m == 0 || dims.n == 0) return Unit{};
  if (dims.k == 0) {
    const size_t first = desc_.bias ? 3 : 2;
    fillWithoutProduct(resultBlocks(desc_, dims), desc_.bias ? buffers[2] : nullptr, desc_.postOps,
                       buffers.subspan(first, buffers.size() - first - 1), buffers.back());
    return Unit{};
  }
  const MatMulDims d = collapsed(desc_, dims);
  TK_TRY(const auto prepared, find(d));
  const ScratchLease scratch(lib_->scratch(), prepared->scratchBytes);
  if (prepared->scratchBytes > 0 && !scratch.data()) return oneDnnError("matmul scratch", dnnl_out_of_memory);
  if (prepared->parts.size() == 1) return runPart(*prepared->parts.front(), buffers, scratch.data());
  const int64_t stepA = prepared->length * (desc_.transposeA ? d.m : 1) * byteWidth(desc_.a);
  const int64_t stepB = prepared->length * (desc_.transposeB ? 1 : d.n) * byteWidth(desc_.b);
  std::vector<void*> given = {buffers[0], buffers[1], buffers.back()};
  for (const auto& part : prepared->parts) {
    if (part == prepared->parts.back()) given.insert(given.begin() + 2, buffers.begin() + 2, buffers.end() - 1);
    TK_RETURN_IF_ERROR(runPart(*part, given, scratch.data()));
    given[0] = static_cast<std::byte*>(given[0]) + stepA;
    given[1] = static_cast<std::byte*>(given[1]) + stepB;
  }
  return Unit{};
}

}  // namespace tokamak::library
#endif
