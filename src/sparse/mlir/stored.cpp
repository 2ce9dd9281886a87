#include <fmt/format.h>

#include "sparse/mlir/translate.h"

/// sparse_tensor.unary, binary and select in bodies: what they do depends on which entries are stored.
namespace tokamak::sparse {

/// The access that says where a value of a body is stored. Nothing: everywhere, for its tensor is dense.
Result<std::optional<ExprId>> Translator::patternOf(mlir::Operation* op, ExprId value) const {
  const Expr& e = program_.expr(value);
  const TensorDecl* decl = e.kind == ExprKind::access ? &program_.tensor(e.tensor) : nullptr;
  if (e.kind == ExprKind::constant || (decl && (!decl->format || decl->format->isDense())))
    return std::optional<ExprId>();
  if (decl && decl->role == Role::input) return std::optional(value);
  return fail("T0854", op, "its operand is computed, so which entries it stores is the schedule's choice",
              "apply it to an argument of the function, or to a constant");
}

/// What a region yields for these arguments.
Result<ExprId> Translator::yielded(mlir::Region& region, const std::vector<ExprId>& arguments, Scalars& body) {
  mlir::Block& block = region.front();
  for (unsigned i = 0; i < block.getNumArguments(); ++i) body.define(block.getArgument(i), arguments[i]);
  return body.of(block.getTerminator()->getOperand(0));
}

ExprId Translator::whereStored(const std::optional<ExprId>& pattern, ExprId value) {
  return pattern ? program_.where(*pattern, value) : value;
}
/// 1 where nothing is stored, else 0.
ExprId Translator::absent(ExprId pattern) {
  return program_.apply(Fn::sub, {program_.constant(1), program_.where(pattern, program_.constant(1))});
}

Result<ExprId> Translator::storedValue(mlir::Operation* op, Scalars& body) {
  const llvm::StringRef name = op->getName().getStringRef();
  if (name == "sparse_tensor.unary") return unary(op, body);
  if (name == "sparse_tensor.binary") return binary(op, body);
  if (name == "sparse_tensor.select") {
    TK_TRY(const ExprId value, body.of(op->getOperand(0)));
    TK_TRY(const ExprId keep, yielded(op->getRegion(0), {value}, body));
    return program_.apply(Fn::select, {keep, value, program_.constant(0)});
  }
  return fail("T0852", op, fmt::format("{} has no counterpart in sparse programs here", name.str()),
              "sparse_tensor.unary, binary and select stand in bodies; reduce folds into the result's argument");
}

Result<ExprId> Translator::unary(mlir::Operation* op, Scalars& body) {
  TK_TRY(const ExprId value, body.of(op->getOperand(0)));
  TK_TRY(const std::optional<ExprId> pattern, patternOf(op, value));
  ExprId out = program_.constant(0);
  if (!op->getRegion(0).empty()) {
    TK_TRY(const ExprId present, yielded(op->getRegion(0), {value}, body));
    out = whereStored(pattern, present);
  }
  if (op->getRegion(1).empty() || !pattern) return out;
  TK_TRY(const ExprId otherwise, yielded(op->getRegion(1), {}, body));
  const ExprId elsewhere = program_.apply(Fn::mul, {absent(*pattern), otherwise});
  return op->getRegion(0).empty() ? elsewhere : program_.apply(Fn::add, {out, elsewhere});
}

Result<ExprId> Translator::binary(mlir::Operation* op, Scalars& body) {
  std::vector<ExprId> values;
  std::vector<std::optional<ExprId>> patterns;
  for (const mlir::Value operand : op->getOperands()) {
    TK_TRY(const ExprId value, body.of(operand));
    TK_TRY(const std::optional<ExprId> pattern, patternOf(op, value));
    values.push_back(value);
    patterns.push_back(pattern);
  }
  ExprId out;
  const auto add = [&](ExprId part) { out = out ? program_.apply(Fn::add, {out, part}) : part; };
  if (!op->getRegion(0).empty()) {
    TK_TRY(const ExprId both, yielded(op->getRegion(0), values, body));
    add(whereStored(patterns[0], whereStored(patterns[1], both)));
  }
  for (unsigned side = 0; side < 2; ++side) {
    if (!patterns[1 - side]) continue;  // the other is stored everywhere
    const bool identity = op->hasAttr(side == 0 ? "left_identity" : "right_identity");
    mlir::Region& region = op->getRegion(1 + side);
    if (!identity && region.empty()) continue;
    ExprId alone = values[side];
    if (!identity) { TK_TRY(alone, yielded(region, {values[side]}, body)); }
    add(whereStored(patterns[side], program_.apply(Fn::mul, {alone, absent(*patterns[1 - side])})));
  }
  return out ? out : program_.constant(0);
}

}  // namespace tokamak::sparse
