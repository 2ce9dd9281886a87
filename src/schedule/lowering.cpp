#include "schedule/lowering.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "fusion/weight.h"

namespace tokamak::schedule {

using kernel::Binding;

int RegionMemory::add(std::string name, DType dtype, Dim size) {
  scratch.push_back({std::move(name), dtype, std::move(size)});
  return static_cast<int>(scratch.size()) - 1;
}

Lowering::Lowering(const Graph& g, const Region& r, std::string name, std::shared_ptr<RegionMemory> memory)
    : graph(g), region(r), w(std::move(name)), e(w, g), memory_(std::move(memory)) {
  isLeaf.assign(g.size(), false);
  auto addBuffer = [&](ValueId v, kernel::Access access) {
    const TensorType& type = g.type(v);
    const auto own = memory_->holds.find(v.index);
    const std::string base = g.node(v).name.empty() ? "t" + std::to_string(v.index) : g.node(v).name;
    const DType dtype = own == memory_->holds.end() ? type.dtype : memory_->scratch[own->second].dtype;
    const BufferId buffer = w.global(base, dtype, type.elements(), access);
    buffers_.push_back(own == memory_->holds.end() ? Held{v} : Held{{}, own->second});
    values_.push_back(v);
    return buffer;
  };
  for (ValueId v : r.inputs) {
    isLeaf[v.index] = true;
    if (auto* constant = opAs<Constant>(g, v); constant && constant->data->size() == 1) continue;  // an immediate
    e.bindBuffer(v, addBuffer(v, kernel::Access::in));
  }
  for (ValueId v : r.outputs)
    outputBuffers.push_back(addBuffer(v, memory_->updates ? kernel::Access::inout : kernel::Access::out));
}

BufferId Lowering::scratch(std::string name, DType dtype, Dim size) {
  return scratch(memory_->add(std::move(name), dtype, std::move(size)), kernel::Access::scratch);
}

BufferId Lowering::scratch(int index, kernel::Access access) {
  buffers_.push_back({{}, index});
  values_.push_back({});
  const Scratch& memory = memory_->scratch[index];
  return w.global(memory.name, memory.dtype, memory.size, access);
}

Scheduled Lowering::finish(std::string scheduler, std::string plan) && {
  Scheduled out{{}, memory_->scratch, std::move(scheduler), std::move(plan)};
  out.launches.push_back({std::move(w).finish(), std::move(buffers_)});
  return out;
}

BufferId Lowering::bufferOf(ValueId v) const {
  for (size_t i = 0; i < values_.size(); ++i)
    if (values_[i] == v) return BufferId(i);
  TK_CHECK(false, "no buffer holds " + graph.label(v));
  return {};
}

bool Lowering::hasBuffer(ValueId v) const { return std::find(values_.begin(), values_.end(), v) != values_.end(); }

void Lowering::store(ValueId v, const At& at, bool streaming) {
  const ExprId value = e.value(v, at);
  for (size_t i = 0; i < region.outputs.size(); ++i)
    if (region.outputs[i] == v)
      e.storeFlat(outputBuffers[i], e.flatten(graph.type(v).shape, at), at, value, w.bufferType(outputBuffers[i]),
                  streaming);
}

static Dim storedBytes(const Graph& graph, const Region& region) {
  Dim stored = 0;
  for (ValueId v : region.outputs) stored = stored + graph.type(v).bytes();
  return stored;
}

Streaming streamingOf(const Graph& graph, const Region& region, const Device& device) {
  const auto known = storedBytes(graph, region).constant();
  if (!known) return Streaming::bySize;
  return static_cast<double>(*known) >= device.streamBytes ? Streaming::yes : Streaming::no;
}

void Lowering::withStreaming(Streaming streaming, double streamBytes, const std::function<void(bool)>& body) {
  if (streaming != Streaming::bySize) return body(streaming == Streaming::yes);
  const ExprId large =
      w.binary(BinaryKind::ge, w.dim(storedBytes(graph, region)), w.i64(static_cast<int64_t>(streamBytes)));
  auto scoped = [&](bool past) { return [&, past] { e.scope([&] { body(past); }); }; };
  w.when(large, scoped(true), scoped(false));
}

std::vector<Index> domainIndex(IndexMath m, size_t rank, const std::vector<LoopAxis>& groups,
                               const std::vector<Index>& index) {
  std::vector<Index> out(rank, m.constant(0));
  for (size_t g = 0; g < groups.size(); ++g) out[groups[g].last] = index[g];
  return out;
}

std::vector<Index> unflatten(IndexMath m, const Index& flat, const std::vector<Dim>& extents) {
  std::vector<Index> out(extents.size(), m.constant(0));
  Index rest = flat;
  for (size_t k = extents.size(); k-- > 1;) {
    out[k] = m.mod(rest, extents[k]);
    rest = m.div(rest, extents[k]);
  }
  if (!extents.empty()) out[0] = rest;
  return out;
}

void overVectors(Emitter& e, const VectorLoop& loop, const Dim& begin, const Dim& end, const VectorBody& body) {
  const auto b = begin.constant(), n = end.constant();
  if (!b || !n || *b != 0) return overVectors(e, loop, e.w.dim(begin), b ? std::abs(*b) : 1, e.w.dim(end), body);
  int narrow = loop.narrow;
  while (narrow > 1 && narrow / 2 >= *n) narrow /= 2;  // a short row needs few lanes
  const int wide = std::max(loop.wide, narrow);
  const int64_t main = *n / wide * wide;
  if (main > 0)
    e.loop(
        "j", e.w.i64(0), e.w.i64(main), wide, loop.binding,
        [&](ExprId j) { body({j, wide > 1, wide, {}}, At{{}, wide, {}, {}}); }, loop.grain);
  for (int64_t c = main; c < *n; c += narrow) {
    At at{{}, narrow, {}, {}};
    const ExprId j = e.w.i64(c);
    if (c + narrow > *n) at.tail = e.w.binary(BinaryKind::lt, e.w.ramp(j, narrow), e.w.i64(*n));
    e.scope([&] { body({j, narrow > 1, narrow, {}}, at); });
  }
}

void overVectors(Emitter& e, const VectorLoop& loop, ExprId begin, int64_t multiple, ExprId end,
                 const VectorBody& body) {
  Writer& w = e.w;
  const auto steps = [&](ExprId from, int step) {  // where whole ones end
    return w.let("whole", w.add(from, w.mul(w.binary(BinaryKind::div, w.sub(end, from), w.i64(step)), w.i64(step))));
  };
  ExprId whole = steps(begin, loop.wide);
  const int64_t known = multiple == 0 ? loop.wide : std::gcd<int64_t>(multiple, loop.wide);
  e.loop(
      "j", begin, whole, loop.wide, loop.binding,
      [&](ExprId j) { body({j, loop.wide > 1, known, {}}, At{{}, loop.wide, {}, {}}); }, loop.grain);
  if (loop.wholeApart && loop.wide > loop.narrow) {
    const ExprId from = std::exchange(whole, steps(whole, loop.narrow));
    e.loop("j", from, whole, loop.narrow, Binding::serial, [&](ExprId j) {
      body({j, loop.narrow > 1, std::gcd<int64_t>(known, loop.narrow), {}}, At{{}, loop.narrow, {}, {}});
    });
  }
  e.loop("j", whole, end, loop.narrow, Binding::serial, [&](ExprId j) {
    At at{{}, loop.narrow, {}, {}};
    at.tail = w.let("tail", w.binary(BinaryKind::lt, w.ramp(j, loop.narrow), end));
    body({j, loop.narrow > 1, std::gcd<int64_t>(known, loop.narrow), {}}, at);
  });
}

int64_t regionWeight(const Graph& graph, const Region& region) {
  int64_t weight = 0;
  for (ValueId v : region.nodes) weight += opWeight(graph.node(v));
  return weight;
}

}  // namespace tokamak::schedule
