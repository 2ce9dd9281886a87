#include "sparse/table/split.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokamak::sparse {

namespace {

class Splitter {
 public:
  explicit Splitter(Region region) : from_(std::move(region)) {}

  Result<Region> run(const std::vector<std::pair<std::string, int64_t>>& wished) {
    for (const auto& [name, size] : wished) TK_RETURN_IF_ERROR(wish(name, size));
    findBlocks();
    if (blocks_.empty()) return std::move(from_);
    out_.statements = from_.statements;
    out_.program.dims() = from_.program.dims();
    for (const Statement& s : from_.program.statements()) {
      std::vector<VarId> vars = split(s.vars);
      const TensorId tensor = tensorFor(s.tensor, s.vars);
      const ExprId value = rewrite(s.value);
      out_.program.addStatement({tensor, std::move(vars), value, s.location});
    }
    return std::move(out_);
  }

 private:
  Result<> wish(const std::string& name, int64_t size) {
    const Program& p = from_.program;
    for (size_t v = 0; v < p.varCount(); ++v)
      if (const VarId id(v); p.var(id).name == name && isUsed(id)) {
        blocks_.try_emplace(id, size);
        return Unit{};
      }
    return Diagnostic{
        "T0972", {}, fmt::format("{} is no index variable of the region", name), "tokamak sparse explain lists them"};
  }

  bool isUsed(VarId v) const {
    const Program& p = from_.program;
    for (size_t e = 0; e < p.exprCount(); ++e) {
      const Expr& expr = p.expr(ExprId(e));
      if (expr.kind == ExprKind::access && std::find(expr.vars.begin(), expr.vars.end(), v) != expr.vars.end())
        return true;
    }
    return false;
  }

  /// Block sizes of variables, from the accesses that have them.
  void findBlocks() {
    const Program& p = from_.program;
    for (size_t e = 0; e < p.exprCount(); ++e) {
      const Expr& expr = p.expr(ExprId(e));
      if (expr.kind == ExprKind::access) findBlocks(expr.tensor, expr.vars);
    }
    for (const Statement& s : p.statements()) findBlocks(s.tensor, s.vars);
  }

  void findBlocks(TensorId tensor, const std::vector<VarId>& vars) {
    const TensorDecl& decl = from_.program.tensor(tensor);
    if (!decl.format) return;
    for (const Level& level : decl.format->levels)
      if (level.part == LevelPart::outer) blocks_.try_emplace(vars[static_cast<size_t>(level.axis)], level.block);
  }

  DimId dimOf(const std::string& name, int64_t size) {
    const DimId known = out_.program.findDim(name);
    return known ? known : out_.program.addDim(name, size);
  }

  /// A dimension over blocks, and one inside a block.
  std::pair<DimId, DimId> dimsOf(DimId whole, int64_t block) {
    const Dim dim = from_.program.dim(whole);
    const auto part = [&](char letter, LevelPart what) {
      return dimOf(fmt::format("{}_{}{}", dim.name, letter, block),
                   Level{.part = what, .block = block}.sizeFor(dim.size));
    };
    return {part('o', LevelPart::outer), part('i', LevelPart::inner)};
  }

  std::vector<VarId> split(const std::vector<VarId>& vars) {
    std::vector<VarId> out;
    for (const VarId v : vars) {
      const Var& var = from_.program.var(v);
      const auto block = blocks_.find(v);
      if (block == blocks_.end()) {
        out.push_back(out_.program.addVar(var.name, var.dim));
        continue;
      }
      const auto [outer, inner] = dimsOf(var.dim, block->second);
      out.push_back(out_.program.addVar(var.name + "_o", outer));
      out.push_back(out_.program.addVar(var.name + "_i", inner));
    }
    return out;
  }

  /// The tensor with the axes that `vars` split in two parts each.
  TensorId tensorFor(TensorId tensor, const std::vector<VarId>& vars) {
    std::vector<int64_t> key;
    for (const VarId v : vars) key.push_back(blocks_.contains(v) ? blocks_.at(v) : 0);
    const auto [known, added] = tensors_.try_emplace({tensor, key});
    if (!added) return known->second;
    TensorDecl decl = from_.program.tensor(tensor);
    std::vector<Region::AxisPart> parts;
    std::vector<DimId> dims;
    for (size_t axis = 0; axis < vars.size(); ++axis) {
      const int a = static_cast<int>(axis);
      if (key[axis] == 0) {
        parts.push_back({a, LevelPart::whole, 1});
        dims.push_back(decl.dims[axis]);
        continue;
      }
      const auto [outer, inner] = dimsOf(decl.dims[axis], key[axis]);
      parts.push_back({a, LevelPart::outer, key[axis]});
      parts.push_back({a, LevelPart::inner, key[axis]});
      dims.push_back(outer);
      dims.push_back(inner);
      if (decl.format && decl.role == Role::input) noteCopy(decl, a, key[axis]);
    }
    decl.format = splitFormat(decl.format.value_or(Format::dense(static_cast<int>(vars.size()))), parts);
    decl.dims = std::move(dims);
    known->second = out_.program.addTensor(std::move(decl));
    out_.parts[known->second] = std::move(parts);
    return known->second;
  }

