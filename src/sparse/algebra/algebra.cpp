#include "sparse/algebra/algebra.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sparse/algebra/sum.h"

namespace tokamak::sparse {

namespace {

constexpr size_t kMostFactors = 9, kMostTerms = 16;
constexpr double kWorthwhile = 0.9;  // of the operations before

class Rewriter {
 public:
  Rewriter(const Program& program, const std::map<std::string, double>& densities,
           const std::map<std::string, int>& groups)
      : program_(program), work_(program_, densities), groups_(groups) {
    countUses();
  }

  AlgebraResult run() {
    for (const Statement& original : std::vector<Statement>(program_.statements())) {
      current_ = original;
      current_.value = rewrite(original.value);
      work_.of(current_);
      done_.push_back(current_);
      definition_[current_.tensor] = current_;
    }
    program_.statements() = std::move(done_);
    return {std::move(program_), std::move(ledger_)};
  }

 private:
  /// How often each tensor is read, and by how many statements.
  void countUses() {
    for (const Statement& s : program_.statements()) countUses(s.value);
  }
  void countUses(ExprId id) {
    const Expr& e = program_.expr(id);
    if (e.kind == ExprKind::access) ++uses_[e.tensor];
    for (const ExprId arg : e.args) countUses(arg);
  }

  /// Operands first, then the expression itself where it is a sum or a product.
  ExprId rewrite(ExprId id) {
    if (isProduct(id)) return distributed(id);
    const Expr e = program_.expr(id);
    const size_t outside = loops_.size();
    if (e.kind == ExprKind::reduce) loops_.insert(loops_.end(), e.vars.begin(), e.vars.end());
    std::vector<ExprId> args;
    for (const ExprId arg : e.args) args.push_back(rewrite(arg));
    loops_.resize(outside);
    if (e.kind == ExprKind::apply && (e.fn == Fn::add || e.fn == Fn::sub))
      return factored(program_.apply(e.fn, std::move(args)));
    if (args == e.args) return id;
    switch (e.kind) {
      case ExprKind::apply: return program_.apply(e.fn, std::move(args));
      case ExprKind::where: return program_.where(args[0], args[1]);
      default: return program_.reduce(e.fold, e.vars, args[0], {args.begin() + 1, args.end()});
    }
  }

  bool isProduct(ExprId id) const {
    const Expr& e = program_.expr(id);
    if (e.kind == ExprKind::apply) return e.fn == Fn::mul;
    return e.kind == ExprKind::reduce && e.fold == Fold::sum && e.args.size() == 1;
  }

  /// A temp that only this product uses, is itself a product (or a sum, where that is asked for) and was given no
  /// format.
  const Statement* inlinable(ExprId factor, bool sums = false) const {
    const Expr& e = program_.expr(factor);
    if (e.kind != ExprKind::access || program_.tensor(e.tensor).role != Role::temp) return nullptr;
    if (program_.tensor(e.tensor).format || program_.tensor(e.tensor).declared || uses_.at(e.tensor) != 1)
      return nullptr;
    if (groupOf(e.tensor) != groupOf(current_.tensor)) return nullptr;
    const auto found = definition_.find(e.tensor);
    if (found == definition_.end() || (sums && groupOf(e.tensor) != -1)) return nullptr;  // its name must stay
    const bool fits = sums ? termsOf(program_, found->second.value).size() > 1 : isProduct(found->second.value);
    return fits ? &found->second : nullptr;
  }

