#include <fmt/format.h>

#include <algorithm>

#include "sparse/table/loops.h"

namespace tokamak::sparse {

namespace {

Bundle number(double value) { return {{}, {}, value}; }
Bundle stream(Port port) { return {{}, port, {}}; }

}  // namespace

/// Where the access stands in `scope`: its positions at the last of its levels that is bound, repeated from there.
Walk TableBuilder::walkAt(ExprId access, const Scope& scope) {
  if (const auto known = scope.walks.find(access); known != scope.walks.end()) return known->second;
  if (!scope.parent) {
    emit_.at(0, columnOf(access));
    emit_.rule("the walk of a tensor begins at its root");
    return {emit_.root(tensorOf(access)), false, 0};
  }
  const Walk outside = walkAt(access, *scope.parent);
  place(scope.var, access, fmt::format("it has no level at {}: repeated", program_.var(scope.var).name));
  return {emit_.repeat(outside.ref, scope.crd), outside.absent, outside.levels};
}

/// A fold's result was joined at an outer loop as a stream; inside a further loop it would have to start anew there.
Diagnostic TableBuilder::playedAgain(ExprId id, VarId var) const {
  return {"T0971",
          {},
          fmt::format("a computed operand of several levels would have to be repeated along {}: {}",
                      program_.var(var).name, printBriefly(program_, id)),
          "choose an order with its folded variables inside, or do not fuse it"};
}

/// Computed in the outermost loops that bind its variables, and repeated from there.
Result<Bundle> TableBuilder::valueAt(ExprId id, const Scope& scope) {
  if (const auto known = values_.find({id, &scope}); known != values_.end()) return known->second;
  Bundle out;
  if (scope.parent && hasAllBound(id, *scope.parent)) {
    TK_TRY(out, valueAt(id, *scope.parent));
    if (!out.number) {
      place(scope.var, id, fmt::format("its value does not depend on {}: repeated", program_.var(scope.var).name));
      out.val = emit_.repeat(out.val, scope.crd);
    }
  } else {
    TK_TRY(out, computeAt(id, scope));
  }
  values_[{id, &scope}] = out;
  return out;
}

Result<Bundle> TableBuilder::computeAt(ExprId id, const Scope& scope) {
  const Expr& e = program_.expr(id);
  switch (e.kind) {
    case ExprKind::constant:
    case ExprKind::extent: return number(e.value);
    case ExprKind::access: {
      const Walk walk = walkAt(id, scope);
      if (walk.levels != formatOf(id).levels.size()) return playedAgain(id, scope.var);
      placeValue(id, "values are read at the access's last level");
      return stream(emit_.value(tensorOf(id), walk.ref));
    }
    case ExprKind::where: {
      TK_TRY(Bundle body, valueAt(e.args[1], scope));
      const Walk walk = walkAt(e.args[0], scope);
      if (walk.levels != formatOf(e.args[0]).levels.size()) return playedAgain(id, scope.var);
      if (!walk.absent) return body;
      placeValue(e.args[0], "not all that is visited is stored there: its entries select");
      const Port stored = emit_.value(onesOf(tensorOf(e.args[0])), walk.ref);
      if (body.number) return stream(emit_.applyScalar(Fn::mul, stored, *body.number, false));
      return stream(emit_.selectScalar(stored, body.val, 0));
    }
    case ExprKind::reduce: {
      if (const auto known = scope.results.find(id); known != scope.results.end()) return known->second;
      return fold(id, scope);
    }
    case ExprKind::apply: return applied(id, scope);
  }
  return number(0);
}

Result<Bundle> TableBuilder::applied(ExprId id, const Scope& scope) {
  const Expr& e = program_.expr(id);
  std::vector<Bundle> args;
  for (const ExprId arg : e.args) {
    TK_TRY(Bundle value, valueAt(arg, scope));
    args.push_back(std::move(value));
  }
  const auto numbers = static_cast<size_t>(
      std::count_if(args.begin(), args.end(), [](const Bundle& b) { return b.number.has_value(); }));
  if (numbers == args.size()) {
    std::vector<double> operands;
    for (const Bundle& arg : args) operands.push_back(*arg.number);
    return number(evalFn(e.fn, operands));
  }
  placeValue(id, fmt::format("{} of values that stand side by side", nameOf(e.fn)));
  if (e.fn == Fn::select) return selected(args, scope);
  if (numbers == 0) {
    std::vector<Port> ports;
    for (const Bundle& arg : args) ports.push_back(arg.val);
    return stream(emit_.apply(e.fn, ports));
  }
  const bool first = args[0].number.has_value();
  return stream(emit_.applyScalar(e.fn, args[first ? 1 : 0].val, *args[first ? 0 : 1].number, first));
}

Result<Bundle> TableBuilder::selected(const std::vector<Bundle>& args, const Scope& scope) {
  if (args[0].number) return *args[0].number != 0 ? args[1] : args[2];
  if (args[2].number && !args[1].number) {
    return stream(emit_.selectScalar(args[0].val, args[1].val, *args[2].number));
  }
  return stream(emit_.apply(Fn::select, {args[0].val, streamOf(args[1], scope), streamOf(args[2], scope)}));
}

Port TableBuilder::streamOf(const Bundle& value, const Scope& scope) {
  return value.number ? numberStream(*value.number, scope) : value.val;
}

/// The number once for each element of the scope: from the marks of a pattern among `roots` where one is walked, else
/// from a range along the coordinates that are visited.
Port TableBuilder::numberStream(double number, const Scope& scope, const std::vector<ExprId>& roots) {
  Port one;
  for (size_t i = 1; i < roots.size() && !one.cell; ++i) {
    const Walk walk = walkAt(roots[i], scope);
    if (walk.absent || walk.levels != formatOf(roots[i]).levels.size()) continue;
    placeValue(roots[i], "a number for each stored entry");
    one = emit_.value(onesOf(tensorOf(roots[i])), walk.ref);
  }
  if (!one.cell) {
    emit_.at(scope.parent ? rank(scope.var) : 0, statementColumn_);
    emit_.rule("a number as a stream, along the coordinates that are visited");
    const std::string range = rangeOf(scope.parent ? program_.var(scope.var).dim : DimId{});
    Port ref = emit_.root(range);
    std::vector<const Scope*> chain;
    for (const Scope* s = &scope; s->parent; s = s->parent) chain.push_back(s);
    for (size_t i = chain.size(); i-- > 0;) ref = emit_.repeat(ref, chain[i]->crd);
    if (scope.parent) ref = emit_.locate(range, 0, scope.crd, ref);
    one = emit_.value(range, ref);
  }
  return number == 1 ? one : emit_.applyScalar(Fn::mul, one, number, false);
}

}  // namespace tokamak::sparse
