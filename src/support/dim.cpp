#include "support/dim.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/hash.h"

namespace tokamak {

namespace {

std::string atomText(const Dim::Atom& atom) {
  switch (atom.kind) {
    case Dim::AtomKind::symbol: return atom.name;
    case Dim::AtomKind::floordiv: return fmt::format("floordiv({}, {})", atom.a.str(), atom.b.str());
    case Dim::AtomKind::mod: return fmt::format("mod({}, {})", atom.a.str(), atom.b.str());
    case Dim::AtomKind::max: return fmt::format("max({}, {})", atom.a.str(), atom.b.str());
    case Dim::AtomKind::min: return fmt::format("min({}, {})", atom.a.str(), atom.b.str());
  }
  return {};
}

std::string productText(const Dim::Term& term) {
  std::string out;
  for (const auto& factor : term.factors) out += (out.empty() ? "" : "*") + atomText(factor);
  return out;
}

std::string sumText(const std::vector<Dim::Term>& terms) {
  std::string out;
  for (const auto& term : terms) {
    const bool negative = term.coefficient < 0;
    const uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(term.coefficient) : term.coefficient;
    if (out.empty())
      out += negative ? "-" : "";
    else
      out += negative ? " - " : " + ";
    if (term.factors.empty())
      out += std::to_string(magnitude);
    else
      out += (magnitude == 1 ? "" : std::to_string(magnitude) + "*") + productText(term);
  }
  return out;
}

int64_t wrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrapMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

int64_t floorDivInt(int64_t a, int64_t b) {
  if (b == -1) return wrapMul(a, -1);
  const int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

int64_t floorModInt(int64_t a, int64_t b) { return wrapAdd(a, wrapMul(wrapMul(floorDivInt(a, b), b), -1)); }

Diagnostic evalError(std::string message) {
  return {"T0110", {}, std::move(message), "bind every symbol to a size that fits in memory"};
}

}  // namespace

Dim::Dim(int64_t value) : value_(value) {}

Dim Dim::symbol(std::string_view name) { return fromAtom({AtomKind::symbol, std::string(name), {}, {}}); }

Dim Dim::fromAtom(Atom atom) { return fromTerms({Term{1, {std::move(atom)}}}); }

/// Merges equal products, drops zeros, sorts by text with the constant last.
Dim Dim::fromTerms(std::vector<Term> terms) {
  std::map<std::string, Term> byProduct;
  for (auto& term : terms) {
    std::sort(term.factors.begin(), term.factors.end(),
              [](const Atom& x, const Atom& y) { return atomText(x) < atomText(y); });
    auto [it, fresh] = byProduct.try_emplace(productText(term), term);
    if (!fresh) it->second.coefficient = wrapAdd(it->second.coefficient, term.coefficient);
  }
  std::vector<Term> merged;
  int64_t constant = 0;
  for (auto& [text, term] : byProduct) {
    if (term.factors.empty())
      constant = term.coefficient;
    else if (term.coefficient != 0)
      merged.push_back(std::move(term));
  }
  if (merged.empty()) return Dim(constant);
  if (constant != 0) merged.push_back(Term{constant, {}});
  Dim out;
  auto node = std::make_shared<Node>();
  node->text = sumText(merged);
  node->hash = hashBytes(node->text);
  node->terms = std::move(merged);
  out.node_ = std::move(node);
  return out;
}

const std::vector<Dim::Term>& Dim::terms() const {
  static const std::vector<Term> none;
  return node_ ? node_->terms : none;
}

bool Dim::isSymbol() const {
  return node_ && node_->terms.size() == 1 && node_->terms[0].coefficient == 1 && node_->terms[0].factors.size() == 1 &&
         node_->terms[0].factors[0].kind == AtomKind::symbol;
}

namespace {
std::vector<Dim::Term> termsOf(const Dim& d) {
  if (auto c = d.constant()) return {Dim::Term{*c, {}}};
  return d.terms();
}
}  // namespace

Dim operator+(const Dim& a, const Dim& b) {
  if (a.isConst() && b.isConst()) return Dim(wrapAdd(a.value_, b.value_));
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  auto terms = termsOf(a);
  for (auto& term : termsOf(b)) terms.push_back(term);
  return Dim::fromTerms(std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) { return a + b * Dim(-1); }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.isConst() && b.isConst()) return Dim(wrapMul(a.value_, b.value_));
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  std::vector<Dim::Term> terms;
  for (const auto& x : termsOf(a))
    for (const auto& y : termsOf(b)) {
      Dim::Term product{wrapMul(x.coefficient, y.coefficient), x.factors};
      product.factors.insert(product.factors.end(), y.factors.begin(), y.factors.end());
      terms.push_back(std::move(product));
    }
  return Dim::fromTerms(std::move(terms));
}

/// Quotient when every term of `a` divides by the single term `b`; nullopt otherwise.
static std::optional<Dim> exactQuotient(const Dim& a, const Dim& b) {
  const auto divisor = termsOf(b);
  if (divisor.size() != 1 || divisor[0].coefficient == 0) return std::nullopt;
  Dim sum = 0;
  for (const auto& term : termsOf(a)) {
    if (floorModInt(term.coefficient, divisor[0].coefficient) != 0) return std::nullopt;
    Dim product = Dim(floorDivInt(term.coefficient, divisor[0].coefficient));
    auto rest = term.factors;
    for (const auto& factor : divisor[0].factors) {
      auto it = std::find(rest.begin(), rest.end(), factor);
      if (it == rest.end()) return std::nullopt;
      rest.erase(it);
    }
    for (const auto& factor : rest) {
      if (factor.kind == Dim::AtomKind::symbol)
        product = product * Dim::symbol(factor.name);
      else if (factor.kind == Dim::AtomKind::floordiv)
        product = product * Dim::floorDiv(factor.a, factor.b);
      else if (factor.kind == Dim::AtomKind::mod)
        product = product * Dim::mod(factor.a, factor.b);
      else if (factor.kind == Dim::AtomKind::max)
        product = product * Dim::max(factor.a, factor.b);
      else
        product = product * Dim::min(factor.a, factor.b);
    }
    sum = sum + product;
  }
  return sum;
}

Dim Dim::floorDiv(const Dim& a, const Dim& b) {
  if (b.is(1)) return a;
  if (a.isConst() && b.isConst() && b.value_ != 0) return Dim(floorDivInt(a.value_, b.value_));
  if (!b.is(0))
    if (auto q = exactQuotient(a, b)) return *q;
  return fromAtom({AtomKind::floordiv, {}, a, b});
}

Dim Dim::ceilDiv(const Dim& a, const Dim& b) { return floorDiv(a + b - Dim(1), b); }

Dim Dim::mod(const Dim& a, const Dim& b) {
  if (b.is(1)) return Dim(0);
  if (a.isConst() && b.isConst() && b.value_ != 0) return Dim(floorModInt(a.value_, b.value_));
  if (!b.is(0) && exactQuotient(a, b)) return Dim(0);
  return fromAtom({AtomKind::mod, {}, a, b});
}

Dim Dim::max(const Dim& a, const Dim& b) {
  if (a == b) return a;
  if (a.isConst() && b.isConst()) return Dim(std::max(a.value_, b.value_));
  return a.str() < b.str() ? fromAtom({AtomKind::max, {}, a, b}) : fromAtom({AtomKind::max, {}, b, a});
}

Dim Dim::min(const Dim& a, const Dim& b) {
  if (a == b) return a;
  if (a.isConst() && b.isConst()) return Dim(std::min(a.value_, b.value_));
  return a.str() < b.str() ? fromAtom({AtomKind::min, {}, a, b}) : fromAtom({AtomKind::min, {}, b, a});
}

bool Dim::operator==(const Dim& other) const {
  if (!node_ || !other.node_) return !node_ && !other.node_ && value_ == other.value_;
  return node_ == other.node_ || (node_->hash == other.node_->hash && node_->text == other.node_->text);
}

uint64_t Dim::hash() const { return node_ ? node_->hash : hashMix(0x51ed, static_cast<uint64_t>(value_)); }

std::string Dim::str() const { return node_ ? node_->text : std::to_string(value_); }

void Dim::collectSymbols(std::set<std::string, std::less<>>& out) const {
  for (const auto& term : terms())
    for (const auto& factor : term.factors) {
      if (factor.kind == AtomKind::symbol)
        out.insert(factor.name);
      else
        factor.a.collectSymbols(out), factor.b.collectSymbols(out);
    }
}

static Result<int64_t> evalAtom(const Dim::Atom& atom, const DimBindings& bindings) {
  if (atom.kind == Dim::AtomKind::symbol) {
    auto it = bindings.find(atom.name);
    if (it == bindings.end()) return evalError(fmt::format("dimension {} has no value", atom.name));
    return it->second;
  }
  TK_TRY(int64_t a, atom.a.eval(bindings));
  TK_TRY(int64_t b, atom.b.eval(bindings));
  if (atom.kind == Dim::AtomKind::max) return std::max(a, b);
  if (atom.kind == Dim::AtomKind::min) return std::min(a, b);
  if (b == 0) return evalError(fmt::format("{} divides by zero", atomText(atom)));
  return atom.kind == Dim::AtomKind::floordiv ? floorDivInt(a, b) : floorModInt(a, b);
}

Result<int64_t> Dim::eval(const DimBindings& bindings) const {
  if (!node_) return value_;
  int64_t sum = 0;
  for (const auto& term : node_->terms) {
    int64_t product = term.coefficient;
    for (const auto& factor : term.factors) {
      TK_TRY(int64_t v, evalAtom(factor, bindings));
      if (__builtin_mul_overflow(product, v, &product)) return evalError(fmt::format("{} overflows", str()));
    }
    if (__builtin_add_overflow(sum, product, &sum)) return evalError(fmt::format("{} overflows", str()));
  }
  return sum;
}

Dim Dim::substitute(const std::map<std::string, Dim, std::less<>>& values) const {
  if (!node_) return *this;
  Dim sum = 0;
  for (const auto& term : node_->terms) {
    Dim product = term.coefficient;
    for (const auto& factor : term.factors) {
      if (factor.kind == AtomKind::symbol) {
        auto it = values.find(factor.name);
        product = product * (it == values.end() ? Dim::symbol(factor.name) : it->second);
        continue;
      }
      const Dim a = factor.a.substitute(values), b = factor.b.substitute(values);
      switch (factor.kind) {
        case AtomKind::floordiv: product = product * floorDiv(a, b); break;
        case AtomKind::mod: product = product * mod(a, b); break;
        case AtomKind::max: product = product * max(a, b); break;
        default: product = product * min(a, b); break;
      }
    }
    sum = sum + product;
  }
  return sum;
}

Dim elementCount(const Shape& shape) {
  Dim count = 1;
  for (const auto& d : shape) count = count * d;
  return count;
}

std::string str(const Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i ? ", " : "") + shape[i].str();
  return out + "]";
}

}  // namespace tokamak