  /// Sums among the factors multiplied out where that is cheaper than the best product of them, else that product.
  ExprId distributed(ExprId id) {
    const ExprId together = reassociated(id);
    if (!isProduct(together)) return together;
    Product product = productOf(program_, together);
    double before = work_.of(together).operations;
    std::vector<Statement> inlined;
    for (ExprId& factor : product.factors)
      if (const Statement* sum = inlinable(factor, /*sums=*/true)) {
        inlined.push_back(*sum);
        before += work_.of(sum->value).operations;
        factor = renamed(program_, sum->value, namesIn(*sum, program_.expr(factor).vars, {product.folded, {}}));
      }
    const bool anySum = std::any_of(product.factors.begin(), product.factors.end(),
                                    [&](ExprId f) { return termsOf(program_, f).size() > 1; });
    if (!anySum || product.factors.size() < 2 || product.factors.size() > kMostFactors || !coversFolded(product))
      return together;
    const ExprId apart = cheapestDistribution(program_, product, work_, kWorthwhile);
    if (isProduct(apart) || work_.of(apart).operations > before * kWorthwhile) return together;
    std::string text;
    for (const Statement& s : inlined) {
      text += describe(s) + "; ";
      std::erase_if(done_, [&](const Statement& d) { return d.tensor == s.tensor; });
    }
    ledger_.push_back(
        {"distribute", text + print(program_, together), print(program_, apart), before, work_.of(apart).operations});
    return apart;
  }

  /// The variables of a temp's statement where it is put in: those of its use, and for those that it binds itself, at
  /// whatever depth, such as mean nothing around.
  std::map<VarId, VarId> namesIn(const Statement& definition, const std::vector<VarId>& args, const Product& around) {
    std::map<VarId, VarId> names;
    for (size_t i = 0; i < args.size(); ++i) names[definition.vars[i]] = args[i];
    std::vector<ExprId> todo = {definition.value};
    while (!todo.empty()) {
      const Expr e = program_.expr(todo.back());
      todo.pop_back();
      todo.insert(todo.end(), e.args.begin(), e.args.end());
      if (e.kind != ExprKind::reduce) continue;
      for (const VarId v : e.vars)
        if (!names.contains(v)) names[v] = distinct(v, definition.tensor, around, args);
    }
    return names;
  }

  /// A variable like `v` whose name nothing around has.
  VarId distinct(VarId v, TensorId of, const Product& around, const std::vector<VarId>& args) {
    std::string name = program_.var(v).name;
    for (int attempt = 0; isTaken(around, args, name); ++attempt)
      name = fmt::format("{}_{}{}", program_.var(v).name, program_.tensor(of).name,
                         attempt == 0 ? "" : std::to_string(attempt));
    return program_.addVar(name, program_.var(v).dim);
  }

  int groupOf(TensorId tensor) const {
    const auto found = groups_.find(program_.tensor(tensor).name);
    return found == groups_.end() ? -1 : found->second;
  }

  /// Sums strictly inside a tree of products.
  size_t innerSums(ExprId id, bool root) const {
    if (!isProduct(id)) return 0;
    const Expr& e = program_.expr(id);
    size_t out = !root && e.kind == ExprKind::reduce;
    for (const ExprId arg : e.args) out += innerSums(arg, root && e.kind == ExprKind::reduce);
    return out;
  }

  ExprId reassociated(ExprId id) {
    Product product = productOf(program_, id);
    const size_t outside = loops_.size();
    loops_.insert(loops_.end(), product.folded.begin(), product.folded.end());
    for (ExprId& factor : product.factors) factor = isProduct(factor) ? factor : rewrite(factor);
    loops_.resize(outside);
    double before = work_.of(id).operations;
    std::vector<Statement> inlined;
    Product whole{product.folded, {}};
    for (const ExprId factor : product.factors) {
      const Statement* definition = inlinable(factor);
      if (!definition || whole.factors.size() + 2 > kMostFactors) {
        whole.factors.push_back(factor);
        continue;
      }
      inlined.push_back(*definition);
      before += work_.of(definition->value).operations;
      append(whole, *definition, program_.expr(factor).vars);
    }
    const ExprId tree = tryTree(whole, inlined.empty() ? id : ExprId{}, before);
    if (!inlined.empty() && tree && innerSums(tree, true) >= inlined.size())
      return materialise(id, tree, inlined, before);
    if (tree && inlined.empty()) return noted("reassociate", id, tree, before);
    return tryTree(product, id, work_.of(id).operations) ? noted("reassociate", id, last_, work_.of(id).operations)
                                                         : rebuilt(id, product);
  }

  /// The cheapest tree of a product if it saves enough, kept in last_ as well.
  ExprId tryTree(const Product& product, ExprId same, double before) {
    last_ = {};
    if (product.factors.size() < 2 || product.factors.size() > kMostFactors || !coversFolded(product)) return {};
    const ExprId tree = cheapestTree(program_, product, work_);
    if (tree == same || work_.of(tree).operations > before * kWorthwhile) return {};
    return last_ = tree;
  }

