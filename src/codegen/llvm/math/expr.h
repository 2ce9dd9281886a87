#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>

#include <concepts>
#include <initializer_list>
#include <utility>

namespace tokamak::codegen::math {

/// A value under construction, so that emission reads like the formula it emits:
///
///   Expr r = fma(n, -0.6931471805599453, x);
///   return select(x < 0.0, -r, r);
///
/// Arithmetic follows the value's type: float or integer, scalar or vector. A plain number beside an Expr becomes a
/// constant of the same type in every lane. Comparisons of floats are ordered (false on NaN) and give i1 lanes.
class Expr {
 public:
  Expr(llvm::IRBuilderBase& builder, llvm::Value* value) : builder_(&builder), value_(value) {}

  llvm::IRBuilderBase& builder() const { return *builder_; }
  llvm::Value* value() const { return value_; }
  llvm::Type* type() const { return value_->getType(); }
  bool isFloat() const { return type()->isFPOrFPVectorTy(); }
  bool isDouble() const { return type()->getScalarType()->isDoubleTy(); }
  unsigned lanes() const;  ///< 1 for a scalar

  Expr with(llvm::Value* value) const { return {*builder_, value}; }
  Expr constant(double c) const;                    ///< `c` in every lane, of this value's float type
  Expr integer(int64_t c) const;                    ///< `c` in every lane, of this value's integer type
  llvm::Type* sameLanes(llvm::Type* scalar) const;  ///< `scalar` with this value's lanes

 private:
  llvm::IRBuilderBase* builder_;
  llvm::Value* value_;
};

Expr operator-(Expr a);
Expr operator~(Expr a);  ///< of i1 lanes or integers
Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);  ///< floats only
Expr operator&(Expr a, Expr b);
Expr operator|(Expr a, Expr b);
Expr operator^(Expr a, Expr b);
Expr operator<(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr operator==(Expr a, Expr b);
Expr operator!=(Expr a, Expr b);  ///< of floats: true on NaN
Expr operator<<(Expr a, int count);
Expr operator>>(Expr a, int count);  ///< arithmetic

/// A number that becomes a constant of the other operand's type.
template <class T>
concept Number = std::integral<T> || std::floating_point<T>;

template <Number T>
Expr like(Expr a, T c) {
  return a.isFloat() ? a.constant(static_cast<double>(c)) : a.integer(static_cast<int64_t>(c));
}

#define TK_MATH_MIXED(op)         \
  template <Number T>             \
  Expr operator op(Expr a, T c) { \
    return a op like(a, c);       \
  }                               \
  template <Number T>             \
  Expr operator op(T c, Expr a) { \
    return like(a, c) op a;       \
  }
TK_MATH_MIXED(+)
TK_MATH_MIXED(-)
TK_MATH_MIXED(*)
TK_MATH_MIXED(/)
TK_MATH_MIXED(&)
TK_MATH_MIXED(|)
TK_MATH_MIXED(^)
TK_MATH_MIXED(<)
TK_MATH_MIXED(>)
TK_MATH_MIXED(<=)
TK_MATH_MIXED(>=)
TK_MATH_MIXED(==)
TK_MATH_MIXED(!=)
#undef TK_MATH_MIXED

/// a * b + c, rounded once.
Expr fma(Expr a, Expr b, Expr c);
template <Number T>
Expr fma(Expr a, T b, Expr c) {
  return fma(a, like(a, b), c);
}
template <Number T>
Expr fma(Expr a, Expr b, T c) {
  return fma(a, b, like(a, c));
}
template <Number T, Number U>
Expr fma(Expr a, T b, U c) {
  return fma(a, like(a, b), like(a, c));
}

/// c ? a : b, lane by lane.
Expr select(Expr c, Expr a, Expr b);
template <Number T>
Expr select(Expr c, T a, Expr b) {
  return select(c, like(b, a), b);
}
template <Number T>
Expr select(Expr c, Expr a, T b) {
  return select(c, a, like(a, b));
}

/// The larger or smaller of x and a bound that is not NaN; a NaN in x stays.
Expr atLeast(Expr x, Expr bound);
Expr atMost(Expr x, Expr bound);
template <Number T>
Expr atLeast(Expr x, T bound) {
  return atLeast(x, like(x, bound));
}
template <Number T>
Expr atMost(Expr x, T bound) {
  return atMost(x, like(x, bound));
}

Expr abs(Expr x);
Expr sqrt(Expr x);
Expr floor(Expr x);
Expr trunc(Expr x);
Expr copySign(Expr magnitude, Expr sign);
Expr isNaN(Expr x);

/// Reinterprets floats as integers of their width, and back.
Expr asInteger(Expr x);
Expr asFloat(Expr x);
/// Signed integers to floats of the same width.
Expr toFloat(Expr x);
/// Between float and double, lane by lane; no-op if x has that type already.
Expr toDouble(Expr x);
Expr toSingle(Expr x);

/// c[0] + c[1] x + c[2] x^2 + ... by Horner's rule in fused multiply-adds.
Expr polynomial(Expr x, std::initializer_list<double> c);

/// i1: whether any lane of i1 lanes is set.
Expr anyLane(Expr c);

/// `fast`, except that where some lane of `rare` is set the whole vector becomes slow(). The slow code stands behind a
/// branch that is taken to be unlikely.
Expr unlikelyBranch(Expr rare, Expr fast, llvm::function_ref<Expr()> slow);

/// x = start; repeat { x, again = step(x) } while any lane of `again`. Only within the slow part of a branch, where the
/// builder stands at the end of its block.
Expr repeatWhileAny(Expr start, llvm::function_ref<std::pair<Expr, Expr>(Expr)> step);

}  // namespace tokamak::codegen::math
