#include <fmt/format.h>

#include <set>

#include "graph/infer/site.h"

namespace tokamak {

namespace {

/// Letters, digits, _ and ., not digits alone: what the text form can write after % and @.
bool isName(std::string_view name) {
  bool number = true;
  for (char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '_' && c != '.') return false;
    number = number && digit;
  }
  return !number;
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  Result<> run() {
    if (!isName(graph_.name)) return fail({}, fmt::format("'{}' cannot be a graph's name", graph_.name), kNameHint);
    TK_RETURN_IF_ERROR(checkInputs());
    for (size_t i = 0; i < graph_.size(); ++i) {
      const ValueId v(i);
      TK_RETURN_IF_ERROR(at(v, checkName(v)));
      TK_RETURN_IF_ERROR(at(v, checkNode(v)));
      TK_RETURN_IF_ERROR(at(v, checkSymbols(v)));
    }
    if (graph_.outputs().empty()) return fail({}, "the graph returns nothing", "end it with return %value");
    for (ValueId v : graph_.outputs())
      if (!v.valid() || v.index >= graph_.size())
        return fail({}, "an output is not a value of the graph", "return what a node defines");
    return Unit{};
  }

 private:
  static constexpr const char* kNameHint = "use letters, digits, _ and ., not digits alone";

  static Diagnostic fail(Location location, std::string message, std::string hint) {
    return {"T0207", std::move(location), std::move(message), std::move(hint)};
  }

  /// Gives a complaint without a place that of the node.
  Result<> at(ValueId v, Result<> status) const {
    if (status || status.error().location.line > 0) return status;
    Diagnostic error = status.error();
    error.location = graph_.node(v).location;
    return error;
  }

  Result<> checkInputs() {
    for (size_t i = 0; i < graph_.size(); ++i) {
      const bool isInput = std::holds_alternative<Input>(graph_.nodes()[i].op);
      const bool listed = i < graph_.inputs().size() && graph_.inputs()[i] == ValueId(i);
      if (isInput != listed)
        return fail(graph_.nodes()[i].location,
                    fmt::format("{} is not in the place of an input", graph_.label(ValueId(i))),
                    "inputs come first, in the order of the header");
      if (isInput && graph_.nodes()[i].name.empty())
        return fail({}, fmt::format("input {} has no name", i), "name every input");
      if (isInput)
        for (const Dim& extent : graph_.nodes()[i].type.shape) extent.collectSymbols(symbols_);
    }
    if (graph_.inputs().size() > graph_.size()) return fail({}, "an input is not a node of the graph", "use addInput");
    return Unit{};
  }

  Result<> checkName(ValueId v) {
    const std::string& name = graph_.node(v).name;
    if (name.empty()) return Unit{};
    if (!isName(name)) return fail({}, fmt::format("'{}' cannot be a value's name", name), kNameHint);
    if (!names_.insert(name).second)
      return fail({}, fmt::format("two values have the name %{}", name), "give one of them another name");
    return Unit{};
  }

  Result<> checkNode(ValueId v) const {
    const Node& node = graph_.node(v);
    std::vector<TensorType> operands;
    for (ValueId operand : node.operands) {
      if (!operand.valid() || operand.index >= v.index)
        return fail({},
                    fmt::format("{} reads {}, which is not defined above it", graph_.label(v), graph_.label(operand)),
                    "order the nodes so that operands come before their users");
      operands.push_back(graph_.type(operand));
    }
    TK_RETURN_IF_ERROR(infer::checkType(node.type));
    const infer::Site site{node.op, operands, &node.type, [&](size_t i) { return graph_.label(node.operands[i]); }};
    TK_TRY(const TensorType inferred, infer::inferAt(site));
    if (inferred == node.type) return Unit{};
    return site.fail("T0205",
                     fmt::format("{} is declared {} but is {}", graph_.label(v), node.type.str(), inferred.str()),
                     fmt::format("write : {}", inferred.str()));
  }

  /// A run learns the sizes of symbols from its inputs.
  Result<> checkSymbols(ValueId v) const {
    std::set<std::string, std::less<>> used;
    for (const Dim& extent : graph_.type(v).shape) extent.collectSymbols(used);
    std::visit([&](const auto& op) { collect(op, used); }, graph_.node(v).op);
    for (const std::string& symbol : used)
      if (!symbols_.contains(symbol))
        return Diagnostic{"T0212",
                          {},
                          fmt::format("the size {} of {} does not appear in any input", symbol, graph_.label(v)),
                          "sizes come from the shapes of inputs; write a number, or use it in an input's shape"};
    return Unit{};
  }

  static void collect(const Slice& op, std::set<std::string, std::less<>>& used) {
    for (const Dim& d : op.start) d.collectSymbols(used);
  }
  static void collect(const Pad& op, std::set<std::string, std::less<>>& used) {
    for (const Dim& d : op.low) d.collectSymbols(used);
    for (const Dim& d : op.high) d.collectSymbols(used);
  }
  template <class T>
  static void collect(const T&, std::set<std::string, std::less<>>&) {}

  const Graph& graph_;
  std::set<std::string, std::less<>> symbols_, names_;
};

}  // namespace

Result<> verify(const Graph& graph) { return Verifier(graph).run(); }

}  // namespace tokamak
