#include "schedule/prefetch.h"

#include <algorithm>

#include "fusion/cost.h"

namespace tokamak::schedule {

static bool isStream(const Lowering& l, const Access& access, size_t along) {
  if (!access.value || access.masked || !l.isLeaf[access.value.index] || !access.stride[along].is(1)) return false;
  for (size_t i = 0; i < l.region.domain.size(); ++i)
    if (access.opaque[i] || (access.stride[i].is(0) && !l.region.domain[i].is(1))) return false;
  return true;
}

void fetchAhead(Lowering& l, const AccessMap& accesses, const At& at, size_t along, int64_t bytes, bool near,
                int64_t every) {
  for (const Access& access : accesses.loads) {
    if (!isStream(l, access, along)) continue;
    IndexMath m(l.w, at.lanes);
    Index first = m.constant(access.offset);
    for (size_t i = 0; i < at.index.size(); ++i)
      if (!l.region.domain[i].is(1)) first = m.add(first, m.mul(at.index[i], access.stride[i]));
    const int64_t distance = bytes / byteWidth(l.graph.type(access.value).dtype);
    fetch(l, access.value, l.w.add(first.base, l.w.i64(distance)), at.lanes, near, every);
  }
}

/// The index_selects of whole rows of a region's inputs.
static std::vector<ValueId> rowPicks(const Graph& graph, const Region& region) {
  std::vector<ValueId> out;
  for (ValueId v : region.nodes) {
    const Node& node = graph.node(v);
    const auto* op = std::get_if<IndexSelect>(&node.op);
    if (op && static_cast<size_t>(op->axis) + 1 < graph.type(node.operands[0]).rank() &&
        node.type.shape == region.domain &&
        std::find(region.inputs.begin(), region.inputs.end(), node.operands[0]) != region.inputs.end())
      out.push_back(v);
  }
  return out;
}

void fetchPicked(Lowering& l, const At& ahead) {
  for (ValueId v : rowPicks(l.graph, l.region)) {
    const ValueId table = l.graph.node(v).operands[0];
    const TensorType& type = l.graph.type(table);
    l.e.bind(table, [&](const At& at) {
      const Index first = l.e.flatten(type.shape, at);
      if (!first.lanes) fetch(l, table, first.base, at.lanes);
      return l.w.imm(Scalar::of(int64_t{0}), computeType(type.dtype));
    });
    l.e.scope([&] { l.e.value(v, ahead); });  // which gives no value that anyone is to have
    l.e.unbind(table);
  }
}

int64_t rowsAheadOf(const Graph& graph, const Region& region, double row, const DimBindings& hints,
                    const Device& device) {
  double bytes = 0;  // of a row
  for (ValueId v : rowPicks(graph, region)) {
    const TensorType& table = graph.type(graph.node(v).operands[0]);
    const double width = byteWidth(table.dtype);
    if (likely(elementCount(table.shape), hints) * width > device.cacheBytes) bytes += width * row;
  }
  constexpr double ahead = 16 << 10;
  return bytes > 0 ? std::clamp<int64_t>(static_cast<int64_t>(ahead / bytes), 1, 64) : 0;
}

void fetch(Lowering& l, ValueId value, ExprId first, int lanes, bool near, int64_t every) {
  const int64_t line = 64 / byteWidth(l.graph.type(value).dtype);
  for (int64_t k = 0; k < lanes; k += line * every) l.w.prefetch(l.bufferOf(value), l.w.add(first, l.w.i64(k)), near);
}

}  // namespace tokamak::schedule
