#include "passes/fold_batch_norm.h"

#include <cmath>

#include "passes/rewriter.h"
#include "passes/shape_ops.h"

namespace tokamak {

namespace {

/// The `channels` numbers of a parameter known when compiling.
std::optional<std::vector<double>> parameter(const Graph& graph, ValueId v, int64_t channels) {
  if (const auto splat = splatOf(graph, v)) return std::vector<double>(channels, splat->asDouble());
  const auto* constant = std::get_if<Constant>(&graph.node(v).op);
  if (!constant || constant->data->size() != channels) return std::nullopt;
  std::vector<double> values(channels);
  for (int64_t i = 0; i < channels; ++i) values[i] = constant->data->getDouble(i);
  return values;
}

/// y = x * scale + shift, channel by channel.
struct Affine {
  std::vector<double> scale, shift;
};

std::optional<Affine> affineOf(const Graph& graph, const Node& node, const Norm& op, int64_t channels) {
  const size_t statistics = op.affine ? 3 : 1;
  if (op.kind != NormKind::batch || node.operands.size() != statistics + 2) return std::nullopt;
  const auto mean = parameter(graph, node.operands[statistics], channels);
  const auto variance = parameter(graph, node.operands[statistics + 1], channels);
  std::optional<std::vector<double>> weight(std::in_place, channels, 1.0), bias(std::in_place, channels, 0.0);
  if (op.affine) {
    weight = parameter(graph, node.operands[1], channels);
    bias = parameter(graph, node.operands[2], channels);
  }
  if (!mean || !variance || !weight || !bias) return std::nullopt;
  Affine affine{std::vector<double>(channels), std::vector<double>(channels)};
  for (int64_t i = 0; i < channels; ++i) {
    affine.scale[i] = (*weight)[i] / std::sqrt((*variance)[i] + op.eps);
    affine.shift[i] = (*bias)[i] - (*mean)[i] * affine.scale[i];
  }
  return affine;
}

/// Whether the channels of the product, if it is one, are at axis 1 of its result, where the norm's are.
bool hasItsChannels(const Node& producer) {
  if (const auto* conv = std::get_if<Conv>(&producer.op)) return !conv->channelsLast;
  return std::holds_alternative<MatMul>(producer.op) && producer.type.rank() == 2;
}

ValueId fold(Rewriter& rewriter, const Node& node, const Norm& op) {
  const Node producer = rewriter.target().node(node.operands[0]);
  const auto channels = node.type.rank() > 1 ? node.type.shape[1].constant() : std::nullopt;
  if (!hasItsChannels(producer) || isHalf(node.type.dtype) || !channels || *channels == 0) return {};
  auto affine = affineOf(rewriter.target(), node, op, *channels);
  if (!affine) return {};
  if (producer.operands.size() > 2) {
    const auto bias = parameter(rewriter.target(), producer.operands[2], *channels);
    if (!bias) return {};
    for (int64_t i = 0; i < *channels; ++i) affine->shift[i] += (*bias)[i] * affine->scale[i];
  }
  auto channelwise = [&](const std::vector<double>& values) {
    Array data(node.type.dtype, {*channels});
    for (int64_t i = 0; i < *channels; ++i) data.setDouble(i, values[i]);
    const ValueId constant =
        rewriter.append(Constant{std::make_shared<const Array>(std::move(data))}, {}, {node.type.dtype, {*channels}});
    return rewriter.broadcast(constant, {1}, node.type.shape);
  };
  const ValueId scale = channelwise(affine->scale), shift = channelwise(affine->shift);
  const ValueId product = rewriter.append(producer.op, {producer.operands[0], producer.operands[1]}, producer.type);
  return rewriter.binary(BinaryKind::add, rewriter.binary(BinaryKind::mul, product, scale), shift);
}

}  // namespace

Result<Changed> FoldBatchNorm::run(Graph& graph) const {
  const auto users = graph.users();
  std::vector<char> isOutput(graph.size(), 0);
  for (ValueId output : graph.outputs()) isOutput[output.index] = 1;
  Rewriter rewriter(graph);
  for (ValueId v : rewriter.values()) {
    const Node node = rewriter.visit(v);
    ValueId fresh;
    if (const auto* op = std::get_if<Norm>(&node.op)) {
      const ValueId x = graph.node(v).operands[0];
      if (users[x.index].size() == 1 && !isOutput[x.index]) fresh = fold(rewriter, node, *op);
    }
    if (fresh.valid())
      rewriter.replace(v, fresh);
    else
      rewriter.keep(v);
  }
  return rewriter.finish();
}

}  // namespace tokamak
