#include <cmath>

#include "kernel/operands.h"
#include "kernel/simt/program.h"
#include "support/philox.h"

/// Arithmetic of the SIMT interpreter, lane by lane. The sum, product or quotient of two f32 in float64, rounded to
/// f32, is what f32 arithmetic gives, since float64 has more than twice the digits; so one representation serves both.
namespace tokamak::kernel::simt {

namespace {

double toF32(double v) { return static_cast<double>(static_cast<float>(v)); }
double rounded(DType t, double v) { return t == DType::f32 ? toF32(v) : v; }

Lane integer(int64_t v) { return {.i = v}; }
Lane floating(double v) {
  Lane lane;
  lane.d = v;
  return lane;
}

Lane applyUnary(const Inst& in, Lane x) {
  if (!isFloat(in.dtype)) return integer(evalUnary(in.unary, in.dtype, x.i));
  const double result = evalUnary(in.unary, x.d);
  return isPredicate(in.unary) ? integer(result != 0) : floating(rounded(in.dtype, result));
}

Lane applyBinary(const Inst& in, Lane x, Lane y) {
  if (!isFloat(in.dtype)) return integer(evalBinary(in.binary, in.dtype, x.i, y.i));
  const double result = evalBinary(in.binary, x.d, y.d);
  return isComparison(in.binary) ? integer(result != 0) : floating(rounded(in.dtype, result));
}

void unary(Lane* r, const Inst& in) {
  for (int l = 0; l < in.lanes; ++l) r[in.dst + l] = applyUnary(in, r[in.a + l]);
}

void binary(Lane* r, const Inst& in) {
  for (int l = 0; l < in.lanes; ++l) r[in.dst + l] = applyBinary(in, r[in.a + l], r[in.b + l]);
}

/// The common operations without a switch on the lane's way. F: a function object of two lanes.
template <class F>
void direct(Lane* r, const Inst& in) {
  const Lane *a = r + in.a, *b = r + in.b;
  Lane* dst = r + in.dst;
  for (int l = 0; l < in.lanes; ++l) dst[l] = F{}(a[l], b[l]);
}

#define TK_LANES(name, expression)                               \
  struct name {                                                  \
    Lane operator()(Lane x, Lane y) const { return expression; } \
  }
TK_LANES(AddI64, integer(static_cast<int64_t>(static_cast<uint64_t>(x.i) + static_cast<uint64_t>(y.i))));
TK_LANES(SubI64, integer(static_cast<int64_t>(static_cast<uint64_t>(x.i) - static_cast<uint64_t>(y.i))));
TK_LANES(MulI64, integer(static_cast<int64_t>(static_cast<uint64_t>(x.i) * static_cast<uint64_t>(y.i))));
TK_LANES(LessI64, integer(x.i < y.i));
TK_LANES(And, integer(x.i & y.i));
TK_LANES(AddF32, floating(toF32(x.d + y.d)));
TK_LANES(SubF32, floating(toF32(x.d - y.d)));
TK_LANES(MulF32, floating(toF32(x.d* y.d)));
TK_LANES(DivF32, floating(toF32(x.d / y.d)));
TK_LANES(AddF64, floating(x.d + y.d));
TK_LANES(SubF64, floating(x.d - y.d));
TK_LANES(MulF64, floating(x.d* y.d));
TK_LANES(DivF64, floating(x.d / y.d));
#undef TK_LANES

Compute binaryFor(BinaryKind kind, DType t) {
  const bool i64 = t == DType::i64, f32 = t == DType::f32, f64 = t == DType::f64;
  switch (kind) {
    case BinaryKind::add: return i64 ? direct<AddI64> : f32 ? direct<AddF32> : f64 ? direct<AddF64> : binary;
    case BinaryKind::sub: return i64 ? direct<SubI64> : f32 ? direct<SubF32> : f64 ? direct<SubF64> : binary;
    case BinaryKind::mul: return i64 ? direct<MulI64> : f32 ? direct<MulF32> : f64 ? direct<MulF64> : binary;
    case BinaryKind::div: return f32 ? direct<DivF32> : f64 ? direct<DivF64> : binary;
    case BinaryKind::lt: return i64 ? direct<LessI64> : binary;
    case BinaryKind::bit_and: return isFloat(t) ? binary : direct<And>;
    default: return binary;
  }
}

void select(Lane* r, const Inst& in) {
  for (int l = 0; l < in.lanes; ++l) r[in.dst + l] = r[in.c + l].i ? r[in.a + l] : r[in.b + l];
}

void splat(Lane* r, const Inst& in) {
  const Lane value = r[in.a];
  for (int l = 0; l < in.lanes; ++l) r[in.dst + l] = value;
}

void ramp(Lane* r, const Inst& in) {
  const auto base = static_cast<uint64_t>(r[in.a].i);
  for (int l = 0; l < in.lanes; ++l)
    r[in.dst + l] = integer(wrapTo(in.dtype, static_cast<int64_t>(base + static_cast<uint64_t>(l))));
}

void fold(Lane* r, const Inst& in) {
  Lane sum = r[in.a];
  for (int l = 1; l < in.lanes; ++l) sum = applyBinary(in, sum, r[in.a + l]);
  r[in.dst] = sum;
}

void prefix(Lane* r, const Inst& in) {
  Lane sum = r[in.dst] = r[in.a];
  for (int l = 1; l < in.lanes; ++l) sum = r[in.dst + l] = applyBinary(in, sum, r[in.a + l]);
}

void extract(Lane* r, const Inst& in) { r[in.dst] = r[in.a + static_cast<uint32_t>(in.step)]; }

void philox(Lane* r, const Inst& in) {
  for (int l = 0; l < in.lanes; ++l) r[in.dst + l] = integer(philoxWord(r[in.a].i, r[in.b].i, r[in.c + l].i));
}

Lane convertLane(const Inst& in, Lane x) {
  if (isFloat(in.dtype)) {
    if (in.to == DType::boolean) return integer(x.d != 0);
    return isFloat(in.to) ? floating(roundTo(in.to, x.d)) : integer(wrapTo(in.to, truncateToInt(x.d)));
  }
  if (!isFloat(in.to)) return integer(wrapTo(in.to, x.i));
  // Straight from int64 to f32: a stop at float64 would round twice.
  if (in.to == DType::f32) return floating(static_cast<double>(static_cast<float>(x.i)));
  return floating(roundTo(in.to, static_cast<double>(x.i)));
}

void convert(Lane* r, const Inst& in) {
  for (int l = 0; l < in.lanes; ++l) r[in.dst + l] = convertLane(in, r[in.a + l]);
}

}  // namespace

Lane join(const Inst& inst, Lane x, Lane y) { return applyBinary(inst, x, y); }

Compute computeFor(const Kernel& kernel, const Expr& expr) {
  return std::visit(
      Overload{[](const Un&) -> Compute { return unary; },
               [&](const Bin& n) { return binaryFor(n.kind, kernel.type(n.a).dtype); },
               [](const Sel&) -> Compute { return select; }, [](const Convert&) -> Compute { return convert; },
               [](const Splat&) -> Compute { return splat; }, [](const Ramp&) -> Compute { return ramp; },
               [](const Fold&) -> Compute { return fold; }, [](const Prefix&) -> Compute { return prefix; },
               [](const Extract&) -> Compute { return extract; }, [](const Philox&) -> Compute { return philox; },
               [](const auto&) -> Compute { return nullptr; }},
      expr.node);
}

}  // namespace tokamak::kernel::simt
