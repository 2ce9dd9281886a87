#include "driver/library_step.h"

#include "runtime/alone.h"

namespace tokamak {

namespace {

using library::PostOp;
using library::PostOpKind;

/// Multiplications below which a product is over before another thread has begun: some ten microseconds of one.
constexpr double kWorthThreads = 1 << 19;

bool isSmall(const library::MatMulDims& d) {
  return static_cast<double>(d.batch) * static_cast<double>(d.m) * static_cast<double>(d.n) * static_cast<double>(d.k) <
         kWorthThreads;
}

class MatMulStep : public runtime::Call {
 public:
  explicit MatMulStep(std::shared_ptr<const library::MatMulCall> call) : call_(std::move(call)) {}
  Result<> run(const runtime::CallArguments& a) const override {
    const library::MatMulDims dims{a.dims[0], a.dims[1], a.dims[2], a.dims[3]};
    const runtime::CallerAlone alone(isSmall(dims));
    return call_->run(dims, a.buffers);
  }

 private:
  std::shared_ptr<const library::MatMulCall> call_;
};

class ConvStep : public runtime::Call {
 public:
  explicit ConvStep(std::shared_ptr<const library::ConvCall> call) : call_(std::move(call)) {}
  Result<> run(const runtime::CallArguments& a) const override {
    library::ConvDims dims{.batch = a.dims[0], .channels = a.dims[1], .outChannels = a.dims[2]};
    for (int s = 0; s < call_->desc().spatialRank; ++s) {
      dims.input[s] = a.dims[3 + 2 * s];
      dims.kernel[s] = a.dims[4 + 2 * s];
    }
    return call_->run(dims, a.buffers);
  }

 private:
  std::shared_ptr<const library::ConvCall> call_;
};

PostOpKind activationKind(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::gelu: return PostOpKind::gelu_erf;
    case ActivationKind::gelu_tanh: return PostOpKind::gelu_tanh;
    case ActivationKind::silu: return PostOpKind::swish;
    default: return PostOpKind::relu;
  }
}

std::vector<PostOp> postOpsOf(const Graph& graph, const std::vector<EpilogueStep>& epilogue,
                              std::vector<ValueId>& operands) {
  std::vector<PostOp> out;
  for (const EpilogueStep& step : epilogue) {
    PostOp post;
    if (step.kind == EpilogueStep::Kind::activation) {
      post.kind = activationKind(step.activation.kind);
      post.alpha = step.activation.kind == ActivationKind::relu ? 0.f : 1.f;
    } else {
      post.kind = step.binary == BinaryKind::add   ? PostOpKind::add
                  : step.binary == BinaryKind::mul ? PostOpKind::mul
                                                   : PostOpKind::sub;
      post.broadcast = step.across == EpilogueStep::Across::rows ? library::Broadcast::row : library::Broadcast::none;
      post.dtype = graph.type(step.operand).dtype;
      operands.push_back(step.operand);
    }
    out.push_back(post);
  }
  return out;
}

bool isConstant(const Graph& graph, ValueId v) {
  while (std::holds_alternative<Reshape>(graph.node(v).op)) v = graph.node(v).operands[0];
  return std::holds_alternative<Constant>(graph.node(v).op);
}

Result<LibraryStep> matmulStep(const Graph& graph, const Region& region, const library::Library& library) {
  MatMulRegion product = describeMatMul(graph, region.contraction, region.epilogue);
  LibraryStep step;
  step.operands = std::move(product.operands);
  step.dims.assign(product.dims.begin(), product.dims.end());
  TK_TRY(auto call, library.matmul(product.desc));
  const auto [batch, m, n, k] = product.dims;
  if (auto cb = batch.constant(), cm = m.constant(), cn = n.constant(), ck = k.constant(); cb && cm && cn && ck) {
    const library::MatMulDims dims{*cb, *cm, *cn, *ck};
    const runtime::CallerAlone alone(isSmall(dims));  // the library plans for the threads it sees
    TK_RETURN_IF_ERROR(call->prepare(dims));
  }
  step.call = std::make_shared<MatMulStep>(std::move(call));
  return step;
}

Result<LibraryStep> convStep(const Graph& graph, const Region& region, const library::Library& library) {
  ConvRegion conv = describeConv(graph, region.contraction, region.epilogue);
  TK_TRY(auto call, library.conv(conv.desc));
  return LibraryStep{std::make_shared<ConvStep>(std::move(call)), std::move(conv.operands), std::move(conv.dims)};
}

}  // namespace

