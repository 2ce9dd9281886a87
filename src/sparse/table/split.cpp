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
    TK_RETURN_IF_ERROR(findBlocks());
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
      if (const VarId id(v); p.var(id).name == name && isUsed(id)) return block(id, size, {});
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

  Result<> block(VarId v, int64_t size, const Location& location) {
    const Program& p = from_.program;
    const auto [known, added] = blocks_.try_emplace(v, size);
    if (known->second != size)
      return Diagnostic{"T0977", location,
                        fmt::format("index {} runs over blocks of {} and of {}", p.var(v).name, known->second, size),
                        "give the formats one block size along it"};
    if (p.size(v) % size != 0)
      return Diagnostic{
          "T0977", location,
          fmt::format("blocks of {} do not divide the size {} of {}", size, p.size(v), p.dim(p.var(v).dim).name),
          "choose a block size that does, or pad the data"};
    return Unit{};
  }

  /// Block sizes of variables, from the accesses that have them.
  Result<> findBlocks() {
    const Program& p = from_.program;
    for (size_t e = 0; e < p.exprCount(); ++e) {
      const Expr& expr = p.expr(ExprId(e));
      if (expr.kind == ExprKind::access) TK_RETURN_IF_ERROR(findBlocks(expr.tensor, expr.vars));
    }
    for (const Statement& s : p.statements()) TK_RETURN_IF_ERROR(findBlocks(s.tensor, s.vars));
    return Unit{};
  }

  Result<> findBlocks(TensorId tensor, const std::vector<VarId>& vars) {
    const Program& p = from_.program;
    const TensorDecl& decl = p.tensor(tensor);
    if (!decl.format) return Unit{};
    for (const Level& level : decl.format->levels) {
      if (level.part != LevelPart::outer) continue;
      TK_RETURN_IF_ERROR(block(vars[static_cast<size_t>(level.axis)], level.block, decl.location));
    }
    return Unit{};
  }

  DimId dimOf(const std::string& name, int64_t size) {
    const DimId known = out_.program.findDim(name);
    return known ? known : out_.program.addDim(name, size);
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
      const Dim& dim = from_.program.dim(var.dim);
      out.push_back(out_.program.addVar(
          var.name + "_o", dimOf(fmt::format("{}_o{}", dim.name, block->second), dim.size / block->second)));
      out.push_back(
          out_.program.addVar(var.name + "_i", dimOf(fmt::format("{}_i{}", dim.name, block->second), block->second)));
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
      const Dim dim = from_.program.dim(decl.dims[axis]);
      parts.push_back({a, LevelPart::outer, key[axis]});
      parts.push_back({a, LevelPart::inner, key[axis]});
      dims.push_back(dimOf(fmt::format("{}_o{}", dim.name, key[axis]), dim.size / key[axis]));
      dims.push_back(dimOf(fmt::format("{}_i{}", dim.name, key[axis]), key[axis]));
    }
    decl.format = splitFormat(decl.format.value_or(Format::dense(static_cast<int>(vars.size()))), parts);
    decl.dims = std::move(dims);
    known->second = out_.program.addTensor(std::move(decl));
    out_.parts[known->second] = std::move(parts);
    return known->second;
  }

  /// Each level at the new axis; a whole level of a split axis becomes two of its kind.
  static Format splitFormat(const Format& format, const std::vector<Region::AxisPart>& parts) {
    Format out;
    for (const Level& level : format.levels)
      for (size_t p = 0; p < parts.size(); ++p) {
        if (parts[p].axis != level.axis) continue;
        if (level.part != LevelPart::whole && parts[p].part != level.part) continue;
        Level part{level.kind, static_cast<int>(p)};
        if (part.kind == LevelKind::singleton) part.kind = LevelKind::compressed;
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
        out = out_.program.reduce(e.fold, split(e.vars), args[0], {args.begin() + 1, args.end()});
        break;
    }
    return done_[id] = out;
  }

  Region from_, out_;
  std::map<VarId, int64_t> blocks_;
  std::map<std::pair<TensorId, std::vector<int64_t>>, TensorId> tensors_;
  std::map<ExprId, ExprId> done_;
};

}  // namespace

Result<Region> splitBlocks(Region region, const std::vector<std::pair<std::string, int64_t>>& wished) {
  return Splitter(std::move(region)).run(wished);
}

}  // namespace tokamak::sparse
