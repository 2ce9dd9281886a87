#include "sparse/stream/run/alu_ops.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "support/check.h"

namespace tokamak::stream {

namespace {

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double gelu(double x) { return x * 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double geluTanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

}  // namespace

Unary unaryOf(AluOp op) {
  switch (op) {
    case AluOp::neg: return [](double x) { return -x; };
    case AluOp::abs: return [](double x) { return std::fabs(x); };
    case AluOp::exp: return [](double x) { return std::exp(x); };
    case AluOp::log: return [](double x) { return std::log(x); };
    case AluOp::sqrt: return [](double x) { return std::sqrt(x); };
    case AluOp::rsqrt: return [](double x) { return 1 / std::sqrt(x); };
    case AluOp::reciprocal: return [](double x) { return 1 / x; };
    case AluOp::tanh: return [](double x) { return std::tanh(x); };
    case AluOp::sigmoid: return sigmoid;
    case AluOp::relu: return [](double x) { return x < 0 ? 0 : x; };
    case AluOp::gelu: return gelu;
    case AluOp::gelu_tanh: return geluTanh;
    case AluOp::silu: return [](double x) { return x * sigmoid(x); };
    case AluOp::sin: return [](double x) { return std::sin(x); };
    case AluOp::cos: return [](double x) { return std::cos(x); };
    case AluOp::erf: return [](double x) { return std::erf(x); };
    case AluOp::logical_not: return [](double x) { return x == 0 ? 1.0 : 0.0; };
    default: break;
  }
  TK_CHECK(false, nameOf(op));
}

Binary binaryOf(AluOp op) {
  switch (op) {
    case AluOp::add: return [](double a, double b) { return a + b; };
    case AluOp::sub: return [](double a, double b) { return a - b; };
    case AluOp::mul: return multiply;
    case AluOp::div: return [](double a, double b) { return a == 0 ? 0.0 : a / b; };
    case AluOp::max: return [](double a, double b) { return a > b || a != a ? a : b; };
    case AluOp::min: return [](double a, double b) { return a < b || a != a ? a : b; };
    case AluOp::pow: return [](double a, double b) { return std::pow(a, b); };
    case AluOp::eq: return [](double a, double b) { return a == b ? 1.0 : 0.0; };
    case AluOp::ne: return [](double a, double b) { return a != b ? 1.0 : 0.0; };
    case AluOp::lt: return [](double a, double b) { return a < b ? 1.0 : 0.0; };
    case AluOp::le: return [](double a, double b) { return a <= b ? 1.0 : 0.0; };
    case AluOp::gt: return [](double a, double b) { return a > b ? 1.0 : 0.0; };
    case AluOp::ge: return [](double a, double b) { return a >= b ? 1.0 : 0.0; };
    case AluOp::logical_and: return [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; };
    case AluOp::logical_or: return [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; };
    default: break;
  }
  TK_CHECK(false, nameOf(op));
}

}  // namespace tokamak::stream
