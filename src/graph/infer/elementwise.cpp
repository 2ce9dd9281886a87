#include <fmt/format.h>

#include <algorithm>

#include "graph/infer/site.h"

namespace tokamak::infer {

namespace {

/// Whether every extent of `from` that is not 1 stands, in order, among those of `to`: a broadcast can then be written.
bool broadcasts(const Shape& from, const Shape& to) {
  size_t at = 0;
  for (const Dim& extent : from) {
    while (at < to.size() && !extent.is(1) && to[at] != extent) ++at;
    if (at++ >= to.size()) return false;
  }
  return from.size() <= to.size();
}

std::string shapeHint(const Site& site, size_t a, size_t b) {
  const Shape &x = site.operand(a).shape, &y = site.operand(b).shape;
  if (broadcasts(y, x)) return fmt::format("insert a broadcast of {} to {}", site.label(b), str(x));
  if (broadcasts(x, y)) return fmt::format("insert a broadcast of {} to {}", site.label(a), str(y));
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    if (x[i] != y[i] && !(x[i].isConst() && y[i].isConst()))
      return fmt::format("if {} and {} are always one size, write them alike in the inputs' shapes", x[i].str(),
                         y[i].str());
  return "insert a reshape, slice or broadcast that makes them equal";
}

/// The same shape everywhere; broadcasts are written out.
Result<> expectOneShape(const Site& site) {
  for (size_t i = 1; i < site.count(); ++i)
    if (site.operand(0).shape != site.operand(i).shape)
      return site.fail("T0203", fmt::format("{} and {} have different shapes", site.show(0), site.show(i)),
                       shapeHint(site, 0, i));
  return Unit{};
}

std::string undefinedHint(const Site& site, DType dtype, bool floatHelps) {
  if (floatHelps) return fmt::format("insert a cast of {} to f32", site.label(0));
  if (isFloat(dtype)) return fmt::format("insert a cast of {} to an integer type", site.label(0));
  return fmt::format("insert a cast of {} to i32", site.label(0));
}

template <class Kind>
Result<TensorType> inferKind(Kind kind, const Site& site, size_t operands) {
  TK_RETURN_IF_ERROR(site.expectCount(operands));
  TK_RETURN_IF_ERROR(site.expectOneDtype());
  TK_RETURN_IF_ERROR(expectOneShape(site));
  const DType dtype = site.operand(0).dtype;
  if (!isDefined(kind, dtype))
    return site.fail(
        "T0202", fmt::format("it is not defined on {}, the dtype of {}", nameOf(dtype), site.show(0)),
        undefinedHint(site, dtype, !isFloat(dtype) && isDefined(kind, DType::f32) && !isDefined(kind, DType::i32)));
  return TensorType{resultType(kind, dtype), site.operand(0).shape};
}

}  // namespace

Result<TensorType> inferOp(const Unary& op, const Site& site) { return inferKind(op.kind, site, 1); }

Result<TensorType> inferOp(const Binary& op, const Site& site) { return inferKind(op.kind, site, 2); }

Result<TensorType> inferOp(const Select&, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(3));
  TK_RETURN_IF_ERROR(site.expectDtype(0, DType::boolean));
  TK_RETURN_IF_ERROR(site.expectOneDtype(1));
  TK_RETURN_IF_ERROR(expectOneShape(site));
  return site.operand(1);
}

Result<TensorType> inferOp(const Clamp&, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(3));
  TK_RETURN_IF_ERROR(site.expectOneDtype());
  TK_RETURN_IF_ERROR(expectOneShape(site));
  return site.operand(0);
}

Result<TensorType> inferOp(const Cast& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(1));
  TK_TRY(const TensorType declared, site.needDeclared());
  if (op.synthetic && !(isFloat(declared.dtype) && isFloat(site.operand(0).dtype)))
    return site.fail("T0202",
                     fmt::format("a synthetic cast of {} to {} is not between floats", site.show(0), declared.str()),
                     "drop synthetic");
  return TensorType{declared.dtype, site.operand(0).shape};
}

}  // namespace tokamak::infer
