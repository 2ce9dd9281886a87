#include "driver/three_ways.h"

#include <cstring>

#include "kernel/simt/run.h"

namespace tokamak {

Result<std::vector<Array>> runCompiled(const Graph& graph, const std::vector<Array>& inputs, const Engine& engine,
                                       const CompileOptions& options) {
  TK_TRY(Compiled compiled, compile(graph, engine, options));
  std::vector<runtime::TensorRef> refs;
  for (const Array& a : inputs)
    refs.push_back(
        {const_cast<void*>(a.data()), a.dtype(), static_cast<int>(a.shape().size()), a.shape().data(), nullptr});
  TK_TRY(std::vector<runtime::Tensor> outputs, compiled.executable->run(refs));
  std::vector<Array> out;
  for (const auto& t : outputs) {
    out.emplace_back(t.dtype(), t.shape());
    if (out.back().bytes() > 0) std::memcpy(out.back().data(), t.data(), out.back().bytes());
  }
  return out;
}

static Result<std::vector<int64_t>> shapeOf(const Graph& graph, ValueId v, const DimBindings& dims) {
  std::vector<int64_t> shape;
  for (const Dim& d : graph.type(v).shape) {
    TK_TRY(int64_t n, d.eval(dims));
    shape.push_back(n);
  }
  return shape;
}

/// Runs the launches of a region on values held flat or in shape; results come back in shape.
static Result<> runRegion(const schedule::Scheduled& scheduled, const Graph& graph, const DimBindings& dims,
                          std::vector<Array>& values) {
  std::vector<Array> scratch;
  for (const schedule::Scratch& s : scheduled.scratch) {
    TK_TRY(int64_t n, s.size.eval(dims));
    scratch.emplace_back(s.dtype, std::vector<int64_t>{n});
    if (n > 0) std::memset(scratch.back().data(), 0xff, scratch.back().bytes());  // what a reader would notice
  }
  for (const schedule::Launch& launch : scheduled.launches) {
    std::vector<Array> buffers;
    for (size_t b = 0; b < launch.buffers.size(); ++b) {
      const auto& [v, own] = launch.buffers[b];
      const kernel::Buffer& buffer = launch.kernel.buffers[b];
      if (v && buffer.access == kernel::Access::out) {
        TK_TRY(int64_t n, buffer.size.eval(dims));
        buffers.emplace_back(buffer.dtype, std::vector<int64_t>{n});
      } else {
        buffers.push_back(v ? values[v.index] : scratch[static_cast<size_t>(own)]);
      }
    }
    TK_RETURN_IF_ERROR(kernel::runSimt(launch.kernel, buffers, dims));
    for (size_t b = 0; b < buffers.size(); ++b) {
      const auto& [v, own] = launch.buffers[b];
      if (launch.kernel.buffers[b].access == kernel::Access::in) continue;
      if (!v) {
        scratch[static_cast<size_t>(own)] = std::move(buffers[b]);
        continue;
      }
      TK_TRY(auto shape, shapeOf(graph, v, dims));
      values[v.index] = Array(graph.type(v).dtype, shape);
      if (buffers[b].bytes() > 0) std::memcpy(values[v.index].data(), buffers[b].data(), buffers[b].bytes());
    }
  }
  return Unit{};
}

Result<std::vector<Array>> runSimtGraph(const Graph& graph, const std::vector<Array>& inputs, const Engine& engine,
                                        const CompileOptions& given) {
  CompileOptions options = given;
  options.library = false;
  TK_TRY(Lowered lowered, lower(graph, engine, options));
  std::vector<std::vector<int64_t>> shapes;
  for (const Array& a : inputs) shapes.push_back(a.shape());
  TK_TRY(DimBindings dims, bindDims(graph, shapes));
  const Graph& g = lowered.graph;
  std::vector<Array> values(g.size());
  for (size_t i = 0; i < g.inputs().size(); ++i) values[g.inputs()[i].index] = inputs[i];
  for (size_t i = 0; i < g.size(); ++i)
    if (auto* c = opAs<Constant>(g, ValueId(i))) values[i] = *c->data;
  for (size_t r = 0; r < lowered.plan.regions.size(); ++r) {
    TK_RETURN_IF_ERROR(runRegion(*lowered.kernels[r], g, dims, values));
  }
  std::vector<Array> out;
  for (ValueId v : g.outputs()) {
    ValueId home = v;
    while (lowered.plan.aliasOf[home.index]) home = lowered.plan.aliasOf[home.index];
    TK_TRY(auto shape, shapeOf(g, v, dims));
    out.emplace_back(g.type(v).dtype, shape);
    if (out.back().bytes() > 0) std::memcpy(out.back().data(), values[home.index].data(), out.back().bytes());
  }
  return out;
}

}  // namespace tokamak
