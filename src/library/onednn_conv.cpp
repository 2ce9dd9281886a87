#ifdef TOKAMAK_HAS_ONEDNN
#include "library/onednn_conv.h"

#include <fmt/format.h>

#include <algorithm>

#include "library/mended_call.h"
#include "library/post_op.h"

namespace tokamak::library {

namespace {

constexpr int64_t kLargeWeights = 1 << 20;  // bytes from which on a second copy costs less than oneDNN's padding

std::vector<int64_t> spatialShape(int64_t first, int64_t second, std::span<const int64_t> spatial) {
  std::vector<int64_t> shape = {first, second};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return shape;
}

std::vector<int64_t> resultShape(const ConvDesc& desc, const ConvDims& dims) {
  std::vector<int64_t> shape = {dims.batch, dims.outChannels};
  for (int axis = 0; axis < desc.spatialRank; ++axis) shape.push_back(convExtent(desc, dims, axis));
  return shape;
}

/// Strides of [N, C, spatial...] as the caller lays it out.
std::vector<int64_t> imageStrides(const ConvDesc& desc, const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides = denseStrides(shape);
  if (!desc.channelsLast) return strides;
  strides[1] = 1;
  int64_t step = shape[1];
  for (size_t axis = shape.size(); axis-- > 2;) strides[axis] = step, step *= shape[axis];
  strides[0] = step;
  return strides;
}

bool sums(const ConvDesc& desc) {
  return std::ranges::any_of(desc.postOps, [](const PostOp& op) { return op.kind == PostOpKind::sum; });
}

/// Whether it is code for convolutions of its own, as fast as the machine can.
bool isDirect(const Primitive& primitive) {
  const std::string name = primitive.implementation();
  return name.find("ref") == std::string::npos && name.find("gemm") == std::string::npos;
}

/// Extents on which `accepts` tries a convolution.
ConvDims sampleDims(const ConvDesc& desc) {
  ConvDims dims{1, 32 * desc.groups, 32 * desc.groups, {}, {}};
  for (int axis = 0; axis < desc.spatialRank; ++axis)
    dims.input[axis] = 4 * desc.dilation[axis] + 15, dims.kernel[axis] = 3;
  return dims;
}

}  // namespace

OneDnnConv::OneDnnConv(std::shared_ptr<const OneDnn> lib, ConvDesc desc, int64_t parts)
    : lib_(std::move(lib)),
      desc_(std::move(desc)),
      parts_(parts),
      postOps_(keepNan(desc_.postOps, desc_.mayLoseNan)),
      prepared_(lib_->options.cachedPrimitives) {}

Decision OneDnnConv::accepts(const std::shared_ptr<const OneDnn>& lib, const ConvDesc& desc) {
  if (oneDnnType(desc.dtype) == dnnl_data_type_undef)
    return Decision::no(fmt::format("conv of {}: oneDNN is used for f32, bf16 and f16", nameOf(desc.dtype)));
  if (desc.spatialRank < 1 || desc.spatialRank > 3)
    return Decision::no(fmt::format("conv over {} axes", desc.spatialRank));
  for (int axis = 0; axis < desc.spatialRank; ++axis)
    if (desc.low[axis] < 0 || desc.high[axis] < 0 || desc.stride[axis] < 1 || desc.dilation[axis] < 1)
      return Decision::no("conv has negative padding, or a stride or dilation below one");
  for (const PostOp& op : desc.postOps)
    if (hasOperand(op.kind) && op.broadcast == Broadcast::column)
      return Decision::no(fmt::format("conv with post-op {} broadcast by column", nameOf(op.kind)));
  for (const PostOp& op : desc.postOps)
    if (losesNan(op.kind) && !desc.mayLoseNan)
      return Decision::no(fmt::format("oneDNN's {} turns NaN into a number", nameOf(op.kind)));
  if (cannotMend(desc.postOps))
    return Decision::no("oneDNN's gelu_erf of infinity is NaN, and sum keeps it from being mended");
  const OneDnnConv probe(lib, desc);
  auto made = probe.find(sampleDims(desc));
  if (!made) return Decision::no(made.error().message);
  if ((*made)->primitive->isReference())
    return Decision::no(fmt::format("oneDNN has only slow reference code for this {} conv here", nameOf(desc.dtype)));
  return Decision::yes();
}

Result<> OneDnnConv::check(const ConvDims& dims) const {
  bool good = dims.batch >= 0 && dims.channels >= 0 && dims.outChannels >= 0 && desc_.groups > 0 &&
              dims.channels % desc_.groups == 0 && dims.outChannels % desc_.groups == 0;
  for (int axis = 0; axis < desc_.spatialRank; ++axis)
    good = good && dims.input[axis] >= 0 && dims.kernel[axis] >= 1 && convExtent(desc_, dims, axis) >= 0;
  if (good) return Unit{};
  return Diagnostic{"T0702",
                    {},
                    fmt::format("conv of batch {}, channels {} to {} in {} groups, input [{}], kernel [{}]", dims.batch,
                                dims.channels, dims.outChannels, desc_.groups,
                                fmt::join(dims.input.begin(), dims.input.begin() + desc_.spatialRank, ", "),
                                fmt::join(dims.kernel.begin(), dims.kernel.begin() + desc_.spatialRank, ", ")),
                    "the kernel must fit into the padded input, and channels must divide by groups"};
}

bool OneDnnConv::knownEmpty(const ConvDims& dims) const {
  return std::ranges::any_of(resultShape(desc_, dims), [](int64_t extent) { return extent == 0; });
}

/// Arguments in the order of the call's buffers, as the caller lays them out.
Result<std::vector<OneDnnConv::Argument>> OneDnnConv::describe(const ConvDims& d) const {
  std::vector<Argument> arguments;
  auto add = [&](int arg, std::vector<int64_t> shape, DType dtype, bool image = false) -> Result<> {
    Argument& argument = arguments.emplace_back();
    argument.arg = arg;
    std::vector<int64_t> strides = image ? imageStrides(desc_, shape) : denseStrides(shape);
    if (arg == DNNL_ARG_WEIGHTS && parts_ > 1) strides[0] *= parts_;
    TK_TRY(argument.plain, makeMemoryDesc(*lib_, shape, dtype, strides));
    argument.shape = std::move(shape);
    return Unit{};
  };
  const std::span<const int64_t> input(d.input.data(), desc_.spatialRank), kernel(d.kernel.data(), desc_.spatialRank);
  TK_RETURN_IF_ERROR(add(DNNL_ARG_SRC, spatialShape(d.batch, d.channels, input), desc_.dtype, true));
  std::vector<int64_t> weights = spatialShape(d.outChannels / desc_.groups, d.channels / desc_.groups, kernel);
  if (desc_.groups > 1) weights.insert(weights.begin(), desc_.groups);
  TK_RETURN_IF_ERROR(add(DNNL_ARG_WEIGHTS, weights, desc_.dtype));
  if (desc_.bias) TK_RETURN_IF_ERROR(add(DNNL_ARG_BIAS, {d.outChannels}, desc_.biasType));
  for (size_t i = 0; i < postOps_.size(); ++i) {
    const PostOp& op = postOps_[i];
    if (!hasOperand(op.kind)) continue;
    std::vector<int64_t> shape = resultShape(desc_, d);
    if (op.broadcast != Broadcast::none) {
      std::fill(shape.begin(), shape.end(), 1);
      if (op.broadcast == Broadcast::row) shape[1] = d.outChannels;
    }
    TK_RETURN_IF_ERROR(add(DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1, shape, op.dtype,
                           op.broadcast == Broadcast::none));
  }
  TK_RETURN_IF_ERROR(add(DNNL_ARG_DST, resultShape(desc_, d), desc_.dtype, true));
  return arguments;
}

/// Plans the first half of the way of large weights into blocks of channels that are padded: a copy with the output
/// channels innermost. oneDNN takes twice as long to do both at once.
Result<MemoryDesc> OneDnnConv::turnWeights(Argument& weights) const {
  const size_t channels = desc_.groups > 1 ? 1 : 0;
  std::vector<size_t> order{channels, channels + 1};  // of axes, innermost first
  for (size_t axis = weights.shape.size(); axis-- > channels + 2;) order.push_back(axis);
  if (desc_.groups > 1) order.push_back(0);
  std::vector<int64_t> strides(weights.shape.size());
  int64_t stride = 1;
  for (size_t axis : order) strides[axis] = stride, stride *= weights.shape[axis];
  TK_TRY(MemoryDesc turned, makeMemoryDesc(*lib_, weights.shape, desc_.dtype, strides));
  TK_TRY(weights.turn, makeReorder(lib_, weights.plain.get(), turned.get()));
  return turned;
}

/// Compares what the primitive chose with what the caller has, and plans the reorders between them.
Result<> OneDnnConv::reorder(Prepared& prepared) const {
  const OneDnnApi& api = *lib_->api;
  int64_t scratch = prepared.primitive->scratchBytes(), copies = 0;
  for (Argument& argument : prepared.arguments) {
    const auto chosen = prepared.primitive->argumentDesc(dnnl_query_exec_arg_md, argument.arg);
    prepared.primitive->addArgument(argument.arg, chosen);
    if (api.dnnl_memory_desc_equal(chosen, argument.plain.get())) continue;
    argument.packed = argument.arg == DNNL_ARG_WEIGHTS && desc_.constantWeights;
    if (argument.packed) continue;
    const bool result = argument.arg == DNNL_ARG_DST;
    const auto bytes = static_cast<int64_t>(api.dnnl_memory_desc_get_size(chosen));
    const auto plainBytes = static_cast<int64_t>(api.dnnl_memory_desc_get_size(argument.plain.get()));
    if (argument.arg == DNNL_ARG_WEIGHTS && bytes > plainBytes && plainBytes >= kLargeWeights && parts_ == 1) {
      TK_TRY(const MemoryDesc turned, turnWeights(argument));
      TK_TRY(argument.in, makeReorder(lib_, turned.get(), chosen));
      argument.turnedOffset = copies;
      copies += alignUp(plainBytes);
    } else if (!result || sums(desc_)) {
      TK_TRY(argument.in, makeReorder(lib_, argument.plain.get(), chosen));
    }
    if (result) { TK_TRY(argument.out, makeReorder(lib_, chosen, argument.plain.get())); }
    for (const auto* r : {argument.turn.get(), argument.in.get(), argument.out.get()})
      if (r) scratch = std::max(scratch, r->scratchBytes());
    argument.offset = copies;
    copies += alignUp(bytes);
  }
  scratch = alignUp(scratch);
  for (Argument& argument : prepared.arguments) argument.offset += scratch, argument.turnedOffset += scratch;
  prepared.scratchBytes = scratch + copies;
  return Unit{};
}

/// [N, C, spatial...] as the caller lays it out, as oneDNN wants it, or in blocks of sixteen channels.
Result<MemoryDesc> OneDnnConv::imageDesc(std::span<const int64_t> shape, DType dtype, Layouts layouts) const {
  if (layouts == Layouts::free) return makeMemoryDesc(*lib_, shape, dtype, {});
  if (layouts == Layouts::plain)
    return makeMemoryDesc(*lib_, shape, dtype, imageStrides(desc_, {shape.begin(), shape.end()}));
  constexpr dnnl_format_tag_t tags[] = {dnnl_aBc16b, dnnl_aBcd16b, dnnl_aBcde16b};
  dnnl_memory_desc_t desc = nullptr;
  const dnnl_status_t status = lib_->api->dnnl_memory_desc_create_with_tag(
      &desc, static_cast<int>(shape.size()), shape.data(), oneDnnType(dtype), tags[desc_.spatialRank - 1]);
  if (status != dnnl_success) return oneDnnError("memory descriptor", status);
  return MemoryDesc(desc, lib_->api->dnnl_memory_desc_destroy);
}

Result<std::shared_ptr<const OneDnnConv::Prepared>> OneDnnConv::make(const ConvDims& d, Layouts layouts) const {
  auto prepared = std::make_shared<Prepared>();
  TK_TRY(prepared->arguments, describe(d));
  const auto shapeC = resultShape(desc_, d);
  const std::span<const int64_t> input(d.input.data(), desc_.spatialRank), kernel(d.kernel.data(), desc_.spatialRank);
  std::vector<int64_t> shapeW = spatialShape(d.outChannels / desc_.groups, d.channels / desc_.groups, kernel);
  if (desc_.groups > 1) shapeW.insert(shapeW.begin(), desc_.groups);
  TK_TRY(const MemoryDesc a, imageDesc(spatialShape(d.batch, d.channels, input), desc_.dtype, layouts));
  TK_TRY(const MemoryDesc w, makeMemoryDesc(*lib_, shapeW, desc_.dtype, {}));
  TK_TRY(const MemoryDesc c, imageDesc(shapeC, desc_.dtype, layouts));
  const int64_t channels[] = {d.outChannels}, one[] = {1};
  TK_TRY(const MemoryDesc bias, makeMemoryDesc(*lib_, channels, desc_.biasType, one));

  std::vector<MemoryDesc> operands;
  size_t next = desc_.bias ? 3 : 2;
  for (const PostOp& op : postOps_) {
    dnnl_memory_desc_t copy = nullptr;
    if (hasOperand(op.kind)) {
      const Argument& argument = prepared->arguments[next++];
      if (layouts != Layouts::plain && op.broadcast == Broadcast::none) {
        TK_TRY(operands.emplace_back(nullptr, nullptr), imageDesc(shapeC, op.dtype, layouts));
        continue;
      }
      lib_->api->dnnl_memory_desc_clone(&copy, argument.plain.get());
    }
    operands.emplace_back(copy, lib_->api->dnnl_memory_desc_destroy);
  }
  TK_TRY(const auto attributes, makeAttributes(*lib_, postOps_, operands));

  std::array<int64_t, 3> holes{};
  for (int axis = 0; axis < 3; ++axis) holes[axis] = desc_.dilation[axis] - 1;
  dnnl_primitive_desc_t created = nullptr;
  const dnnl_status_t status = lib_->api->dnnl_convolution_forward_primitive_desc_create(
      &created, lib_->engine.get(), dnnl_forward_inference, dnnl_convolution_direct, a.get(), w.get(),
      desc_.bias ? bias.get() : nullptr, c.get(), desc_.stride.data(), holes.data(), desc_.low.data(),
      desc_.high.data(), attributes.get());
  if (status != dnnl_success) return oneDnnError(fmt::format("{} conv", nameOf(desc_.dtype)), status);
  prepared->primitive =
      std::make_unique<Primitive>(lib_, Owned<dnnl_primitive_desc>(created, lib_->api->dnnl_primitive_desc_destroy));
  TK_RETURN_IF_ERROR(reorder(*prepared));
  return std::shared_ptr<const Prepared>(std::move(prepared));
}

/// As `planSums` would have it, or nothing where oneDNN has no direct code for that.
std::shared_ptr<const OneDnnConv::Prepared> OneDnnConv::makeShort(const ConvDims& dims) const {
  const ConvSums sums = parts_ > 1 ? ConvSums{} : planSums(desc_, dims);
  if (sums.blocks) {
    const auto made = make(dims, Layouts::blocks);
    return made && isDirect(*(*made)->primitive) ? *made : nullptr;
  }
  if (sums.parts == 1) return nullptr;
  auto prepared = std::make_shared<Prepared>();
  prepared->parts = findParts(sums.parts);
  for (const auto& part : *prepared->parts) {
    const auto made = part->make(partOf(desc_, dims, sums.parts), Layouts::plain);
    if (!made || !isDirect(*(*made)->primitive)) return nullptr;
  }
  return prepared;
}

std::shared_ptr<const OneDnnConv::Parts> OneDnnConv::findParts(int64_t count) const {
  std::lock_guard lock(partsMutex_);
  std::shared_ptr<const Parts>& found = allParts_[count];
  if (found) return found;
  Parts parts;
  for (int64_t i = 0; i < count; ++i)
    parts.push_back(std::make_unique<const OneDnnConv>(lib_, partOf(desc_, i, count), count));
  return found = std::make_shared<const Parts>(std::move(parts));
}

/// The caller's layout where oneDNN has direct code for it, else its own with reorders around it.
Result<std::shared_ptr<const OneDnnConv::Prepared>> OneDnnConv::find(const ConvDims& dims) const {
  if (auto found = prepared_.find(dims)) return found;
  if (auto made = makeShort(dims)) {
    prepared_.insert(dims, made);
    return made;
  }
  auto made = make(dims, Layouts::plain);
  if (!made || !isDirect(*(*made)->primitive)) {
    auto other = make(dims, Layouts::free);
    if (other && (!made || !(*other)->primitive->isReference())) made = std::move(other);
  }
  if (made) prepared_.insert(dims, *made);
  return made;
}

Result<> OneDnnConv::prepare(const ConvDims& dims) const {
  TK_RETURN_IF_ERROR(check(dims));
  if (knownEmpty(dims) || dims.channels == 0) return Unit{};
  TK_TRY(const auto prepared, find(dims));
  if (prepared->parts) {
    for (const auto& part : *prepared->parts)
      TK_RETURN_IF_ERROR(part->prepare(partOf(desc_, dims, std::ssize(*prepared->parts))));
    return Unit{};
  }
  for (const Argument& argument : prepared->arguments)
    for (const Primitive* reorder : {argument.turn.get(), argument.in.get(), argument.out.get()})
      if (reorder) TK_RETURN_IF_ERROR(reorder->build());
  return prepared->primitive->build();
}

Result<std::string> OneDnnConv::implementation(const ConvDims& dims) const {
  TK_TRY(const auto prepared, find(dims));
  if (const auto& parts = prepared->parts) {
    TK_TRY(const std::string part, parts->back()->implementation(partOf(desc_, dims, std::ssize(*parts))));
    return fmt::format("{} in {} parts", part, parts->size());
  }
  std::string name = prepared->primitive->implementation();
  for (const Argument& argument : prepared->arguments)
    if (argument.in || argument.out)
      name += fmt::format(" +reorder {}{}", argument.arg, argument.turn ? " in two steps" : "");
  return name;
}

Result<> OneDnnConv::runParts(const Parts& parts, const ConvDims& dims, std::span<void* const> buffers) const {
  const ConvDims part = partOf(desc_, dims, std::ssize(parts));
  int64_t bytes = part.channels * static_cast<int64_t>(sizeof(float));  // between the weights of two parts
  for (int axis = 0; axis < desc_.spatialRank; ++axis) bytes *= dims.kernel[axis];
  auto *image = static_cast<std::byte*>(buffers[0]), *weights = static_cast<std::byte*>(buffers[1]);
  for (const auto& call : parts) {
    std::vector<void*> given{buffers.begin(), buffers.end()};
    if (call != parts.back()) given = {nullptr, nullptr, buffers.back()};
    given[0] = image, given[1] = weights;
    image += part.channels * static_cast<int64_t>(sizeof(float)), weights += bytes;
    TK_RETURN_IF_ERROR(call->run(part, given));
  }
  return Unit{};
}

Result<> OneDnnConv::run(const ConvDims& dims, std::span<void* const> buffers) const {
  TK_RETURN_IF_ERROR(check(dims));
  if (knownEmpty(dims)) return Unit{};
  if (dims.channels == 0 || std::ranges::any_of(dims.input, [](int64_t e) { return e == 0; })) {
    const size_t first = desc_.bias ? 3 : 2;
    fillWithoutProduct(resultBlocks(desc_, dims), desc_.bias ? buffers[2] : nullptr, desc_.postOps,
                       buffers.subspan(first, buffers.size() - first - 1), buffers.back());
    return Unit{};
  }
  TK_TRY(const auto prepared, find(dims));
  if (prepared->parts) return runParts(*prepared->parts, dims, buffers);
  const Primitive& primitive = *prepared->primitive;
  const ScratchLease scratch(lib_->scratch(), prepared->scratchBytes);
  if (prepared->scratchBytes > 0 && !scratch.data()) return oneDnnError("conv scratch", dnnl_out_of_memory);
  std::vector<void*> addresses(buffers.begin(), buffers.end());
  for (size_t i = 0; i < addresses.size(); ++i) {
    const Argument& argument = prepared->arguments[i];
    if (argument.packed) {
      TK_TRY(addresses[i], weights_.get(lib_, buffers[i], argument.plain.get(),
                                        primitive.argumentDesc(dnnl_query_exec_arg_md, argument.arg)));
    } else if (argument.in || argument.out) {
      addresses[i] = scratch.data() + argument.offset;
    }
    void* const turned = scratch.data() + argument.turnedOffset;
    if (argument.turn) {
      void* const first[] = {buffers[i], turned};
      TK_RETURN_IF_ERROR(argument.turn->run(first, scratch.data()));
    }
    void* const pair[] = {argument.turn ? turned : buffers[i], addresses[i]};
    if (argument.in) TK_RETURN_IF_ERROR(argument.in->run(pair, scratch.data()));
  }
  TK_RETURN_IF_ERROR(primitive.run(addresses, scratch.data()));
  void* const pair[] = {addresses.back(), buffers.back()};
  if (const auto& out = prepared->arguments.back().out) TK_RETURN_IF_ERROR(out->run(pair, scratch.data()));
  return Unit{};
}

}  // namespace tokamak::library
#endif
