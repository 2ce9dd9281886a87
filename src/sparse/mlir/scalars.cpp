#include "sparse/mlir/scalars.h"

#include <fmt/format.h>
#include <llvm/ADT/StringSwitch.h>

#include <numbers>

namespace tokamak::sparse {

namespace {

/// Functions that arith and math have under another name. Values are computed in float64, so casts between floats and
/// from integers change nothing.
std::optional<Fn> functionOf(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<Fn>>(name)
      .Cases("arith.addf", "arith.addi", Fn::add)
      .Cases("arith.subf", "arith.subi", Fn::sub)
      .Cases("arith.mulf", "arith.muli", Fn::mul)
      .Case("arith.divf", Fn::div)
      .Cases("arith.maximumf", "arith.maxnumf", "arith.maxsi", "arith.maxui", Fn::max)
      .Cases("arith.minimumf", "arith.minnumf", "arith.minsi", "arith.minui", Fn::min)
      .Cases("math.powf", "math.fpowi", "math.ipowi", Fn::pow)
      .Case("arith.select", Fn::select)
      .Case("arith.negf", Fn::neg)
      .Cases("math.absf", "math.absi", Fn::abs)
      .Case("math.exp", Fn::exp)
      .Case("math.log", Fn::log)
      .Case("math.sqrt", Fn::sqrt)
      .Case("math.rsqrt", Fn::rsqrt)
      .Case("math.tanh", Fn::tanh)
      .Case("math.sin", Fn::sin)
      .Case("math.cos", Fn::cos)
      .Case("math.erf", Fn::erf)
      .Default(std::nullopt);
}

bool isCast(llvm::StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases("arith.extf", "arith.truncf", "arith.sitofp", "arith.uitofp", true)
      .Cases("arith.extui", "arith.index_cast", "arith.index_castui", true)
      .Default(false);
}

/// A comparison by the number of its predicate; ordered and unordered ones are one, for data hold no NaN.
std::optional<Fn> comparisonOf(bool floats, int64_t predicate) {
  static constexpr Fn kIntegers[] = {Fn::eq, Fn::ne, Fn::lt, Fn::le, Fn::gt, Fn::ge, Fn::lt, Fn::le, Fn::gt, Fn::ge};
  if (!floats) return predicate >= 0 && predicate < 10 ? std::optional(kIntegers[predicate]) : std::nullopt;
  switch (predicate) {
    case 1:
    case 8: return Fn::eq;
    case 2:
    case 9: return Fn::gt;
    case 3:
    case 10: return Fn::ge;
    case 4:
    case 11: return Fn::lt;
    case 5:
    case 12: return Fn::le;
    case 6:
    case 13: return Fn::ne;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<double> numberOf(mlir::Attribute attribute) {
  if (const auto number = mlir::dyn_cast_or_null<mlir::FloatAttr>(attribute)) return number.getValueAsDouble();
  const auto number = mlir::dyn_cast_or_null<mlir::IntegerAttr>(attribute);
  if (!number) return std::nullopt;
  const bool sign = !number.getType().isInteger(1) && !number.getType().isUnsignedInteger();
  return sign ? static_cast<double>(number.getValue().getSExtValue())
              : static_cast<double>(number.getValue().getZExtValue());
}

Result<ExprId> Scalars::of(mlir::Value value) {
  if (const auto known = known_.find(value); known != known_.end()) return known->second;
  mlir::Operation* op = value.getDefiningOp();
  const llvm::StringRef dialect = op ? op->getName().getDialectNamespace() : llvm::StringRef();
  const bool own = dialect == "arith" || dialect == "math";
  TK_TRY(const ExprId out, own ? translate(op) : leaf_(value));
  known_[value] = out;
  return out;
}

bool Scalars::isConstant(ExprId expr, double value) const {
  const Expr& e = program_.expr(expr);
  return e.kind == ExprKind::constant && e.value == value;
}

Result<ExprId> Scalars::translate(mlir::Operation* op) {
  const llvm::StringRef name = op->getName().getStringRef();
  if (name == "arith.constant") return constant(op);
  std::vector<ExprId> args;
  for (const mlir::Value operand : op->getOperands()) {
    TK_TRY(const ExprId arg, of(operand));
    args.push_back(arg);
  }
  if (name == "arith.cmpf" || name == "arith.cmpi") return compare(op, args);
  if (isCast(name)) return args[0];
  if (const auto out = simple(op, args)) return *out;
  if (const auto out = composed(op, args)) return *out;
  return module_.fail("T0852", op, fmt::format("{} has no counterpart in sparse programs", name.str()),
                      "see the guide's list of operations; compute it before, and pass the result");
}

std::optional<ExprId> Scalars::simple(mlir::Operation* op, const std::vector<ExprId>& args) {
  const std::optional<Fn> fn = functionOf(op->getName().getStringRef());
  if (!fn || static_cast<int>(args.size()) != arity(*fn)) return std::nullopt;
  if (*fn == Fn::max && isConstant(args[1], 0)) return program_.apply(Fn::relu, {args[0]});
  if (*fn == Fn::max && isConstant(args[0], 0)) return program_.apply(Fn::relu, {args[1]});
  if (*fn == Fn::select && isConstant(args[2], 0)) {  // x > 0 ? x : 0
    const Expr& test = program_.expr(args[0]);
    if (test.kind == ExprKind::apply && test.fn == Fn::gt && test.args[0] == args[1] && isConstant(test.args[1], 0))
      return program_.apply(Fn::relu, {args[1]});
  }
  return program_.apply(*fn, args);
}

/// What takes several functions here.
std::optional<ExprId> Scalars::composed(mlir::Operation* op, const std::vector<ExprId>& args) {
  const llvm::StringRef name = op->getName().getStringRef();
  const bool truth = op->getNumResults() == 1 && op->getResult(0).getType().isInteger(1);
  const auto number = [&](double value) { return program_.constant(value); };
  const auto apply = [&](Fn fn, std::vector<ExprId> of) { return program_.apply(fn, std::move(of)); };
  if (name == "arith.andi" && truth) return apply(Fn::logical_and, args);
  if (name == "arith.ori" && truth) return apply(Fn::logical_or, args);
  if (name == "arith.xori" && truth) return apply(Fn::ne, args);
  if (name == "arith.extsi") {
    const bool fromTruth = op->getOperand(0).getType().isInteger(1);  // true is -1
    return fromTruth ? apply(Fn::neg, args) : args[0];
  }
  if (name == "math.exp2") return apply(Fn::pow, {number(2), args[0]});
  if (name == "math.expm1") return apply(Fn::sub, {apply(Fn::exp, args), number(1)});
  if (name == "math.log1p") return apply(Fn::log, {apply(Fn::add, {args[0], number(1)})});
  if (name == "math.log2") return apply(Fn::mul, {apply(Fn::log, args), number(std::numbers::log2e)});
  if (name == "math.log10") return apply(Fn::mul, {apply(Fn::log, args), number(std::numbers::log10e)});
  if (name == "math.tan") return apply(Fn::div, {apply(Fn::sin, args), apply(Fn::cos, args)});
  if (name == "math.fma") return apply(Fn::add, {apply(Fn::mul, {args[0], args[1]}), args[2]});
  return std::nullopt;
}

Result<ExprId> Scalars::compare(mlir::Operation* op, const std::vector<ExprId>& args) {
  const auto predicate = op->getAttrOfType<mlir::IntegerAttr>("predicate");
  const bool floats = op->getName().getStringRef() == "arith.cmpf";
  const auto fn = predicate ? comparisonOf(floats, predicate.getInt()) : std::nullopt;
  if (fn) return program_.apply(*fn, args);
  return module_.fail("T0852", op, "this comparison asks for NaN or is always the same",
                      "data hold no NaN: leave the comparison out");
}

Result<ExprId> Scalars::constant(mlir::Operation* op) {
  if (const auto number = numberOf(op->getAttr("value"))) return program_.constant(*number);
  return module_.fail("T0852", op, "a constant that is neither a number nor a tensor of numbers",
                      "use a float or an integer");
}

}  // namespace tokamak::sparse
