#include <fmt/format.h>

#include "graph/infer/site.h"

namespace tokamak::infer {

namespace {

Result<> expectIndex(const Site& site, size_t i) {
  const DType dtype = site.operand(i).dtype;
  if (dtype == DType::i32 || dtype == DType::i64) return Unit{};
  return site.fail("T0202", fmt::format("{} should be i32 or i64 to be an index", site.show(i)),
                   fmt::format("insert a cast of {} to i64", site.label(i)));
}

/// An index that stands for positions along `axis` of x: same rank, no larger along the other axes.
Result<> expectAligned(const Site& site, Axis axis) {
  const TensorType &x = site.operand(0), &index = site.operand(1);
  TK_RETURN_IF_ERROR(site.expectAxis(axis, x.rank()));
  if (index.rank() != x.rank())
    return site.fail("T0203", fmt::format("{} and {} have different ranks", site.show(0), site.show(1)),
                     fmt::format("insert a reshape or broadcast of {} to rank {}", site.label(1), x.rank()));
  for (size_t i = 0; i < x.rank(); ++i)
    if (static_cast<Axis>(i) != axis && isSurelyNegative(x.shape[i] - index.shape[i]))
      return site.fail("T0203", fmt::format("{} is larger than {} along axis {}", site.show(1), site.show(0), i),
                       fmt::format("insert a slice of {}", site.label(1)));
  return Unit{};
}

}  // namespace

Result<TensorType> inferOp(const Gather& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(2));
  TK_RETURN_IF_ERROR(expectIndex(site, 1));
  TK_RETURN_IF_ERROR(expectAligned(site, op.axis));
  return TensorType{site.operand(0).dtype, site.operand(1).shape};
}

Result<TensorType> inferOp(const IndexSelect& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(2));
  TK_RETURN_IF_ERROR(expectIndex(site, 1));
  const TensorType &x = site.operand(0), &index = site.operand(1);
  TK_RETURN_IF_ERROR(site.expectAxis(op.axis, x.rank()));
  TensorType type{x.dtype, {}};
  for (size_t i = 0; i < x.rank(); ++i) {
    if (static_cast<Axis>(i) == op.axis)
      type.shape.insert(type.shape.end(), index.shape.begin(), index.shape.end());
    else
      type.shape.push_back(x.shape[i]);
  }
  return type;
}

Result<TensorType> inferOp(const Scatter& op, const Site& site) {
  TK_RETURN_IF_ERROR(site.expectCount(3));
  TK_RETURN_IF_ERROR(expectIndex(site, 1));
  TK_RETURN_IF_ERROR(expectAligned(site, op.axis));
  TK_RETURN_IF_ERROR(site.expectDtype(2, site.operand(0).dtype));
  TK_RETURN_IF_ERROR(site.expectShape(2, site.operand(1).shape, "the index's"));
  return site.operand(0);
}

}  // namespace tokamak::infer
