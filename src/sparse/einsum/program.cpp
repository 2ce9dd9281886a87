#include "sparse/einsum/program.h"

#include <algorithm>
#include <bit>

namespace tokamak::sparse {

namespace {

size_t hashOf(const Expr& e) {
  size_t out = static_cast<size_t>(e.kind);
  const auto mix = [&](size_t v) { out = (out ^ v) * 0x9E3779B97F4A7C15ull + (out >> 29); };
  mix(std::bit_cast<uint64_t>(e.value));
  mix(e.dim.index);
  mix(e.tensor.index);
  mix(static_cast<size_t>(e.fn) * 16 + static_cast<size_t>(e.fold));
  for (const VarId v : e.vars) mix(v.index + 1);
  for (const ExprId a : e.args) mix(a.index + 7777);
  return out;
}

bool same(const Expr& a, const Expr& b) {
  return std::bit_cast<uint64_t>(a.value) == std::bit_cast<uint64_t>(b.value) && a.kind == b.kind && a.dim == b.dim &&
         a.tensor == b.tensor && a.fn == b.fn && a.fold == b.fold && a.vars == b.vars && a.args == b.args;
}

}  // namespace

DimId Program::addDim(std::string name, int64_t size) {
  dims_.push_back({std::move(name), size});
  return DimId(dims_.size() - 1);
}

VarId Program::addVar(std::string_view name, DimId dim) {
  const auto key = std::pair{std::string(name), dim.index};
  if (const auto found = varIds_.find(key); found != varIds_.end()) return found->second;
  vars_.push_back({std::string(name), dim});
  return varIds_[key] = VarId(vars_.size() - 1);
}

TensorId Program::addTensor(TensorDecl tensor) {
  tensorIds_.try_emplace(tensor.name, tensors_.size());
  tensors_.push_back(std::move(tensor));
  return TensorId(tensors_.size() - 1);
}

void Program::rename(TensorId id, std::string name) {
  tensorIds_.erase(tensors_[id.index].name);
  tensorIds_[name] = id;
  tensors_[id.index].name = std::move(name);
}

ExprId Program::intern(Expr expr) {
  const size_t hash = hashOf(expr);
  for (auto [at, end] = interned_.equal_range(hash); at != end; ++at)
    if (same(exprs_[at->second.index], expr)) return at->second;
  std::vector<VarId> free;
  if (expr.kind == ExprKind::access) free = expr.vars;
  for (const ExprId arg : expr.args) free.insert(free.end(), free_[arg.index].begin(), free_[arg.index].end());
  std::sort(free.begin(), free.end());
  free.erase(std::unique(free.begin(), free.end()), free.end());
  if (expr.kind == ExprKind::reduce)
    std::erase_if(free, [&](VarId v) { return std::find(expr.vars.begin(), expr.vars.end(), v) != expr.vars.end(); });
  const ExprId id(exprs_.size());
  exprs_.push_back(std::move(expr));
  free_.push_back(std::move(free));
  interned_.emplace(hash, id);
  return id;
}

ExprId Program::constant(double value) { return intern({.kind = ExprKind::constant, .value = value}); }
ExprId Program::extent(DimId dim) { return intern({.kind = ExprKind::extent, .dim = dim}); }

ExprId Program::access(TensorId tensor, std::vector<VarId> vars) {
  return intern({.kind = ExprKind::access, .tensor = tensor, .vars = std::move(vars)});
}

ExprId Program::apply(Fn fn, std::vector<ExprId> args) {
  TK_CHECK(static_cast<int>(args.size()) == arity(fn), "wrong number of operands");
  return intern({.kind = ExprKind::apply, .fn = fn, .args = std::move(args)});
}

ExprId Program::where(ExprId pattern, ExprId body) {
  return intern({.kind = ExprKind::where, .args = {pattern, body}});
}

ExprId Program::reduce(Fold fold, std::vector<VarId> vars, ExprId body, const std::vector<ExprId>& patterns) {
  std::vector<ExprId> args = {body};
  args.insert(args.end(), patterns.begin(), patterns.end());
  return intern({.kind = ExprKind::reduce, .fold = fold, .vars = std::move(vars), .args = std::move(args)});
}

DimId Program::findDim(std::string_view name) const {
  for (size_t i = 0; i < dims_.size(); ++i)
    if (dims_[i].name == name) return DimId(i);
  return {};
}

TensorId Program::findTensor(std::string_view name) const {
  const auto found = tensorIds_.find(name);
  return found == tensorIds_.end() ? TensorId{} : found->second;
}

std::vector<int64_t> Program::shape(TensorId id) const {
  std::vector<int64_t> out;
  for (const DimId d : tensor(id).dims) out.push_back(dim(d).size);
  return out;
}

bool Program::operator==(const Program& other) const { return print(*this) == print(other); }

}  // namespace tokamak::sparse
