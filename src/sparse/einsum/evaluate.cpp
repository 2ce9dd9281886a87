#include "sparse/einsum/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tokamak::sparse {

namespace {

class Evaluator {
 public:
  Evaluator(const Program& program, const Bindings& inputs) : program_(program), at_(program.varCount(), 0) {
    values_.resize(program.tensors().size());
    stored_.resize(program.tensors().size());
    for (size_t i = 0; i < program.tensors().size(); ++i) {
      const TensorDecl& decl = program.tensors()[i];
      if (decl.role == Role::input) values_[i] = toDense(inputs.find(decl.name)->second);
    }
    findPatterns(inputs);
  }

  std::vector<double> run(const Statement& statement) {
    std::vector<double> out;
    forEach(statement.vars, 0, [&] { out.push_back(value(statement.value)); });
    const DType dtype = program_.tensor(statement.tensor).dtype;
    if (!isFloat(dtype))
      for (double& v : out) v = roundTo(dtype, v);
    values_[statement.tensor.index] = out;
    return out;
  }

 private:
  /// Which entries are stored, of the inputs that `where` or `in` names.
  void findPatterns(const Bindings& inputs) {
    for (size_t e = 0; e < program_.exprCount(); ++e) {
      const Expr& expr = program_.expr(ExprId(e));
      const size_t first = expr.kind == ExprKind::where ? 0 : 1;
      const size_t last = expr.kind == ExprKind::where ? 1 : expr.kind == ExprKind::reduce ? expr.args.size() : 0;
      for (size_t a = first; a < last; ++a) {
        const TensorId id = program_.expr(expr.args[a]).tensor;
        if (!stored_[id.index].empty()) continue;
        Tensor marks = inputs.find(program_.tensor(id).name)->second;
        std::fill(marks.values.begin(), marks.values.end(), 1.0);
        stored_[id.index] = toDense(marks);
      }
    }
  }

  template <class Visit>
  void forEach(const std::vector<VarId>& vars, size_t depth, const Visit& visit) {
    if (depth == vars.size()) return visit();
    const int64_t size = program_.size(vars[depth]);
    for (int64_t c = 0; c < size; ++c) {
      at_[vars[depth].index] = c;
      forEach(vars, depth + 1, visit);
    }
  }

  int64_t flat(const Expr& access) const {
    int64_t out = 0;
    for (const VarId v : access.vars) out = out * program_.size(v) + at_[v.index];
    return out;
  }

  bool isStored(ExprId pattern) const {
    const Expr& access = program_.expr(pattern);
    return stored_[access.tensor.index][flat(access)] != 0;
  }

  double value(ExprId id) {
    const Expr& e = program_.expr(id);
    switch (e.kind) {
      case ExprKind::constant: return e.value;
      case ExprKind::extent: return static_cast<double>(program_.dim(e.dim).size);
      case ExprKind::access: return values_[e.tensor.index][flat(e)];
      case ExprKind::where: return isStored(e.args[0]) ? value(e.args[1]) : 0;
      case ExprKind::reduce: return fold(e);
      case ExprKind::apply: {
        double operands[3] = {};
        for (size_t i = 0; i < e.args.size(); ++i) operands[i] = value(e.args[i]);
        return evalFn(e.fn, std::span(operands, e.args.size()));
      }
    }
    return 0;
  }

  double fold(const Expr& e) {
    double total = 0;
    int64_t count = 0;
    forEach(e.vars, 0, [&] {
      for (size_t i = 1; i < e.args.size(); ++i)
        if (!isStored(e.args[i])) return;
      const double v = value(e.args[0]);
      if (count++ == 0)
        total = v;
      else if (e.fold == Fold::max || e.fold == Fold::min)
        total = evalFn(e.fold == Fold::max ? Fn::max : Fn::min, std::array{total, v});
      else
        total += v;
    });
    return e.fold == Fold::mean && count > 0 ? total / static_cast<double>(count) : total;
  }

  const Program& program_;
  std::vector<std::vector<double>> values_, stored_;
  std::vector<int64_t> at_;  // the current coordinate of each variable
};

double steps(const Program& program, ExprId id) {
  const Expr& e = program.expr(id);
  double out = 1;
  for (const ExprId arg : e.args) out += steps(program, arg);
  if (e.kind == ExprKind::reduce)
    for (const VarId v : e.vars) out *= static_cast<double>(std::max<int64_t>(1, program.size(v)));
  return out;
}

}  // namespace

Result<> bindSizes(Program& program, const Bindings& inputs) {
  for (const TensorDecl& decl : program.tensors()) {
    if (decl.role != Role::input) continue;
    const auto found = inputs.find(decl.name);
    if (found == inputs.end())
      return Diagnostic{
          "T0932", decl.location, fmt::format("input {} has no data", decl.name),
          fmt::format("put {0}.mtx, {0}.tns, {0}.npz, {0}.npy or a SAM folder into the data folder", decl.name)};
    const Tensor& tensor = found->second;
    if (tensor.shape.size() != decl.dims.size())
      return Diagnostic{
          "T0932", decl.location,
          fmt::format("{} has {} dimensions, its data {}", decl.name, decl.dims.size(), tensor.shape.size()),
          "give data of the declared rank"};
    for (size_t i = 0; i < decl.dims.size(); ++i) {
      Dim& dim = program.dims()[decl.dims[i].index];
      if (dim.size < 0) dim.size = tensor.shape[i];
      if (dim.size != tensor.shape[i])
        return Diagnostic{"T0933", decl.location,
                          fmt::format("dimension {} is {}, but {} has {} along axis {}", dim.name, dim.size, decl.name,
                                      tensor.shape[i], i),
                          "give data of the same size, or declare another dimension"};
    }
  }
  for (const TensorDecl& decl : program.tensors())
    for (const DimId dim : decl.dims)
      if (program.dim(dim).size < 0)
        return Diagnostic{"T0933", decl.location,
                          fmt::format("the size of dimension {} is not known", program.dim(dim).name),
                          fmt::format("write dim {} = 64, or index an input with it", program.dim(dim).name)};
  return Unit{};
}

DenseValues evaluate(const Program& program, const Bindings& inputs) {
  DenseValues out;
  Evaluator evaluator(program, inputs);
  for (const Statement& statement : program.statements())
    out[program.tensor(statement.tensor).name] = evaluator.run(statement);
  return out;
}

double evaluationSteps(const Program& program) {
  double out = 0;
  for (const Statement& statement : program.statements()) {
    double points = 1;
    for (const VarId v : statement.vars) points *= static_cast<double>(std::max<int64_t>(1, program.size(v)));
    out += points * steps(program, statement.value);
  }
  return out;
}

}  // namespace tokamak::sparse
