#include <fmt/format.h>
#include <mlir/Dialect/Tensor/IR/Tensor.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

#include "sparse/mlir/translate.h"

namespace tokamak::sparse {

namespace {

/// Offsets, strides or widths that are numbers; nothing where one is not.
std::optional<std::vector<int64_t>> numbers(const llvm::SmallVector<mlir::OpFoldResult>& values) {
  std::vector<int64_t> out;
  for (const mlir::OpFoldResult value : values) {
    const std::optional<int64_t> number = mlir::getConstantIntValue(value);
    if (!number) return std::nullopt;
    out.push_back(*number);
  }
  return out;
}

bool readsArgumentOf(mlir::Block& block, mlir::Value value) {
  if (const auto argument = mlir::dyn_cast<mlir::BlockArgument>(value)) return argument.getOwner() == &block;
  mlir::Operation* op = value.getDefiningOp();
  return op->getBlock() == &block &&
         llvm::any_of(op->getOperands(), [&](mlir::Value v) { return readsArgumentOf(block, v); });
}

}  // namespace

Diagnostic Translator::notConstant(mlir::Operation* op) const {
  return fail("T0856", op,
              fmt::format("{} is told where by values, not by numbers", op->getName().getStringRef().str()),
              "give offsets, sizes and strides as constants");
}

/// Every axis of a result must have a size: its own, or one that data give it.
Result<> Translator::knowSizes(mlir::Operation* op, mlir::Value from) {
  const mlir::Value to = op->getResult(0);
  for (int64_t i = 0; i < mlir::cast<mlir::RankedTensorType>(to.getType()).getRank(); ++i) {
    const int size = sizes_.ofAxis(to, i);
    bool known = sizes_.sizeOf(size) >= 0;
    for (int64_t k = 0; k < mlir::cast<mlir::RankedTensorType>(from.getType()).getRank(); ++k)
      known = known || sizes_.find(sizes_.ofAxis(from, k)) == sizes_.find(size);
    if (!known)
      return fail("T0856", op, fmt::format("the size of axis {} of its result is not known", i),
                  "give the tensor a size along it");
  }
  return Unit{};
}

/// The source at `at` of the result's loops, which are variables `vars`.
Result<ExprId> Translator::moved(mlir::Operation* op, mlir::Value from, const std::vector<mlir::AffineExpr>& at,
                                 Loops& loops) {
  const mlir::AffineMap map = mlir::AffineMap::get(static_cast<unsigned>(loops.vars.size()), 0, at, op->getContext());
  return access(op, from, map, loops);
}

/// 1 where all of these coordinates lie inside of a tensor, else 0.
ExprId Translator::inside(mlir::Value tensor, const std::vector<mlir::AffineExpr>& at, Loops& loops) {
  ExprId out = program_.constant(1);
  for (size_t i = 0; i < at.size(); ++i) {
    const auto loop = mlir::dyn_cast<mlir::AffineDimExpr>(at[i]);
    const DimId dim = dimOfAxis(tensor, static_cast<int64_t>(i));
    if (loop && program_.var(loops.vars[loop.getPosition()]).dim == dim) continue;
    const VarId picked = helper("p", dim, loops);
    const ExprId one = program_.reduce(Fold::sum, {picked}, pick(at[i], picked, loops));
    out = program_.expr(out).kind == ExprKind::constant ? one : program_.apply(Fn::mul, {out, one});
  }
  return out;
}

/// R[i] = A[offset + stride * i]
Result<> Translator::extractSlice(mlir::Operation* op) {
  auto slice = mlir::cast<mlir::tensor::ExtractSliceOp>(op);
  const auto offsets = numbers(slice.getMixedOffsets()), strides = numbers(slice.getMixedStrides());
  if (!offsets || !strides) return notConstant(op);
  TK_RETURN_IF_ERROR(knowSizes(op, slice.getSource()));
  Loops loops{.op = op};
  const std::vector<VarId> vars = axisVars(slice.getResult(), loops);
  const llvm::SmallBitVector dropped = slice.getDroppedDims();
  std::vector<mlir::AffineExpr> at;
  unsigned axis = 0;
  for (size_t i = 0; i < offsets->size(); ++i) {
    const mlir::AffineExpr first = mlir::getAffineConstantExpr((*offsets)[i], op->getContext());
    at.push_back(dropped.test(static_cast<unsigned>(i))
                     ? first
                     : mlir::getAffineDimExpr(axis++, op->getContext()) * (*strides)[i] + first);
  }
  TK_TRY(const ExprId value, moved(op, slice.getSource(), at, loops));
  return define(op, slice.getResult(), vars, value);
}

/// R[i] = A[i - offset] inside, D[i] elsewhere.
Result<> Translator::insertSlice(mlir::Operation* op) {
  auto slice = mlir::cast<mlir::tensor::InsertSliceOp>(op);
  const auto offsets = numbers(slice.getMixedOffsets()), strides = numbers(slice.getMixedStrides());
  if (!offsets || !strides) return notConstant(op);
  if (llvm::any_of(*strides, [](int64_t s) { return s != 1; }))
    return fail("T0854", op, "the slice is inserted with gaps", "insert it with strides of 1");
  if (slice.getSourceType().getRank() != slice.getDestType().getRank())
    return fail("T0854", op, "the slice has fewer axes than where it is inserted", "expand its shape first");
  TK_RETURN_IF_ERROR(knowSizes(op, slice.getDest()));
  Loops loops{.op = op};
  const std::vector<VarId> vars = axisVars(slice.getResult(), loops);
  const std::vector<std::optional<VarId>> whole(vars.begin(), vars.end());
  std::vector<mlir::AffineExpr> at;
  for (unsigned i = 0; i < offsets->size(); ++i)
    at.push_back(mlir::getAffineDimExpr(i, op->getContext()) - (*offsets)[i]);
  TK_TRY(const ExprId value, moved(op, slice.getSource(), at, loops));
  const ExprId outside = program_.apply(Fn::sub, {program_.constant(1), inside(slice.getSource(), at, loops)});
  const ExprId kept = program_.apply(Fn::mul, {read(viewOf(slice.getDest()), whole, loops), outside});
  return define(op, slice.getResult(), vars, program_.apply(Fn::add, {kept, value}));
}

/// R[i] = A[i - low] inside, the padding's value elsewhere.
Result<> Translator::pad(mlir::Operation* op) {
  auto padding = mlir::cast<mlir::tensor::PadOp>(op);
  const auto low = numbers(padding.getMixedLowPad());
  if (!low || !numbers(padding.getMixedHighPad())) return notConstant(op);
  TK_RETURN_IF_ERROR(knowSizes(op, padding.getSource()));
  mlir::Block& body = padding.getRegion().front();
  const mlir::Value with = body.getTerminator()->getOperand(0);
  if (readsArgumentOf(body, with))
    return fail("T0854", op, "the padding has another value at every place", "pad with one value");
  TK_TRY(const ExprId filler, scalars_.of(with));
  Loops loops{.op = op};
  const std::vector<VarId> vars = axisVars(padding.getResult(), loops);
  std::vector<mlir::AffineExpr> at;
  for (unsigned i = 0; i < low->size(); ++i) at.push_back(mlir::getAffineDimExpr(i, op->getContext()) - (*low)[i]);
  TK_TRY(ExprId value, moved(op, padding.getSource(), at, loops));
  const Expr& constant = program_.expr(filler);
  if (constant.kind != ExprKind::constant || constant.value != 0) {
    const ExprId outside = program_.apply(Fn::sub, {program_.constant(1), inside(padding.getSource(), at, loops)});
    value = program_.apply(Fn::add, {value, program_.apply(Fn::mul, {outside, filler})});
  }
  return define(op, padding.getResult(), vars, value);
}

/// R[i] = A[i] + B[i - size of A] + ...: each is 0 where the others are.
Result<> Translator::concat(mlir::Operation* op) {
  auto joined = mlir::cast<mlir::tensor::ConcatOp>(op);
  const auto along = static_cast<unsigned>(joined.getDim());
  Loops loops{.op = op};
  const std::vector<VarId> vars = axisVars(joined.getResult(), loops);
  if (sizes_.sizeOf(sizes_.ofAxis(joined.getResult(), along)) < 0)
    return fail("T0856", op, fmt::format("the size of axis {} of its result is not known", along),
                "give the tensors sizes along it");
  ExprId sum;
  int64_t before = 0;
  for (const mlir::Value part : joined.getInputs()) {
    std::vector<mlir::AffineExpr> at;
    for (unsigned i = 0; i < vars.size(); ++i)
      at.push_back(mlir::getAffineDimExpr(i, op->getContext()) - (i == along ? before : 0));
    TK_TRY(const ExprId value, moved(op, part, at, loops));
    sum = sum ? program_.apply(Fn::add, {sum, value}) : value;
    const int64_t size = sizes_.sizeOf(sizes_.ofAxis(part, along));
    if (size < 0)
      return fail("T0856", op, fmt::format("a part has no known size along axis {}", along),
                  "give the tensors sizes along it");
    before += size;
  }
  return define(op, joined.getResult(), vars, sum);
}

/// Axes that a slice or padding leaves whole have one size.
Result<> Sizes::tieSlice(mlir::Operation* op) {
  const mlir::Value to = op->getResult(0);
  if (auto insert = mlir::dyn_cast<mlir::tensor::InsertSliceOp>(op)) return tieWhole(op, insert.getDest(), to);
  if (auto joined = mlir::dyn_cast<mlir::tensor::ConcatOp>(op)) {
    for (const mlir::Value part : joined.getInputs())
      for (int64_t i = 0; i < joined.getResultType().getRank(); ++i)
        if (i != static_cast<int64_t>(joined.getDim())) TK_RETURN_IF_ERROR(tie(op, ofAxis(part, i), ofAxis(to, i)));
    return Unit{};
  }
  if (auto padding = mlir::dyn_cast<mlir::tensor::PadOp>(op)) {
    const auto low = padding.getMixedLowPad(), high = padding.getMixedHighPad();
    for (size_t i = 0; i < low.size(); ++i)
      if (mlir::getConstantIntValue(low[i]) == 0 && mlir::getConstantIntValue(high[i]) == 0)
        TK_RETURN_IF_ERROR(
            tie(op, ofAxis(padding.getSource(), static_cast<int64_t>(i)), ofAxis(to, static_cast<int64_t>(i))));
    return Unit{};
  }
  auto slice = mlir::cast<mlir::tensor::ExtractSliceOp>(op);
  const llvm::SmallBitVector dropped = slice.getDroppedDims();
  const auto offsets = slice.getMixedOffsets(), sizes = slice.getMixedSizes(), strides = slice.getMixedStrides();
  int64_t axis = 0;
  for (unsigned i = 0; i < offsets.size(); ++i) {
    if (dropped.test(i)) continue;
    const auto value = mlir::dyn_cast<mlir::Value>(sizes[i]);
    const auto asked = value ? axisAsked(value) : std::nullopt;
    const bool whole = asked && asked->first == slice.getSource() && asked->second == static_cast<int64_t>(i);
    if (whole && mlir::getConstantIntValue(offsets[i]) == 0 && mlir::getConstantIntValue(strides[i]) == 1)
      TK_RETURN_IF_ERROR(tie(op, ofAxis(slice.getSource(), i), ofAxis(to, axis)));
    ++axis;
  }
  return Unit{};
}

}  // namespace tokamak::sparse