  void noteCopy(const TensorDecl& decl, int axis, int64_t block) {
    for (const Level& level : decl.format->levels)
      if (level.axis == axis && level.part == LevelPart::outer && level.block != block)
        out_.notes.push_back(fmt::format("{} has blocks of {} along axis {}: a copy in blocks of {} is read", decl.name,
                                         level.block, axis, block));
  }

  /// Each level at the new axis; a whole level of a split axis becomes two of its kind. Inside blocks of another size
  /// than the stored ones only what is stored is kept.
  static Format splitFormat(const Format& format, const std::vector<Region::AxisPart>& parts) {
    Format out;
    for (const Level& level : format.levels)
      for (size_t p = 0; p < parts.size(); ++p) {
        if (parts[p].axis != level.axis) continue;
        if (level.part != LevelPart::whole && parts[p].part != level.part) continue;
        Level part{level.kind, static_cast<int>(p)};
        const bool other = level.part == LevelPart::inner && level.block != parts[p].block;
        if (part.kind == LevelKind::singleton || other) part.kind = LevelKind::compressed;
        out.levels.push_back(part);
      }
    return out;
  }

  ExprId rewrite(ExprId id) {
    if (const auto known = done_.find(id); known != done_.end()) return known->second;
    const Expr e = from_.program.expr(id);
    std::vector<ExprId> args;
    for (const ExprId arg : e.args) args.push_back(rewrite(arg));
    ExprId out;
    switch (e.kind) {
      case ExprKind::constant: out = out_.program.constant(e.value); break;
      case ExprKind::extent: out = out_.program.extent(e.dim); break;
      case ExprKind::access: out = out_.program.access(tensorFor(e.tensor, e.vars), split(e.vars)); break;
      case ExprKind::apply: out = out_.program.apply(e.fn, std::move(args)); break;
      case ExprKind::where: out = out_.program.where(args[0], args[1]); break;
      case ExprKind::reduce:
        for (const VarId v : e.vars)
          if (isCut(v) && !(e.fold == Fold::sum && beyond(e.args[0], v) == 0.0)) args.push_back(rangeAlong(v));
        out = out_.program.reduce(e.fold, split(e.vars), args[0], {args.begin() + 1, args.end()});
        break;
    }
    return done_[id] = out;
  }

  /// Whether the last block of a variable is not full.
  bool isCut(VarId v) const {
    const auto block = blocks_.find(v);
    const int64_t size = from_.program.size(v);
    return block != blocks_.end() && size > block->second && size % block->second != 0;
  }

  /// The value of an expression beyond the edge of `v`, where every tensor along it is zero; nothing where it depends
  /// on others.
  std::optional<double> beyond(ExprId id, VarId v) const {
    const Expr& e = from_.program.expr(id);
    if (e.kind == ExprKind::constant) return e.value;
    if (!std::binary_search(from_.program.freeVars(id).begin(), from_.program.freeVars(id).end(), v)) return {};
    if (e.kind == ExprKind::access) return 0;
    if (e.kind == ExprKind::apply) {
      std::vector<double> known;
      for (size_t i = 0; i < e.args.size(); ++i) {
        const std::optional<double> value = beyond(e.args[i], v);
        if (value == 0.0 && annihilates(e.fn, static_cast<int>(i))) return 0;
        if (value) known.push_back(*value);
      }
      return known.size() == e.args.size() ? std::optional(evalFn(e.fn, known)) : std::nullopt;
    }
    const std::optional<double> body = beyond(e.args[e.kind == ExprKind::where ? 1 : 0], v);
    return body == 0.0 ? body : std::nullopt;
  }

  /// The coordinates of a variable that lie within its dimension, as an access that says where to fold.
  ExprId rangeAlong(VarId v) {
    const DimId dim = from_.program.var(v).dim;
    const int64_t block = blocks_.at(v);
    const auto [known, added] = ranges_.try_emplace({dim, block});
    if (added) {
      const auto [outer, inner] = dimsOf(dim, block);
      const Format format{{{LevelKind::dense, 0}, {LevelKind::compressed, 1}}};
      known->second = out_.program.addTensor(
          {.name = from_.program.dim(dim).name + ".range", .dims = {outer, inner}, .format = format});
      out_.parts[known->second] = {{0, LevelPart::outer, block}, {0, LevelPart::inner, block}};
      out_.ranges[known->second] = from_.program.dim(dim).size;
    }
    return out_.program.access(known->second, split({v}));
  }

  Region from_, out_;
  std::map<VarId, int64_t> blocks_;
  std::map<std::pair<TensorId, std::vector<int64_t>>, TensorId> tensors_;
  std::map<std::pair<DimId, int64_t>, TensorId> ranges_;
  std::map<ExprId, ExprId> done_;
};

}  // namespace

Result<Region> splitBlocks(Region region, const std::vector<std::pair<std::string, int64_t>>& wished) {
  return Splitter(std::move(region)).run(wished);
}

}  // namespace tokamak::sparse