MatMulRegion describeMatMul(const Graph& graph, ValueId product, const std::vector<EpilogueStep>& epilogue) {
  const Node& node = graph.node(product);
  const auto& op = std::get<MatMul>(node.op);
  const Shape &a = graph.type(node.operands[0]).shape, &b = graph.type(node.operands[1]).shape;
  MatMulRegion out;
  out.operands = node.operands;
  library::MatMulDesc& desc = out.desc;
  desc.a = graph.type(node.operands[0]).dtype, desc.b = graph.type(node.operands[1]).dtype;
  desc.c = node.type.dtype;
  desc.transposeA = op.transposeA;
  desc.transposeB = op.transposeB;
  desc.bias = node.operands.size() > 2;
  if (desc.bias) desc.biasType = graph.type(node.operands[2]).dtype;
  desc.constantB = isConstant(graph, node.operands[1]);
  desc.postOps = postOpsOf(graph, epilogue, out.operands);
  Dim batch = 1, m = a[a.size() - (op.transposeA ? 1 : 2)];
  const Dim k = a[a.size() - (op.transposeA ? 2 : 1)], n = b[b.size() - (op.transposeB ? 2 : 1)];
  for (size_t i = 0; i + 2 < a.size(); ++i) batch = batch * a[i];
  if (b.size() == 2 && a.size() > 2) {
    if (op.transposeA)
      desc.broadcastB = true;
    else
      m = batch * m, batch = 1;  // one matrix for all: the batch is more rows
  }
  out.dims = {batch, m, n, k};
  return out;
}

ConvRegion describeConv(const Graph& graph, ValueId product, const std::vector<EpilogueStep>& epilogue) {
  const Node& node = graph.node(product);
  const auto& op = std::get<Conv>(node.op);
  const Shape &x = graph.type(node.operands[0]).shape, &w = graph.type(node.operands[1]).shape;
  ConvRegion out;
  out.operands = node.operands;
  library::ConvDesc& desc = out.desc;
  desc.spatialRank = static_cast<int>(op.stride.size());
  desc.dtype = node.type.dtype;
  for (int s = 0; s < desc.spatialRank; ++s) {
    desc.stride[s] = op.stride[s];
    desc.low[s] = op.low[s];
    desc.high[s] = op.high[s];
    desc.dilation[s] = op.dilation[s];
  }
  desc.groups = op.groups;
  desc.bias = node.operands.size() > 2;
  if (desc.bias) desc.biasType = graph.type(node.operands[2]).dtype;
  desc.constantWeights = isConstant(graph, node.operands[1]);
  desc.postOps = postOpsOf(graph, epilogue, out.operands);
  desc.channelsLast = op.channelsLast;
  out.dims = {x[0], x[op.channelAxis(x.size())], w[0]};
  for (int s = 0; s < desc.spatialRank; ++s) out.dims.push_back(x[op.spatialAxis() + s]), out.dims.push_back(w[2 + s]);
  return out;
}

Result<LibraryStep> makeLibraryStep(const Graph& graph, const Region& region, const library::Library& library) {
  if (std::holds_alternative<Conv>(graph.node(region.contraction).op)) return convStep(graph, region, library);
  return matmulStep(graph, region, library);
}

}  // namespace tokamak