  bool coversFolded(const Product& product) const {
    return std::all_of(product.folded.begin(), product.folded.end(), [&](VarId v) {
      return std::any_of(product.factors.begin(), product.factors.end(), [&](ExprId f) {
        return std::binary_search(program_.freeVars(f).begin(), program_.freeVars(f).end(), v);
      });
    });
  }

  /// The same product with factors that may have been rewritten inside.
  ExprId rebuilt(ExprId id, const Product& product) {
    return productOf(program_, id).factors == product.factors ? id : rebuiltFrom(product);
  }

  /// The factors of a temp's product, its variables renamed to those of its use and its own made distinct.
  void append(Product& whole, const Statement& definition, const std::vector<VarId>& args) {
    const std::map<VarId, VarId> names = namesIn(definition, args, whole);
    const Product inner = productOf(program_, definition.value);
    for (const VarId v : inner.folded) whole.folded.push_back(names.at(v));
    for (const ExprId factor : inner.factors) whole.factors.push_back(renamed(program_, factor, names));
  }

  bool binds(ExprId id, const std::string& name) const {
    const Expr& e = program_.expr(id);
    const auto is = [&](VarId v) { return program_.var(v).name == name; };
    return (e.kind == ExprKind::reduce && std::any_of(e.vars.begin(), e.vars.end(), is)) ||
           std::any_of(e.args.begin(), e.args.end(), [&](ExprId arg) { return binds(arg, name); });
  }

  bool isTaken(const Product& whole, const std::vector<VarId>& args, const std::string& name) const {
    const auto is = [&](VarId v) { return program_.var(v).name == name; };
    return std::any_of(whole.folded.begin(), whole.folded.end(), is) || std::any_of(args.begin(), args.end(), is) ||
           std::any_of(current_.vars.begin(), current_.vars.end(), is) ||
           std::any_of(loops_.begin(), loops_.end(), is) ||
           std::any_of(whole.factors.begin(), whole.factors.end(), [&](ExprId f) { return binds(f, name); });
  }

  /// Sums inside the tree become the temps that were put in, under their names; what is left stays nested.
  ExprId materialise(ExprId before, ExprId tree, const std::vector<Statement>& inlined, double operations) {
    std::string text;
    for (const Statement& s : inlined) text += describe(s) + "; ";
    text += print(program_, before);
    for (const Statement& s : inlined) std::erase_if(done_, [&](const Statement& d) { return d.tensor == s.tensor; });
    names_.clear();
    for (const Statement& s : inlined) names_.push_back(s.tensor);
    made_.clear();
    const ExprId out = cut(tree, /*root=*/true);
    std::string after;
    for (const Statement& s : made_) after += describe(s) + "; ";
    ledger_.push_back({"reassociate", text, after + print(program_, out), operations, work_.of(tree).operations});
    for (Statement& s : made_) {
      definition_[s.tensor] = s;
      work_.of(s);
      done_.push_back(std::move(s));
    }
    return out;
  }

  ExprId cut(ExprId id, bool root) {
    const Expr e = program_.expr(id);
    if (!isProduct(id)) return id;
    std::vector<ExprId> args;
    for (const ExprId arg : e.args) args.push_back(cut(arg, root && e.kind == ExprKind::reduce));
    const ExprId out =
        e.kind == ExprKind::apply ? program_.apply(Fn::mul, args) : program_.reduce(Fold::sum, e.vars, args[0]);
    if (root || e.kind != ExprKind::reduce || names_.empty()) return out;
    const TensorId tensor = names_.front();
    names_.erase(names_.begin());
    std::vector<VarId> vars;
    inOrder(out, vars);
    TensorDecl& decl = program_.tensors()[tensor.index];
    decl.dims.clear();
    for (const VarId v : vars) decl.dims.push_back(program_.var(v).dim);
    made_.push_back({tensor, vars, out, current_.location});
    return program_.access(tensor, vars);
  }

