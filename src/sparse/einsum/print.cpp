#include <fmt/format.h>
#include <fmt/ranges.h>

#include <climits>
#include <cmath>

#include "sparse/einsum/program.h"

namespace tokamak::sparse {

namespace {

/// How tightly an operator binds, from comparisons up to names and calls.
enum Strength : int { kComparison = 1, kSum, kProduct, kNegation, kPower, kName };

std::string_view operatorText(Fn fn) {
  switch (fn) {
    case Fn::add: return " + ";
    case Fn::sub: return " - ";
    case Fn::mul: return " * ";
    case Fn::div: return " / ";
    case Fn::pow: return "^";
    case Fn::eq: return " == ";
    case Fn::ne: return " != ";
    case Fn::lt: return " < ";
    case Fn::le: return " <= ";
    case Fn::gt: return " > ";
    case Fn::ge: return " >= ";
    default: return {};
  }
}

Strength strengthOf(Fn fn) {
  switch (fn) {
    case Fn::add:
    case Fn::sub: return kSum;
    case Fn::mul:
    case Fn::div: return kProduct;
    case Fn::pow: return kPower;
    default: return kComparison;
  }
}

class Printer {
 public:
  /// Below `depth` operations inside each other the rest is `...`.
  explicit Printer(const Program& program, int depth = INT_MAX) : program_(program), depth_(depth) {}

  std::string expression(ExprId id, int least) const {
    const Expr& e = program_.expr(id);
    if (!e.args.empty() && depth_ == 0) return "...";
    --depth_;
    std::string out = inside(e, least);
    ++depth_;
    return out;
  }

  std::string inside(const Expr& e, int least) const {
    switch (e.kind) {
      case ExprKind::constant: return number(e.value, least);
      case ExprKind::extent: return program_.dim(e.dim).name;
      case ExprKind::access: return access(e);
      case ExprKind::apply: return applied(e, least);
      case ExprKind::where: return fmt::format("where({}, {})", expression(e.args[0], 0), expression(e.args[1], 0));
      case ExprKind::reduce: return reduced(e);
    }
    return {};
  }

  std::string names(const std::vector<VarId>& vars) const {
    std::vector<std::string_view> out;
    for (const VarId v : vars) out.push_back(program_.var(v).name);
    return fmt::format("{}", fmt::join(out, ", "));
  }

 private:
  static std::string number(double value, int least) {
    std::string text = std::isinf(value) ? (value > 0 ? "inf" : "-inf") : fmt::format("{}", value);
    return text[0] == '-' && least > kNegation ? "(" + text + ")" : text;
  }

  std::string access(const Expr& e) const {
    const std::string& name = program_.tensor(e.tensor).name;
    return e.vars.empty() ? name : fmt::format("{}[{}]", name, names(e.vars));
  }

  std::string applied(const Expr& e, int least) const {
    const std::string_view text = operatorText(e.fn);
    const bool negation = e.fn == Fn::neg && program_.expr(e.args[0]).kind != ExprKind::constant;
    if (text.empty() && !negation) {
      std::vector<std::string> args;
      for (const ExprId arg : e.args) args.push_back(expression(arg, 0));
      return fmt::format("{}({})", nameOf(e.fn), fmt::join(args, ", "));
    }
    const int own = negation ? kNegation : strengthOf(e.fn);
    std::string out;
    if (negation)
      out = "-" + expression(e.args[0], kPower);
    else if (e.fn == Fn::pow)
      out = expression(e.args[0], kName) + "^" + expression(e.args[1], kName);
    else
      out = expression(e.args[0], own == kComparison ? kSum : own) + std::string(text) + expression(e.args[1], own + 1);
    return own < least ? "(" + out + ")" : out;
  }

  std::string reduced(const Expr& e) const {
    std::string in;
    for (size_t i = 1; i < e.args.size(); ++i) in += (i == 1 ? " in " : ", ") + expression(e.args[i], 0);
    return fmt::format("{}({}{}: {})", nameOf(e.fold), names(e.vars), in, expression(e.args[0], 0));
  }

  const Program& program_;
  mutable int depth_;
};

std::string declaration(const Program& program, const TensorDecl& decl) {
  static constexpr std::string_view kRoles[] = {"input", "output", "temp"};
  std::string out = fmt::format("{} {}", kRoles[static_cast<int>(decl.role)], decl.name);
  std::vector<std::string_view> dims;
  for (const DimId d : decl.dims) dims.push_back(program.dim(d).name);
  if (!dims.empty()) out += fmt::format("[{}]", fmt::join(dims, ", "));
  std::vector<std::string> type;
  if (decl.dtype != DType::f32) type.emplace_back(nameOf(decl.dtype));
  if (decl.format) type.push_back(decl.format->str());
  return type.empty() ? out + "\n" : fmt::format("{}: {}\n", out, fmt::join(type, " "));
}

bool isNumber(const Dim& dim) { return dim.name == std::to_string(dim.size); }

}  // namespace

std::string print(const Program& program, ExprId expr) { return Printer(program).expression(expr, 0); }
std::string printBriefly(const Program& program, ExprId expr) { return Printer(program, 4).expression(expr, 0); }

std::string printStatements(const Program& program) {
  // An expression of many shared parts is far longer as text than as a graph.
  std::vector<double> lengths;
  for (size_t e = 0; e < program.exprCount(); ++e) {
    lengths.push_back(1);
    for (const ExprId arg : program.expr(ExprId(e)).args) lengths[e] += lengths[arg.index];
  }
  std::string out;
  for (const Statement& s : program.statements()) {
    const Printer printer(program, lengths[s.value.index] > 2000 ? 4 : INT_MAX);
    out += program.tensor(s.tensor).name;
    if (!s.vars.empty()) out += fmt::format("[{}]", printer.names(s.vars));
    out += fmt::format(" = {}\n", printer.expression(s.value, 0));
  }
  return out;
}

std::string print(const Program& program) {
  std::vector<std::string> dims;
  for (const Dim& dim : program.dims())
    if (!isNumber(dim)) dims.push_back(dim.size < 0 ? dim.name : fmt::format("{} = {}", dim.name, dim.size));
  std::string out = dims.empty() ? "" : fmt::format("dim {}\n", fmt::join(dims, ", "));
  for (const TensorDecl& decl : program.tensors())
    if (decl.declared) out += declaration(program, decl);
  out += "\n";
  const Printer printer(program);
  for (const Statement& statement : program.statements()) {
    out += program.tensor(statement.tensor).name;
    if (!statement.vars.empty()) out += fmt::format("[{}]", printer.names(statement.vars));
    out += fmt::format(" = {}\n", printer.expression(statement.value, 0));
  }
  return out;
}

}  // namespace tokamak::sparse
