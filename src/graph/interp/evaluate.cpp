#include "graph/interp/evaluate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <functional>
#include <new>

#include "graph/interp/ops.h"
#include "graph/interp/perturb.h"

namespace tokamak {

namespace interp {

Diagnostic Call::error(std::string code, const std::string& message, std::string hint) const {
  return {std::move(code), graph.node(id).location, graph.label(id) + ": " + message, std::move(hint)};
}

Result<Value> apply(const Input&, const Call& call) {
  failCheck("inputs are not evaluated", __FILE__, __LINE__, call.graph.label(call.id));
}

Result<Value> applyOp(const Call& call) {
  return std::visit([&](const auto& op) { return apply(op, call); }, call.graph.node(call.id).op);
}

namespace {

/// What is done to the exact result of a node before others read it.
using Settle = std::function<void(const Call&, Value&)>;

/// Bytes that tensors may take together: the machine's memory, at most 2^40.
double memoryLimit() {
  const double physical = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  return physical > 0 ? std::min(physical, 0x1p40) : 0x1p40;
}

class Evaluation {
 public:
  Evaluation(const Graph& graph, Settle settle, DimBindings dims)
      : graph_(graph),
        settle_(std::move(settle)),
        dims_(std::move(dims)),
        values_(graph.size()),
        lastUse_(graph.size()) {
    for (size_t i = 0; i < graph.size(); ++i) {
      lastUse_[i] = i;
      for (ValueId operand : graph.nodes()[i].operands) lastUse_[operand.index] = i;
    }
    for (ValueId output : graph.outputs()) lastUse_[output.index] = graph.size();
  }

  void setInput(ValueId id, const Array& array) { values_[id.index] = Value(array); }

  Result<Unit> run() {
    for (size_t i = 0; i < graph_.size(); ++i) {
      const ValueId id(i);
      if (std::holds_alternative<Input>(graph_.node(id).op)) continue;
      TK_RETURN_IF_ERROR(evaluateNode(id));
      for (ValueId operand : graph_.node(id).operands)
        if (lastUse_[operand.index] == i) values_[operand.index] = Value();
      if (lastUse_[i] == i) values_[i] = Value();  // nobody reads it
    }
    return Unit{};
  }

  Array output(ValueId id) const { return values_[id.index].toArray(); }

 private:
  Result<Unit> evaluateNode(ValueId id) {
    const Node& node = graph_.node(id);
    Call call{graph_, id, dims_, {}, {}};
    for (ValueId operand : node.operands) call.operands.push_back(&values_[operand.index]);
    for (const Dim& extent : node.type.shape) {
      TK_TRY(const int64_t value, extent.eval(dims_));
      call.shape.push_back(value);
    }
    TK_RETURN_IF_ERROR(checkMemory(call));
    TK_TRY(Value value, applyOp(call));
    settle_(call, value);
    values_[id.index] = std::move(value);
    return Unit{};
  }

  Result<Unit> checkMemory(const Call& call) const {
    double bytes = 8;
    for (int64_t extent : call.shape) bytes *= static_cast<double>(extent);
    for (const Value& value : values_) bytes += 8.0 * static_cast<double>(value.size());
    if (bytes <= memoryLimit()) return Unit{};
    return call.error("T0317", fmt::format("{} does not fit in memory", graph_.type(call.id).str()),
                      "give smaller dimensions");
  }

  const Graph& graph_;
  Settle settle_;
  DimBindings dims_;
  std::vector<Value> values_;
  std::vector<size_t> lastUse_;
};

Result<> checkDTypes(const Graph& graph, const std::vector<Array>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId id = graph.inputs()[i];
    if (inputs[i].dtype() != graph.type(id).dtype)
      return Diagnostic{"T0311", graph.node(id).location,
                        fmt::format("input {} is {}; the graph takes {}", graph.label(id), nameOf(inputs[i].dtype()),
                                    graph.type(id).str()),
                        fmt::format("convert the array to {}", nameOf(graph.type(id).dtype))};
  }
  return Unit{};
}

void round(EvalPrecision precision, Value& value) {
  if (precision == EvalPrecision::wide || value.dtype == DType::f64) return;
  const DType to = precision == EvalPrecision::compute ? computeType(value.dtype) : value.dtype;
  for (double& element : value.floats) element = roundTo(to, element);
}

Result<std::vector<Array>> evaluateWith(const Graph& graph, const std::vector<Array>& inputs, Settle settle,
                                        const DimBindings& known = {}) {
  std::vector<std::vector<int64_t>> shapes;
  shapes.reserve(inputs.size());
  for (const Array& input : inputs) shapes.push_back(input.shape());
  TK_TRY(DimBindings dims, bindDims(graph, shapes, known));
  TK_RETURN_IF_ERROR(checkDTypes(graph, inputs));
  try {
    Evaluation evaluation(graph, std::move(settle), std::move(dims));
    for (size_t i = 0; i < inputs.size(); ++i) evaluation.setInput(graph.inputs()[i], inputs[i]);
    TK_RETURN_IF_ERROR(evaluation.run());
    std::vector<Array> outputs;
    for (ValueId output : graph.outputs()) outputs.push_back(evaluation.output(output));
    return outputs;
  } catch (const std::bad_alloc&) {
    return Diagnostic{
        "T0317", {}, fmt::format("graph @{} does not fit in memory", graph.name), "give smaller dimensions"};
  }
}

}  // namespace
}  // namespace interp

Result<std::vector<Array>> evaluate(const Graph& graph, const std::vector<Array>& inputs, EvalPrecision precision,
                                    const DimBindings& known) {
  return interp::evaluateWith(
      graph, inputs, [&](const interp::Call&, interp::Value& value) { interp::round(precision, value); }, known);
}

Result<std::vector<Array>> evaluatePerturbed(const Graph& graph, const std::vector<Array>& inputs, uint64_t seed,
                                             const DimBindings& known) {
  interp::Perturbation perturbation(seed);
  const auto settle = [&](const interp::Call& call, interp::Value& value) {
    perturbation.disturb(call, value);
    interp::round(EvalPrecision::compute, value);
  };
  return interp::evaluateWith(graph, inputs, settle, known);
}

}  // namespace tokamak
