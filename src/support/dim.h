#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace tokamak {

/// Values of symbolic dimensions.
using DimBindings = std::map<std::string, int64_t, std::less<>>;

/// An extent: an integer expression over named symbols, kept in one canonical form (a sum of products), so that equal
/// expressions are equal values: `2*N + N` is `3*N`, `(N + 1) - 1` is `N`.
///
///   f32[M, 4*N + 1, floordiv(K, 2)]
///
/// Immutable; copies share. Arithmetic is exact in int64; overflow is found by `eval`, which reports it.
class Dim {
 public:
  Dim() : Dim(0) {}
  Dim(int64_t value);  // NOLINT: an integer is an extent
  Dim(int value) : Dim(static_cast<int64_t>(value)) {}
  static Dim symbol(std::string_view name);

  bool isConst() const { return !node_; }
  std::optional<int64_t> constant() const { return node_ ? std::nullopt : std::optional(value_); }
  bool is(int64_t v) const { return !node_ && value_ == v; }
  bool isSymbol() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  /// Rounds toward minus infinity. Exact quotients simplify: floordiv(4*N, 2) = 2*N.
  static Dim floorDiv(const Dim& a, const Dim& b);
  static Dim ceilDiv(const Dim& a, const Dim& b);
  static Dim mod(const Dim& a, const Dim& b);
  static Dim max(const Dim& a, const Dim& b);
  static Dim min(const Dim& a, const Dim& b);

  bool operator==(const Dim& other) const;
  uint64_t hash() const;

  void collectSymbols(std::set<std::string, std::less<>>& out) const;
  /// Fails on an unbound symbol, a division by zero or overflow.
  Result<int64_t> eval(const DimBindings& bindings) const;
  /// Replaces symbols by expressions.
  Dim substitute(const std::map<std::string, Dim, std::less<>>& values) const;

  /// `4*N + 1`, `floordiv(N, 2)`, `mod(N, 8)`, `max(N, 1)`, `min(M, N)`; parses back equal.
  std::string str() const;
  /// Parses what `str` prints (and any equal expression with + - * and parentheses). Location columns are relative.
  static Result<Dim> parse(std::string_view text);

  enum class AtomKind : uint8_t { symbol, floordiv, mod, max, min };
  struct Atom;
  struct Term;  // coefficient times a product of atoms
  struct Node;  // sum of terms, at least one with an atom
  /// The canonical sum, for code that compiles an expression. Empty for a constant, whose value is `constant()`.
  const std::vector<Term>& terms() const;

 private:
  static Dim fromTerms(std::vector<Term> terms);
  static Dim fromAtom(Atom atom);
  std::shared_ptr<const Node> node_;
  int64_t value_ = 0;
};

struct Dim::Atom {
  AtomKind kind = AtomKind::symbol;
  std::string name;  // of a symbol
  Dim a, b;          // operands of the others
  bool operator==(const Atom&) const = default;
};

struct Dim::Term {
  int64_t coefficient = 1;
  std::vector<Atom> factors;  // sorted by text; empty for the constant term, which comes last
  bool operator==(const Term&) const = default;
};

struct Dim::Node {
  std::vector<Term> terms;
  std::string text;  // canonical
  uint64_t hash = 0;
};

using Shape = std::vector<Dim>;

/// Product of the extents; 1 for rank 0.
Dim elementCount(const Shape& shape);
std::string str(const Shape& shape);  // `[M, 64]`

}  // namespace tokamak