  /// The free variables as they come in the text.
  void inOrder(ExprId id, std::vector<VarId>& out) const {
    std::vector<ExprId> todo = {id};
    const std::vector<VarId>& free = program_.freeVars(id);
    while (!todo.empty()) {
      const Expr& e = program_.expr(todo.back());
      todo.pop_back();
      for (const VarId v : e.vars)
        if (e.kind == ExprKind::access && std::binary_search(free.begin(), free.end(), v) &&
            std::find(out.begin(), out.end(), v) == out.end())
          out.push_back(v);
      for (size_t i = e.args.size(); i-- > 0;) todo.push_back(e.args[i]);
    }
  }

  /// a * b + c + a * d as a * (b + d) + c where that is cheaper, for any two terms.
  ExprId factored(ExprId id) {
    const std::vector<Term> terms = termsOf(program_, id);
    if (terms.size() > kMostTerms) return id;
    const double before = work_.of(id).operations;
    for (size_t j = 1; j < terms.size(); ++j)
      for (size_t i = 0; i < j; ++i) {
        const ExprId both = shared(terms[i], terms[j]);
        if (!both) continue;
        std::vector<Term> fewer = terms;
        fewer[i].value = both;
        fewer.erase(fewer.begin() + static_cast<int64_t>(j));
        const ExprId candidate = sumOf(program_, fewer);
        if (work_.of(candidate).operations <= before * kWorthwhile)
          return factored(noted("factor", id, candidate, before));
      }
    return id;
  }

  /// Two terms as one product with the factor that both have, or nothing.
  ExprId shared(const Term& a, const Term& b) {
    const Product left = productOf(program_, a.value), right = productOf(program_, b.value);
    if (std::set<VarId>(left.folded.begin(), left.folded.end()) !=
        std::set<VarId>(right.folded.begin(), right.folded.end()))
      return {};
    for (const ExprId common : left.factors) {
      if (std::find(right.factors.begin(), right.factors.end(), common) == right.factors.end()) continue;
      const Fn fn = a.negative == b.negative ? Fn::add : Fn::sub;
      Product both{left.folded, {common, program_.apply(fn, {without(left, common), without(right, common)})}};
      if (coversFolded(both)) return rebuiltFrom(both);
    }
    return {};
  }

  ExprId without(const Product& product, ExprId factor) {
    ExprId out;
    bool skipped = false;
    for (const ExprId f : product.factors) {
      if (f == factor && !skipped) {
        skipped = true;
        continue;
      }
      out = out ? program_.apply(Fn::mul, {out, f}) : f;
    }
    return out ? out : program_.constant(1);
  }

  ExprId rebuiltFrom(const Product& product) {
    ExprId out = product.factors[0];
    for (size_t i = 1; i < product.factors.size(); ++i) out = program_.apply(Fn::mul, {out, product.factors[i]});
    return product.folded.empty() ? out : program_.reduce(Fold::sum, product.folded, out);
  }

  ExprId noted(std::string rule, ExprId before, ExprId after, double operations) {
    ledger_.push_back(
        {std::move(rule), print(program_, before), print(program_, after), operations, work_.of(after).operations});
    return after;
  }

  std::string describe(const Statement& s) {
    return fmt::format("{} = {}", print(program_, program_.access(s.tensor, s.vars)), print(program_, s.value));
  }

  Program program_;
  WorkModel work_;
  const std::map<std::string, int>& groups_;
  std::map<TensorId, int> uses_;
  std::map<TensorId, Statement> definition_;
  Statement current_;
  std::vector<VarId> loops_;  // that are open around what is being rewritten
  std::vector<Statement> done_, made_;
  std::vector<TensorId> names_;
  std::vector<AlgebraStep> ledger_;
  ExprId last_;
};

}  // namespace

std::string AlgebraStep::str() const {
  return fmt::format("{}: {}  =>  {}  ({:.3g} operations instead of {:.3g})", rule, before, after, operationsAfter,
                     operationsBefore);
}

AlgebraResult rewriteAlgebra(const Program& program, const std::map<std::string, double>& densities,
                             const std::map<std::string, int>& groups) {
  return Rewriter(program, densities, groups).run();
}

}  // namespace tokamak::sparse
