#include "sparse/einsum/function.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tokamak::sparse {

int arity(Fn fn) {
  if (fn == Fn::select) return 3;
  return fn < Fn::select ? 2 : 1;
}

bool annihilates(Fn fn, int position) {
  return fn == Fn::mul || fn == Fn::logical_and || (fn == Fn::div && position == 0);
}

namespace {

double applyTwo(Fn fn, double a, double b) {
  switch (fn) {
    case Fn::add: return a + b;
    case Fn::sub: return a - b;
    case Fn::mul: return a == 0 || b == 0 ? 0 : a * b;
    case Fn::div: return a == 0 ? 0 : a / b;
    case Fn::max: return std::isnan(a) || a > b ? a : b;
    case Fn::min: return std::isnan(a) || a < b ? a : b;
    case Fn::pow: return std::pow(a, b);
    case Fn::eq: return a == b;
    case Fn::ne: return a != b;
    case Fn::lt: return a < b;
    case Fn::le: return a <= b;
    case Fn::gt: return a > b;
    case Fn::ge: return a >= b;
    case Fn::logical_and: return a != 0 && b != 0;
    default: return a != 0 || b != 0;
  }
}

double applyOne(Fn fn, double x) {
  constexpr double kRootOfTwoOverPi = 0.79788456080286535588;
  switch (fn) {
    case Fn::neg: return -x;
    case Fn::abs: return std::fabs(x);
    case Fn::exp: return std::exp(x);
    case Fn::log: return std::log(x);
    case Fn::sqrt: return std::sqrt(x);
    case Fn::rsqrt: return 1 / std::sqrt(x);
    case Fn::reciprocal: return 1 / x;
    case Fn::tanh: return std::tanh(x);
    case Fn::sigmoid: return 1 / (1 + std::exp(-x));
    case Fn::relu: return x > 0 || std::isnan(x) ? x : 0;
    case Fn::gelu: return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case Fn::gelu_tanh: return 0.5 * x * (1 + std::tanh(kRootOfTwoOverPi * (x + 0.044715 * x * x * x)));
    case Fn::silu: return x / (1 + std::exp(-x));
    case Fn::sin: return std::sin(x);
    case Fn::cos: return std::cos(x);
    case Fn::erf: return std::erf(x);
    default: return x == 0;
  }
}

}  // namespace

double evalFn(Fn fn, std::span<const double> operands) {
  if (fn == Fn::select) return operands[0] != 0 ? operands[1] : operands[2];
  return arity(fn) == 2 ? applyTwo(fn, operands[0], operands[1]) : applyOne(fn, operands[0]);
}

}  // namespace tokamak::sparse
