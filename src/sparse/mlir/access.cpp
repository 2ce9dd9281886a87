#include <fmt/format.h>
#include <mlir/IR/AffineMap.h>

#include "sparse/mlir/translate.h"

namespace tokamak::sparse {

namespace {

using Coordinate = std::function<int64_t(const std::vector<int64_t>& loops)>;

/// An affine expression of loops as a function that outlives MLIR's context.
Coordinate coordinateOf(mlir::AffineExpr expr, const std::vector<unsigned>& loops) {
  if (const auto loop = mlir::dyn_cast<mlir::AffineDimExpr>(expr)) {
    const size_t at = static_cast<size_t>(std::find(loops.begin(), loops.end(), loop.getPosition()) - loops.begin());
    return [at](const std::vector<int64_t>& values) { return values[at]; };
  }
  if (const auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(expr))
    return [value = constant.getValue()](const std::vector<int64_t>&) { return value; };
  const auto both = mlir::cast<mlir::AffineBinaryOpExpr>(expr);
  const Coordinate a = coordinateOf(both.getLHS(), loops), b = coordinateOf(both.getRHS(), loops);
  return [a, b, kind = both.getKind()](const std::vector<int64_t>& values) -> int64_t {
    const int64_t x = a(values), y = b(values);
    if (kind == mlir::AffineExprKind::Add) return x + y;
    if (kind == mlir::AffineExprKind::Mul) return x * y;
    if (y <= 0) return -1;
    const int64_t floor = x >= 0 ? x / y : -((-x + y - 1) / y);
    if (kind == mlir::AffineExprKind::FloorDiv) return floor;
    return kind == mlir::AffineExprKind::Mod ? x - floor * y : floor + (x != floor * y);
  };
}

/// 1 where the last coordinate is what the expression says of the others.
Tensor selection(const Coordinate& coordinate, const std::vector<int64_t>& shape) {
  Entries entries{shape, {}, {}};
  std::vector<int64_t> at(shape.size() - 1, 0);
  for (const int64_t size : shape)
    if (size == 0) return *pack(entries, Format::csf(static_cast<int>(shape.size())));
  for (bool more = true; more;) {
    const int64_t picked = coordinate(at);
    if (picked >= 0 && picked < shape.back()) {
      for (const int64_t c : at) entries.at.push_back(static_cast<int32_t>(c));
      entries.at.push_back(static_cast<int32_t>(picked));
      entries.values.push_back(1);
    }
    more = false;
    for (size_t i = at.size(); i-- > 0 && !more;) {
      more = ++at[i] < shape[i];
      if (!more) at[i] = 0;
    }
  }
  return *pack(entries, Format::csf(static_cast<int>(shape.size())));
}

std::string textOf(mlir::AffineExpr expr) {
  std::string out;
  llvm::raw_string_ostream stream(out);
  expr.print(stream);
  return out;
}

}  // namespace

VarId Translator::helper(std::string_view name, DimId dim, Loops& loops) {
  return program_.addVar(loops.helpers++ == 0 ? std::string(name) : fmt::format("{}{}", name, loops.helpers), dim);
}

/// An operand at the coordinates that its map gives to the loops.
Result<ExprId> Translator::access(mlir::Operation* op, mlir::Value tensor, mlir::AffineMap map, Loops& loops) {
  if (!mlir::isa<mlir::RankedTensorType>(tensor.getType())) return scalars_.of(tensor);
  const View view = viewOf(tensor);
  if (view.everywhere) return *view.everywhere;
  std::vector<std::optional<VarId>> at;
  std::vector<VarId> picked;
  std::vector<ExprId> picks;
  for (unsigned i = 0; i < map.getNumResults(); ++i) {
    const mlir::AffineExpr expr = map.getResult(i);
    const auto loop = mlir::dyn_cast<mlir::AffineDimExpr>(expr);
    const auto zero = mlir::dyn_cast<mlir::AffineConstantExpr>(expr);
    const VarId var = loop ? loops.vars[loop.getPosition()] : VarId();
    const bool whole = loop && program_.var(var).dim == dimOfAxis(tensor, i);  // else it runs over a part
    if (whole && std::find(at.begin(), at.end(), std::optional(var)) == at.end()) {
      at.emplace_back(var);
      continue;
    }
    if (zero && zero.getValue() == 0 && sizes_.sizeOf(sizes_.ofAxis(tensor, i)) == 1) {
      at.emplace_back(std::nullopt);
      continue;
    }
    picked.push_back(helper("p", dimOfAxis(tensor, i), loops));
    picks.push_back(pick(expr, picked.back(), loops));
    at.emplace_back(picked.back());
  }
  ExprId out = read(view, at, loops);
  for (const ExprId pick : picks) out = program_.apply(Fn::mul, {out, pick});
  return picked.empty() ? out : program_.reduce(Fold::sum, picked, out);
}

ExprId Translator::read(const View& view, const std::vector<std::optional<VarId>>& at, Loops& loops) {
  if (view.everywhere) return *view.everywhere;
  std::vector<VarId> vars, unseen;
  for (size_t t = 0; t < view.axes.size(); ++t) {
    const std::optional<VarId> var =
        view.axes[t] == View::kUnseen ? std::nullopt : at[static_cast<size_t>(view.axes[t])];
    if (!var) unseen.push_back(helper("u", program_.tensor(view.tensor).dims[t], loops));
    vars.push_back(var ? *var : unseen.back());
  }
  const ExprId out = program_.access(view.tensor, std::move(vars));
  return unseen.empty() ? out : program_.reduce(Fold::sum, unseen, out);
}

/// An input that is 1 where `picked` is what the expression says; the same for the same expression of the same loops.
ExprId Translator::pick(mlir::AffineExpr expr, VarId picked, const Loops& loops) {
  std::vector<unsigned> used;
  expr.walk([&](mlir::AffineExpr part) {
    const auto loop = mlir::dyn_cast<mlir::AffineDimExpr>(part);
    if (loop && std::find(used.begin(), used.end(), loop.getPosition()) == used.end())
      used.push_back(loop.getPosition());
  });
  std::vector<VarId> vars;
  for (const unsigned loop : used) vars.push_back(loops.vars[loop]);
  vars.push_back(picked);
  TensorDecl decl{.dtype = DType::boolean,
                  .format = Format::csf(static_cast<int>(vars.size())),
                  .location = module_.place(loops.op)};
  std::string key = textOf(expr);
  for (const VarId v : vars) {
    decl.dims.push_back(program_.var(v).dim);
    key += fmt::format(" {}", decl.dims.back().index);
  }
  const auto [known, added] = picks_.try_emplace(key);
  if (added) {
    decl.name = freeName("pick");
    out_.derived.push_back({decl.name, [coordinate = coordinateOf(expr, used)](const std::vector<int64_t>& shape) {
                              return selection(coordinate, shape);
                            }});
    known->second = program_.addTensor(std::move(decl));
  }
  return program_.access(known->second, std::move(vars));
}

/// The loop's own number, from an input that holds 0, 1, 2, ...
ExprId Translator::number(VarId var) {
  const DimId dim = program_.var(var).dim;
  const auto [known, added] = picks_.try_emplace(fmt::format("number {}", dim.index));
  if (added) {
    TensorDecl decl{.name = freeName("number"), .dims = {dim}, .dtype = DType::i64};
    out_.derived.push_back({decl.name, [](const std::vector<int64_t>& shape) {
                              std::vector<double> values(static_cast<size_t>(shape[0]));
                              for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
                              return fromDense(values, shape, Format::dense(1), DType::i64);
                            }});
    known->second = program_.addTensor(std::move(decl));
  }
  return program_.access(known->second, {var});
}

std::vector<VarId> Translator::axisVars(mlir::Value tensor, Loops& loops) {
  static constexpr std::string_view kNames = "ijklmnopqrst";
  const auto type = mlir::cast<mlir::RankedTensorType>(tensor.getType());
  for (int64_t i = 0; i < type.getRank(); ++i) {
    const std::string name = i < 12 ? std::string(1, kNames[static_cast<size_t>(i)]) : fmt::format("d{}", i);
    loops.vars.push_back(program_.addVar(name, dimOfAxis(tensor, i)));
  }
  return loops.vars;
}

}  // namespace tokamak::sparse
