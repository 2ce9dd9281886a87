#include <fmt/format.h>

#include "graph/infer/site.h"

namespace tokamak::infer {

Result<TensorType> inferOp(const Input&, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(0));
  return site.needDeclared();
}

Result<TensorType> inferOp(const Constant& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(0));
  if (!op.data) return site.fail("T0204", "it has no data", "write data = [...]");
  TensorType type{op.data->dtype(), {}};
  for (int64_t extent : op.data->shape()) type.shape.emplace_back(extent);
  if (type.dtype == DType::boolean)
    for (int64_t i = 0; i < op.data->size(); ++i)
      if (op.data->as<unsigned char>()[i] > 1)
        return site.fail("T0210", "a byte of bool data is neither 0 nor 1", "store 0 or 1");
  return type;
}

Result<TensorType> inferOp(const Full& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(0));
  TK_TRY(TensorType type, site.needDeclared());
  TK_RETURN_IF_ERROR(expectFits(site, op.value, type.dtype));
  return type;
}

Result<TensorType> inferOp(const Iota& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(0));
  TK_TRY(TensorType type, site.needDeclared());
  TK_RETURN_IF_ERROR(site.expectAxis(op.axis, type.rank()));
  if (type.dtype == DType::boolean)
    return site.fail("T0202", "positions cannot be bool", "declare the result i64 and compare it");
  return type;
}

Result<TensorType> inferOp(const Random& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(2));
  TK_TRY(TensorType type, site.needDeclared());
  for (size_t i = 0; i < 2; ++i) {
    TK_RETURN_IF_ERROR(site.expectDtype(i, DType::i64));
    TK_RETURN_IF_ERROR(site.expectShape(i, {}, "being one number"));
  }
  if (op.kind == RandomKind::bits && type.dtype != DType::i64)
    return site.fail("T0205", fmt::format("the result is declared {} but bits are i64", type.str()),
                     "declare i64 and cast it");
  if (op.kind != RandomKind::bits && !isFloat(type.dtype))
    return site.fail("T0205",
                     fmt::format("the result is declared {} but {} numbers are floats", type.str(), nameOf(op.kind)),
                     "declare a float type and cast it");
  return type;
}

}  // namespace tokamak::infer
