#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "graph/interp/evaluate.h"

namespace tokamak {

namespace {

/// `extent` as coefficient * symbol + constant; nullopt if it is not of that form.
struct Linear {
  std::string symbol;
  int64_t coefficient = 0, constant = 0;
};

std::optional<Linear> linearIn(const Dim& extent) {
  Linear out;
  for (const auto& term : extent.terms()) {
    if (term.factors.empty()) {
      out.constant = term.coefficient;
    } else if (out.symbol.empty() && term.factors.size() == 1 && term.factors[0].kind == Dim::AtomKind::symbol) {
      out.symbol = term.factors[0].name;
      out.coefficient = term.coefficient;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

/// An input's extent that is not known to hold yet.
struct Equation {
  ValueId input;
  size_t axis;
  Dim extent;
  int64_t actual;
};

Diagnostic mismatch(const Graph& graph, const Equation& equation, const DimBindings& dims) {
  const TensorType& type = graph.type(equation.input);
  std::string known;
  for (const auto& [name, value] : dims)
    known += fmt::format("{}{} = {}", known.empty() ? " with " : ", ", name, value);
  return {"T0313", graph.node(equation.input).location,
          fmt::format("input {} has extent {} on axis {}, which does not fit {}{}", graph.label(equation.input),
                      equation.actual, equation.axis, type.str(), known),
          fmt::format("pass an array whose axis {} is {}", equation.axis, type.shape[equation.axis].str())};
}

/// Takes what `equation` says about one unknown; false if it has to wait for others.
Result<bool> settle(const Graph& graph, const Equation& equation, DimBindings& dims) {
  std::map<std::string, Dim, std::less<>> known;
  for (const auto& [name, value] : dims) known.emplace(name, Dim(value));
  const Dim extent = equation.extent.substitute(known);
  if (extent.isConst()) {
    TK_TRY(const int64_t expected, equation.extent.eval(dims));
    if (expected != equation.actual) return mismatch(graph, equation, dims);
    return true;
  }
  const auto linear = linearIn(extent);
  if (!linear) return false;
  int64_t rest = 0;
  const bool overflows = __builtin_sub_overflow(equation.actual, linear->constant, &rest);
  if (overflows || equation.actual < 0 || rest % linear->coefficient != 0 || rest / linear->coefficient < 0)
    return mismatch(graph, equation, dims);
  dims.emplace(linear->symbol, rest / linear->coefficient);
  return true;
}

Result<std::vector<Equation>> equationsOf(const Graph& graph, const std::vector<std::vector<int64_t>>& shapes) {
  if (shapes.size() != graph.inputs().size())
    return Diagnostic{
        "T0310",
        {},
        fmt::format("{} inputs given; graph @{} takes {}", shapes.size(), graph.name, graph.inputs().size()),
        "pass one array for each input of the graph's header, in its order"};
  std::vector<Equation> equations;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const ValueId input = graph.inputs()[i];
    const TensorType& type = graph.type(input);
    if (shapes[i].size() != type.rank())
      return Diagnostic{"T0312", graph.node(input).location,
                        fmt::format("input {} has shape [{}]; {} has rank {}", graph.label(input),
                                    fmt::join(shapes[i], ", "), type.str(), type.rank()),
                        fmt::format("pass an array of rank {}", type.rank())};
    for (size_t axis = 0; axis < shapes[i].size(); ++axis)
      equations.push_back({input, axis, type.shape[axis], shapes[i][axis]});
  }
  return equations;
}

/// Every extent of every node has a value that is not negative.
Result<> checkExtents(const Graph& graph, const DimBindings& dims) {
  for (size_t i = 0; i < graph.size(); ++i) {
    const ValueId id(i);
    for (const Dim& extent : graph.type(id).shape) {
      if (auto c = extent.constant(); c && *c >= 0) continue;
      const auto value = extent.eval(dims);
      if (!value || *value < 0)
        return Diagnostic{"T0317", graph.node(id).location,
                          fmt::format("{}: extent {} of {} {}", graph.label(id), extent.str(), graph.type(id).str(),
                                      value ? fmt::format("is {}", *value) : "has no value: " + value.error().message),
                          "give dimensions under which every extent is 0 or more"};
    }
  }
  return Unit{};
}

}  // namespace

Result<DimBindings> bindDims(const Graph& graph, const std::vector<std::vector<int64_t>>& inputShapes,
                             const DimBindings& known) {
  TK_TRY(std::vector<Equation> waiting, equationsOf(graph, inputShapes));
  DimBindings dims = known;
  for (bool progress = true; progress && !waiting.empty();) {
    std::vector<Equation> later;
    for (Equation& equation : waiting) {
      TK_TRY(const bool settled, settle(graph, equation, dims));
      if (!settled) later.push_back(std::move(equation));
    }
    progress = later.size() < waiting.size();
    waiting = std::move(later);
  }
  if (!waiting.empty())
    return Diagnostic{"T0315", graph.node(waiting[0].input).location,
                      fmt::format("the shapes of the inputs do not determine {} of input {}", waiting[0].extent.str(),
                                  graph.label(waiting[0].input)),
                      "let each symbol stand alone as some input's extent"};
  TK_RETURN_IF_ERROR(checkExtents(graph, dims));
  return dims;
}

}  // namespace tokamak
