#include "schedule/gpu/grid.h"

#include <algorithm>
#include <numeric>

namespace tokamak::schedule::gpu {

using kernel::Binding;

Dim reachOf(const Lowering& l) {
  int64_t known = 0;
  std::vector<Dim> unknown;
  const auto cover = [&](const Dim& d) {
    if (const auto n = d.constant())
      known = std::max(known, *n);
    else if (std::find(unknown.begin(), unknown.end(), d) == unknown.end())
      unknown.push_back(d);
  };
  cover(elementCount(l.region.domain));
  for (const Scratch& scratch : l.memory().scratch) cover(scratch.size);
  for (ValueId v : l.region.inputs) cover(l.graph.type(v).elements());
  for (ValueId v : l.region.outputs) cover(l.graph.type(v).elements());
  for (ValueId v : l.region.nodes) {
    const Node& node = l.graph.node(v);
    if (std::holds_alternative<AdaptivePool>(node.op) || std::holds_alternative<Resize>(node.op))
      for (size_t i = 0; i < node.type.rank(); ++i) cover(node.type.shape[i] * l.graph.type(node.operands[0]).shape[i]);
    else
      cover(node.type.elements());
  }
  Dim reach = known;
  for (const Dim& d : unknown) reach = Dim::max(reach, d);
  return reach;
}

/// Whether every element of an operand is read once at most, and neighbours by neighbours.
static bool readsOnce(const Op& op) {
  if (auto* slice = std::get_if<Slice>(&op))
    return std::all_of(slice->stride.begin(), slice->stride.end(), [](int64_t stride) { return stride == 1; });
  return isElementwise(op) || std::holds_alternative<Reduce>(op) || std::holds_alternative<Scan>(op) ||
         std::holds_alternative<Reshape>(op) || std::holds_alternative<Concat>(op) || std::holds_alternative<Pad>(op);
}

constexpr int64_t kStreamedBytes = 24 << 20, kEndlessBytes = 224 << 20;
constexpr int64_t kLittle = 8;  // times more is loaded than stored

/// Inputs of folds that are read once and too large to be found in the second cache by whoever reads them next. What is
/// loaded to stay would push out what others have left there, and that takes its time. Beside large stores,
/// and for tensors so large that all is pushed out anyhow, it makes no difference or the other one (16 Mi rows of two
/// f32: 52.5 to 56 us).
static std::vector<bool> streamedBuffers(const Lowering& l) {
  std::vector<bool> out;
  const auto all = elementCount(l.region.domain).constant();
  if (!all || std::any_of(l.region.outputs.begin(), l.region.outputs.end(), [&](ValueId v) {
        const auto stored = l.graph.type(v).elements().constant();
        return !stored || *stored >= *all / kLittle;
      }))
    return out;
  for (ValueId v : l.region.inputs) {
    const auto elements = l.graph.type(v).elements().constant();
    if (!elements || *elements < *all || !l.hasBuffer(v)) continue;
    const int64_t bytes = *elements * byteWidth(l.graph.type(v).dtype);
    if (bytes < kStreamedBytes || bytes > kEndlessBytes) continue;
    const bool once = std::all_of(l.region.nodes.begin(), l.region.nodes.end(), [&](ValueId node) {
      const Node& n = l.graph.node(node);
      return std::find(n.operands.begin(), n.operands.end(), v) == n.operands.end() || readsOnce(n.op);
    });
    const BufferId buffer = l.bufferOf(v);
    out.resize(std::max<size_t>(out.size(), buffer.index + 1), false);
    out[buffer.index] = once;
  }
  return out;
}

void overGrid(Lowering& l, const Dim& blocks, int threads, const Dim& slack,
              const std::function<void(ExprId b, ExprId t)>& body) {
  l.w.findAligned();
  l.e.streamed = streamedBuffers(l);
  l.w.setReach(reachOf(l) + slack);
  l.e.loop("b", l.w.i64(0), l.w.dim(blocks), 1, Binding::block_x, [&](ExprId b) {
    l.e.loop("t", l.w.i64(0), l.w.i64(threads), 1, Binding::thread_x, [&](ExprId t) { body(b, t); });
  });
}

void storeWhere(Lowering& l, ValueId v, const At& at, ExprId where) {
  const ExprId value = l.e.value(v, at);
  const BufferId buffer = l.bufferOf(v);
  At masked = at;
  if (where) masked.mask = masked.mask ? l.w.both(masked.mask, l.w.splat(where, l.w.lanes(masked.mask))) : where;
  l.e.storeFlat(buffer, l.e.flatten(l.graph.type(v).shape, at), masked, value, l.w.bufferType(buffer));
}

int lanesFor(const Graph& graph, const Region& region) {
  int64_t widest = 1;
  const auto consider = [&](ValueId v) {
    const TensorType& type = graph.type(v);
    if (type.elements() == elementCount(region.domain)) widest = std::max<int64_t>(widest, byteWidth(type.dtype));
  };
  for (ValueId v : region.inputs) consider(v);
  for (ValueId v : region.outputs) consider(v);
  return static_cast<int>(kAccessBytes / widest);
}

int64_t powerIn(const Dim& extent, int64_t most) {
  const auto n = extent.constant();
  return n ? std::gcd(*n, most) : 1;
}

}  // namespace tokamak::schedule::gpu
