#include "sparse/einsum/resolve.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace tokamak::sparse {

namespace {

/// Where variables that nothing binds may be summed over: in any term, in products alone (inside calls, where the sum
/// over a single tensor could be meant inside or outside), or nowhere.
enum class Total : uint8_t { none, products, terms };

class Resolver {
 public:
  Resolver(Program& program, const Cursor& cursor, const Syntax& target)
      : program_(program), cursor_(cursor), target_(target) {}

  Result<> run(const Syntax& value) {
    TK_RETURN_IF_ERROR(targetVars());
    TK_RETURN_IF_ERROR(findDims(value));
    for (const Token& var : target_.vars)
      if (!dims_.contains(var.text))
        return fail("T0927", var, fmt::format("index {} is on the left but nowhere on the right", var.text),
                    "the right side must say over which dimension it runs");
    for (const Token& var : target_.vars) bound_.push_back(var.text);
    TK_TRY(const ExprId expr, resolve(value, Total::terms));
    return define(expr);
  }

 private:
  Diagnostic fail(std::string_view code, const Token& at, std::string message, std::string hint) const {
    return cursor_.fail(code, at, std::move(message), std::move(hint));
  }

  Result<> targetVars() {
    for (size_t i = 0; i < target_.vars.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (target_.vars[i].text == target_.vars[j].text)
          return fail("T0927", target_.vars[i], fmt::format("index {} comes twice on the left", target_.vars[i].text),
                      "every index of a result is a variable of its own");
    if (const TensorId id = program_.findTensor(target_.token.text)) {
      const TensorDecl& decl = program_.tensor(id);
      if (decl.role == Role::input)
        return fail("T0926", target_.token, fmt::format("{} is an input", decl.name), "declare it as output or temp");
      for (const Statement& statement : program_.statements())
        if (statement.tensor == id)
          return fail("T0926", target_.token, fmt::format("{} has a value already", decl.name),
                      "a tensor is defined once; use another name");
      if (decl.dims.size() != target_.vars.size()) return wrongRank(target_, decl);
      for (size_t i = 0; i < decl.dims.size(); ++i) dims_[target_.vars[i].text] = {decl.dims[i], &target_};
    }
    return Unit{};
  }

  Diagnostic wrongRank(const Syntax& access, const TensorDecl& decl) const {
    return fail(
        "T0928", access.token,
        fmt::format("{} has {} dimensions, here are {} indices", decl.name, decl.dims.size(), access.vars.size()),
        "give an index for each dimension");
  }

  Result<TensorId> tensorOf(const Syntax& access) const {
    if (const TensorId id = program_.findTensor(access.token.text)) {
      const TensorDecl& decl = program_.tensor(id);
      const bool defined =
          decl.role == Role::input || std::any_of(program_.statements().begin(), program_.statements().end(),
                                                  [&](const Statement& s) { return s.tensor == id; });
      if (!defined)
        return fail("T0929", access.token, fmt::format("{} is used before it has a value", decl.name),
                    "move its statement up");
      if (decl.dims.size() != access.vars.size()) return wrongRank(access, decl);
      return id;
    }
    std::vector<std::string> names;
    for (const TensorDecl& decl : program_.tensors()) names.push_back(decl.name);
    const std::string guess = didYouMean(access.token.text, names);
    return fail("T0929", access.token, fmt::format("there is no tensor {}", access.token.text),
                guess.empty() ? "declare it with input, or write its statement above" : guess);
  }

  bool isExtent(const Syntax& access) const {
    return access.vars.empty() && !program_.findTensor(access.token.text) && program_.findDim(access.token.text);
  }

  /// The dimension of every variable, from the tensors that it indexes.
  Result<> findDims(const Syntax& value) {
    if (value.kind == Syntax::Kind::access && !isExtent(value)) {
      TK_TRY(const TensorId id, tensorOf(value));
      for (size_t i = 0; i < value.vars.size(); ++i) {
        const DimId dim = program_.tensor(id).dims[i];
        const auto [known, fresh] = dims_.try_emplace(value.vars[i].text, dim, &value);
        if (!fresh && known->second.first != dim)
          return fail("T0930", value.vars[i],
                      fmt::format("index {} runs over {} in {} and over {} in {}", value.vars[i].text,
                                  program_.dim(known->second.first).name, known->second.second->token.text,
                                  program_.dim(dim).name, value.token.text),
                      "use two variables, or one dimension");
      }
    }
    for (const SyntaxPtr& arg : value.args) TK_RETURN_IF_ERROR(findDims(*arg));
    return Unit{};
  }

  VarId var(std::string_view name) { return program_.addVar(name, dims_.at(name).first); }

  Result<ExprId> resolve(const Syntax& value, Total where) {
    const bool product = value.kind == Syntax::Kind::apply && value.fn == Fn::mul;
    if (where != Total::none && product) return total(value);
    if (where == Total::terms && value.kind == Syntax::Kind::access) return total(value);
    switch (value.kind) {
      case Syntax::Kind::number: return program_.constant(value.value);
      case Syntax::Kind::access: return access(value);
      case Syntax::Kind::apply: {
        const bool additive = value.fn == Fn::add || value.fn == Fn::sub || value.fn == Fn::neg;
        const Total inside = where == Total::terms && !additive ? Total::products : where;
        std::vector<ExprId> args;
        for (const SyntaxPtr& arg : value.args) {
          TK_TRY(const ExprId id, resolve(*arg, inside));
          args.push_back(id);
        }
        return program_.apply(value.fn, std::move(args));
      }
      case Syntax::Kind::where: {
        TK_TRY(const ExprId pattern, this->pattern(*value.args[0]));
        TK_TRY(const ExprId body, resolve(*value.args[1], where));
        return program_.where(pattern, body);
      }
      case Syntax::Kind::reduce: return reduce(value);
    }
    return program_.constant(0);
  }

  Result<ExprId> total(const Syntax& value) {
    std::vector<std::string_view> unbound;
    collectUnbound(value, unbound);
    if (unbound.empty() && value.kind != Syntax::Kind::access) {
      // Factors may be sums or calls with terms of their own.
      std::vector<ExprId> args;
      for (const SyntaxPtr& arg : value.args) {
        TK_TRY(const ExprId id, resolve(*arg, Total::products));
        args.push_back(id);
      }
      return program_.apply(value.fn, std::move(args));
    }
    const size_t outside = bound_.size();
    bound_.insert(bound_.end(), unbound.begin(), unbound.end());
    TK_TRY(const ExprId body, resolve(value, Total::none));
    bound_.resize(outside);
    if (unbound.empty()) return body;
    std::vector<VarId> vars;
    for (const std::string_view name : unbound) vars.push_back(var(name));
    return program_.reduce(Fold::sum, std::move(vars), body);
  }

  /// Variables of the accesses that are factors of a product and that nothing binds, in order of appearance.
  void collectUnbound(const Syntax& value, std::vector<std::string_view>& out) const {
    if (value.kind == Syntax::Kind::access)
      for (const Token& v : value.vars)
        if (!isBound(v.text) && std::find(out.begin(), out.end(), v.text) == out.end()) out.push_back(v.text);
    if (value.kind == Syntax::Kind::apply && value.fn == Fn::mul)
      for (const SyntaxPtr& arg : value.args) collectUnbound(*arg, out);
  }

  bool isBound(std::string_view name) const { return std::find(bound_.begin(), bound_.end(), name) != bound_.end(); }

  Result<ExprId> access(const Syntax& value) {
    if (isExtent(value)) return program_.extent(program_.findDim(value.token.text));
    TK_TRY(const TensorId id, tensorOf(value));
    std::vector<VarId> vars;
    for (const Token& v : value.vars) {
      if (!isBound(v.text))
        return fail("T0927", v, fmt::format("nothing says what becomes of index {}", v.text),
                    fmt::format("put it on the left, or fold over it: sum({}: ...)", v.text));
      vars.push_back(var(v.text));
    }
    for (size_t i = 0; i < vars.size(); ++i)
      if (std::find(vars.begin(), vars.begin() + static_cast<int64_t>(i), vars[i]) !=
          vars.begin() + static_cast<int64_t>(i))
        return fail("T0927", value.vars[i], fmt::format("index {} comes twice in one tensor", value.vars[i].text),
                    "diagonals are not supported: extract it before");
    return program_.access(id, std::move(vars));
  }

  Result<ExprId> pattern(const Syntax& value) {
    TK_TRY(const ExprId id, access(value));
    if (program_.expr(id).kind != ExprKind::access || program_.tensor(program_.expr(id).tensor).role != Role::input)
      return fail("T0931", value.token, fmt::format("{} is no input, so it has no stored entries", value.token.text),
                  "name the input whose entries are meant");
    return id;
  }

  Result<ExprId> reduce(const Syntax& value) {
    const size_t outside = bound_.size();
    for (const Token& v : value.vars) {
      if (isBound(v.text))
        return fail("T0927", v, fmt::format("index {} is bound already", v.text), "use another name");
      if (!dims_.contains(v.text))
        return fail("T0927", v, fmt::format("index {} is folded over but never used", v.text),
                    "the body must say over which dimension it runs");
      bound_.push_back(v.text);
    }
    std::vector<VarId> vars;
    for (const Token& v : value.vars) vars.push_back(var(v.text));
    std::vector<ExprId> patterns;
    for (size_t i = 1; i < value.args.size(); ++i) {
      TK_TRY(const ExprId id, pattern(*value.args[i]));
      patterns.push_back(id);
    }
    TK_TRY(const ExprId body, resolve(*value.args[0], Total::terms));
    bound_.resize(outside);
    return program_.reduce(value.fold, std::move(vars), body, patterns);
  }

  Result<> define(ExprId value) {
    TensorId id = program_.findTensor(target_.token.text);
    std::vector<VarId> vars;
    for (const Token& v : target_.vars) vars.push_back(var(v.text));
    if (!id) {
      TensorDecl decl{.name = std::string(target_.token.text), .role = Role::temp, .declared = false};
      for (const VarId v : vars) decl.dims.push_back(program_.var(v).dim);
      decl.location = cursor_.place(target_.token);
      id = program_.addTensor(std::move(decl));
    }
    program_.addStatement({id, std::move(vars), value, cursor_.place(target_.token)});
    return Unit{};
  }

  Program& program_;
  const Cursor& cursor_;
  const Syntax& target_;
  std::map<std::string_view, std::pair<DimId, const Syntax*>> dims_;
  std::vector<std::string_view> bound_;  // on the left or by folds around
};

}  // namespace

Result<> addStatement(Program& program, const Cursor& cursor, const Syntax& target, const Syntax& value) {
  return Resolver(program, cursor, target).run(value);
}

}  // namespace tokamak::sparse
