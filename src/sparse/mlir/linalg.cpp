#include <fmt/format.h>
#include <mlir/Dialect/Linalg/IR/Linalg.h>

#include <algorithm>
#include <cmath>

#include "sparse/mlir/translate.h"
#include "sparse/mlir/types.h"

namespace tokamak::sparse {

namespace {

bool dependsOn(mlir::Value value, mlir::Value other) {
  if (value == other) return true;
  mlir::Operation* op = value.getDefiningOp();
  return op && op->getBlock() == other.getParentBlock() &&
         std::any_of(op->operand_begin(), op->operand_end(), [&](mlir::Value v) { return dependsOn(v, other); });
}

/// `a > b ? a : b` and its like.
std::optional<Fold> foldOfSelect(mlir::Operation* op) {
  mlir::Operation* test = op->getOperand(0).getDefiningOp();
  const auto predicate = test ? test->getAttrOfType<mlir::IntegerAttr>("predicate") : mlir::IntegerAttr();
  if (!predicate) return std::nullopt;
  const bool same = test->getOperand(0) == op->getOperand(1) && test->getOperand(1) == op->getOperand(2);
  const bool swapped = test->getOperand(1) == op->getOperand(1) && test->getOperand(0) == op->getOperand(2);
  if (!same && !swapped) return std::nullopt;
  const bool floats = test->getName().getStringRef() == "arith.cmpf";
  const int64_t p = predicate.getInt();
  const bool greater = floats ? p == 2 || p == 3 || p == 9 || p == 10 : p == 4 || p == 5 || p == 8 || p == 9;
  const bool less = floats ? p == 4 || p == 5 || p == 11 || p == 12 : p == 2 || p == 3 || p == 6 || p == 7;
  if (!greater && !less) return std::nullopt;
  return greater == same ? Fold::max : Fold::min;
}

std::optional<Fold> foldOf(mlir::Operation* op) {
  const llvm::StringRef name = op->getName().getStringRef();
  const bool truth = op->getNumResults() == 1 && op->getResult(0).getType().isInteger(1);
  if (name == "arith.addf" || name == "arith.addi" || name == "arith.subf" || name == "arith.subi") return Fold::sum;
  if (name == "arith.maximumf" || name == "arith.maxnumf" || name == "arith.maxsi") return Fold::max;
  if (name == "arith.minimumf" || name == "arith.minnumf" || name == "arith.minsi") return Fold::min;
  if (name == "arith.maxui" || (name == "arith.ori" && truth)) return Fold::max;
  if (name == "arith.minui" || (name == "arith.andi" && truth)) return Fold::min;
  return name == "arith.select" ? foldOfSelect(op) : std::nullopt;
}

/// The operation with which sparse_tensor.reduce folds: the one that its region yields.
mlir::Operation* foldingOf(mlir::Operation* reduce) {
  mlir::Operation* yield = reduce->getRegion(0).front().getTerminator();
  mlir::Operation* step = yield->getOperand(0).getDefiningOp();
  return step ? step : yield;
}

/// Whether folding into `start` is folding alone.
bool isNeutral(Fold fold, double start, DType dtype) {
  if (fold == Fold::sum) return start == 0;
  if (dtype == DType::boolean) return start == (fold == Fold::max ? 0 : 1);
  return std::isinf(start) && (start < 0) == (fold == Fold::max);
}

}  // namespace

Result<> Translator::linalg(mlir::Operation* op) {
  TK_TRY(const bool viewed, asView(op));
  if (viewed) return Unit{};
  auto structured = mlir::cast<mlir::linalg::LinalgOp>(op);
  for (unsigned r = 0; r < op->getNumResults(); ++r) {
    if (op->getResult(r).use_empty()) continue;
    static constexpr std::string_view kNames = "ijklmnopqrst";
    Loops loops{.op = op};
    for (unsigned l = 0; l < structured.getNumLoops(); ++l) {
      const std::string name = l < 12 ? std::string(1, kNames[l]) : fmt::format("d{}", l);
      loops.vars.push_back(program_.addVar(name, dimOf(sizes_.ofLoop(op, l), name + "_size")));
    }
    const mlir::AffineMap map = structured.getMatchingIndexingMap(structured.getDpsInitOperand(r));
    TK_TRY(std::vector<VarId> vars, targetVars(op, map, op->getResult(r), loops));
    TK_TRY(const ExprId value, bodyValue(op, r, loops));
    TK_RETURN_IF_ERROR(define(op, op->getResult(r), std::move(vars), value));
  }
  return Unit{};
}

/// What only moves axes, or says one value everywhere, is no statement. A result that is to be stored in a format of
/// its own is one.
Result<bool> Translator::asView(mlir::Operation* op) {
  auto structured = mlir::cast<mlir::linalg::LinalgOp>(op);
  if (op->getNumResults() != 1 || structured.getNumReductionLoops() != 0) return false;
  const auto type = mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  const mlir::Value yielded = structured.getBlock()->getTerminator()->getOperand(0);
  const auto argument = mlir::dyn_cast<mlir::BlockArgument>(yielded);
  if (!argument || argument.getOwner() != structured.getBlock() || type.getEncoding()) return false;
  if (argument.getArgNumber() >= static_cast<unsigned>(structured.getNumDpsInputs())) return false;
  mlir::OpOperand& source = op->getOpOperand(argument.getArgNumber());
  const mlir::AffineMap out = structured.getMatchingIndexingMap(structured.getDpsInitOperand(0));
  const mlir::AffineMap in = structured.getMatchingIndexingMap(&source);
  if (!out.isPermutation()) return false;
  if (!mlir::isa<mlir::RankedTensorType>(source.get().getType())) {
    TK_TRY(const ExprId value, scalars_.of(source.get()));
    views_[op->getResult(0)] = {.everywhere = value};
    return true;
  }
  View view = viewOf(source.get());
  if (!view.everywhere && !in.isProjectedPermutation()) return false;
  for (int& axis : view.axes) {
    if (axis == View::kUnseen) continue;
    const unsigned loop = in.getDimPosition(static_cast<unsigned>(axis));
    for (unsigned o = 0; o < out.getNumResults(); ++o)
      if (out.getDimPosition(o) == loop) axis = static_cast<int>(o);
  }
  views_[op->getResult(0)] = view;
  return true;
}

Result<std::vector<VarId>> Translator::targetVars(mlir::Operation* op, mlir::AffineMap map, mlir::Value result,
                                                  Loops& loops) {
  std::vector<VarId> out;
  for (unsigned i = 0; i < map.getNumResults(); ++i) {
    const auto loop = mlir::dyn_cast<mlir::AffineDimExpr>(map.getResult(i));
    const auto zero = mlir::dyn_cast<mlir::AffineConstantExpr>(map.getResult(i));
    const bool unit = zero && zero.getValue() == 0 && sizes_.sizeOf(sizes_.ofAxis(result, i)) == 1;
    const VarId var = loop ? loops.vars[loop.getPosition()] : unit ? helper("u", dimOfAxis(result, i), loops) : VarId();
    if (!var || std::find(out.begin(), out.end(), var) != out.end())
      return fail("T0854", op, fmt::format("axis {} of the result is not indexed by a loop of its own", i),
                  "compute the result by plain loops, then gather from it");
    out.push_back(var);
  }
  return out;
}

Result<ExprId> Translator::bodyValue(mlir::Operation* op, unsigned result, Loops& loops) {
  auto structured = mlir::cast<mlir::linalg::LinalgOp>(op);
  mlir::Block* block = structured.getBlock();
  Scalars* within = nullptr;
  Scalars body(module_, program_, [&](mlir::Value value) -> Result<ExprId> {
    mlir::Operation* leaf = value.getDefiningOp();
    if (leaf && leaf->getName().getDialectNamespace() == "sparse_tensor") return storedValue(leaf, *within);
    if (leaf && leaf->getName().getStringRef() == "linalg.index")
      return number(loops.vars[static_cast<size_t>(leaf->getAttrOfType<mlir::IntegerAttr>("dim").getInt())]);
    if (value.getParentBlock() != block) return scalars_.of(value);
    return fail("T0852", leaf ? leaf : op,
                leaf ? fmt::format("{} has no counterpart in sparse programs", leaf->getName().getStringRef().str())
                     : "the body reads an argument that has no value here",
                "see the guide's list of operations");
  });
  within = &body;
  for (mlir::OpOperand& operand : op->getOpOperands()) {
    if (structured.isDpsInit(&operand)) continue;
    const mlir::BlockArgument argument = structured.getMatchingBlockArgument(&operand);
    if (argument.use_empty()) continue;
    TK_TRY(const ExprId value, access(op, operand.get(), structured.getMatchingIndexingMap(&operand), loops));
    body.define(argument, value);
  }
  const mlir::AffineMap map = structured.getMatchingIndexingMap(structured.getDpsInitOperand(result));
  std::vector<VarId> over;
  for (unsigned l = 0; l < structured.getNumLoops(); ++l)
    if (!map.isFunctionOfDim(l)) over.push_back(loops.vars[l]);
  if (!over.empty()) return foldedValue(op, result, loops, body, over);
  for (mlir::OpOperand& init : structured.getDpsInitsMutable()) {
    if (init.getOperandNumber() >= block->getNumArguments()) break;  // linalg.map's body does not see results
    if (structured.getMatchingBlockArgument(&init).use_empty()) continue;
    TK_TRY(const ExprId value, access(op, init.get(), structured.getMatchingIndexingMap(&init), loops));
    body.define(structured.getMatchingBlockArgument(&init), value);
  }
  return body.of(block->getTerminator()->getOperand(result));
}

Result<ExprId> Translator::foldedValue(mlir::Operation* op, unsigned result, Loops& loops, Scalars& body,
                                       const std::vector<VarId>& over) {
  auto structured = mlir::cast<mlir::linalg::LinalgOp>(op);
  mlir::OpOperand* init = structured.getDpsInitOperand(result);
  const mlir::Value accumulator = structured.getMatchingBlockArgument(init);
  TK_TRY(const Folded folded, peel(op, structured.getBlock()->getTerminator()->getOperand(result), accumulator));
  const Fn combine = folded.fold == Fold::sum ? Fn::add : folded.fold == Fold::max ? Fn::max : Fn::min;
  ExprId term;
  for (const auto& [value, negative] : folded.terms) {
    TK_TRY(ExprId next, body.of(value));
    if (negative) next = term ? next : program_.apply(Fn::neg, {next});
    const Fn with = negative && term ? Fn::sub : combine;
    term = term ? program_.apply(with, {term, next}) : next;
  }
  if (!term) return access(op, init->get(), structured.getMatchingIndexingMap(init), loops);
  std::vector<ExprId> patterns;
  if (folded.storedOnly) {
    TK_TRY(const std::optional<ExprId> pattern, patternOf(op, term));
    if (pattern) patterns.push_back(*pattern);
  }
  const ExprId out = program_.reduce(folded.fold, over, term, patterns);
  TK_TRY(const ExprId start, access(op, init->get(), structured.getMatchingIndexingMap(init), loops));
  const Expr& constant = program_.expr(start);
  const DType dtype = *dtypeOf(mlir::cast<mlir::RankedTensorType>(init->get().getType()).getElementType());
  if (constant.kind == ExprKind::constant && isNeutral(folded.fold, constant.value, dtype)) return out;
  return program_.apply(combine, {start, out});
}

/// result = fold(result, terms...): the way from what is yielded down to the accumulator, which must be one kind of
/// fold.
Result<Translator::Folded> Translator::peel(mlir::Operation* op, mlir::Value yielded, mlir::Value accumulator) const {
  Folded out;
  bool first = true;
  mlir::Value at = yielded;
  if (!dependsOn(yielded, accumulator))
    return fail("T0854", op, "a loop runs over what the result does not have, and the body does not fold",
                "yield a sum, maximum or minimum with the result's own argument");
  while (at != accumulator) {
    mlir::Operation* step = at.getDefiningOp();
    const bool stored = step->getName().getStringRef() == "sparse_tensor.reduce";
    const std::optional<Fold> fold = foldOf(stored ? foldingOf(step) : step);
    const std::string name = step->getName().getStringRef().str();
    if (!fold || (!first && *fold != out.fold))
      return fail("T0854", step, fmt::format("the body folds with {}", name), "folds are sums, maxima or minima");
    const unsigned shift = name == "arith.select" ? 1 : 0;
    const mlir::Value a = step->getOperand(shift), b = step->getOperand(shift + 1);
    const bool left = dependsOn(a, accumulator), right = dependsOn(b, accumulator);
    const bool minus = name == "arith.subf" || name == "arith.subi";
    if (left == right || (minus && right))
      return fail("T0854", step, "the body uses the result's argument more than once, or subtracts it",
                  "folds are result + term, max(result, term) or min(result, term)");
    out.terms.emplace_back(left ? b : a, minus);
    out.fold = *fold;
    out.storedOnly = out.storedOnly || stored;
    first = false;
    at = left ? a : b;
  }
  std::reverse(out.terms.begin(), out.terms.end());
  return out;
}

/// exp(x - max x) / sum of that, along one axis.
Result<> Translator::softmax(mlir::Operation* op) {
  const mlir::Value input = op->getOperand(0), result = op->getResult(0);
  const auto axis = static_cast<size_t>(op->getAttrOfType<mlir::IntegerAttr>("dimension").getInt());
  Loops loops{.op = op};
  const std::vector<VarId> vars = axisVars(result, loops);
  std::vector<VarId> rest = vars;
  rest.erase(rest.begin() + static_cast<int64_t>(axis));
  const std::vector<std::optional<VarId>> at(vars.begin(), vars.end());
  const std::string name = module_.nameOf(result);
  const auto part = [&](const char* suffix, const std::vector<VarId>& of, ExprId value) {
    TensorDecl decl{.name = freeName(name + suffix), .role = Role::temp, .declared = false};
    decl.location = module_.place(op);
    decl.dtype = *dtypeOf(mlir::cast<mlir::RankedTensorType>(result.getType()).getElementType());
    for (const VarId v : of) decl.dims.push_back(program_.var(v).dim);
    const TensorId tensor = program_.addTensor(std::move(decl));
    program_.addStatement({tensor, of, value, module_.place(op)});
    return program_.access(tensor, of);
  };
  const ExprId x = read(viewOf(input), at, loops);
  const ExprId largest = part("_max", rest, program_.reduce(Fold::max, {vars[axis]}, x));
  const ExprId raised = part("_exp", vars, program_.apply(Fn::exp, {program_.apply(Fn::sub, {x, largest})}));
  const ExprId total = part("_sum", rest, program_.reduce(Fold::sum, {vars[axis]}, raised));
  return define(op, result, vars, program_.apply(Fn::div, {raised, total}));
}

}  // namespace tokamak::sparse
