#include "sparse/algebra/sum.h"

#include <algorithm>

namespace tokamak::sparse {

namespace {

constexpr size_t kMostTerms = 8, kMostFactors = 9;
constexpr int kDeepest = 3;  // sums inside each other, or beside each other, that are multiplied out

void collect(const Program& program, ExprId id, bool negative, std::vector<Term>& out) {
  const Expr& e = program.expr(id);
  const bool sum = e.kind == ExprKind::apply && (e.fn == Fn::add || e.fn == Fn::sub || e.fn == Fn::neg);
  if (!sum) {
    out.push_back({id, negative});
    return;
  }
  if (e.fn == Fn::neg) return collect(program, e.args[0], !negative, out);
  collect(program, e.args[0], negative, out);
  collect(program, e.args[1], negative != (e.fn == Fn::sub), out);
}

bool contains(const std::vector<VarId>& vars, VarId v) { return std::find(vars.begin(), vars.end(), v) != vars.end(); }

class Distributor {
 public:
  Distributor(Program& program, WorkModel& work, double worthwhile)
      : program_(program), work_(work), worthwhile_(worthwhile) {}

  ExprId best(const Product& product, int depth) {
    ExprId out = cheapestTree(program_, product, work_);
    if (depth == kDeepest) return out;
    for (size_t f = 0; f < product.factors.size(); ++f) {
      const std::vector<Term> terms = termsOf(program_, product.factors[f]);
      if (terms.size() < 2 || terms.size() > kMostTerms) continue;
      const ExprId apart = multipliedOut(product, f, terms, depth);
      if (apart && work_.of(apart).operations <= worthwhile_ * work_.of(out).operations) out = apart;
    }
    return out;
  }

 private:
  /// The sum of the products with one term each, or nothing where a term leaves a folded variable to no factor.
  ExprId multipliedOut(const Product& product, size_t factor, std::vector<Term> terms, int depth) {
    for (Term& term : terms) {
      Product one{product.folded, {}};
      for (size_t f = 0; f < product.factors.size(); ++f) {
        if (f != factor) one.factors.push_back(product.factors[f]);
        if (f == factor) put(term.value, product, one);
      }
      if (one.factors.size() > kMostFactors || !covers(one)) return {};
      term.value = best(one, depth + 1);
    }
    return sumOf(program_, terms);
  }

  /// The factors of a term; a term whose sums would catch a variable of the others stays one factor.
  void put(ExprId term, const Product& around, Product& out) const {
    const Product inner = productOf(program_, term);
    const bool caught = std::any_of(inner.folded.begin(), inner.folded.end(), [&](VarId v) {
      return contains(around.folded, v) || std::any_of(around.factors.begin(), around.factors.end(),
                                                       [&](ExprId f) { return contains(program_.freeVars(f), v); });
    });
    if (caught) {
      out.factors.push_back(term);
      return;
    }
    out.folded.insert(out.folded.end(), inner.folded.begin(), inner.folded.end());
    out.factors.insert(out.factors.end(), inner.factors.begin(), inner.factors.end());
  }

  bool covers(const Product& product) const {
    return std::all_of(product.folded.begin(), product.folded.end(), [&](VarId v) {
      return std::any_of(product.factors.begin(), product.factors.end(),
                         [&](ExprId f) { return contains(program_.freeVars(f), v); });
    });
  }

  Program& program_;
  WorkModel& work_;
  double worthwhile_;
};

}  // namespace

std::vector<Term> termsOf(const Program& program, ExprId id) {
  std::vector<Term> out;
  collect(program, id, false, out);
  return out;
}

ExprId sumOf(Program& program, const std::vector<Term>& terms) {
  ExprId out;
  for (const Term& term : terms) {
    if (!out)
      out = term.negative ? program.apply(Fn::neg, {term.value}) : term.value;
    else
      out = program.apply(term.negative ? Fn::sub : Fn::add, {out, term.value});
  }
  return out;
}

ExprId cheapestDistribution(Program& program, const Product& product, WorkModel& work, double worthwhile) {
  return Distributor(program, work, worthwhile).best(product, 0);
}

}  // namespace tokamak::sparse
