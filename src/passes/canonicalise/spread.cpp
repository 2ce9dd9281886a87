#include "passes/canonicalise/rules.h"

namespace tokamak {

namespace {

/// Whether two broadcasts repeat values of one shape in the same way.
bool repeatAlike(const Canonical& c, ValueId a, ValueId b) {
  const Node &x = c.def(a), &y = c.def(b);
  return std::get<Broadcast>(x.op) == std::get<Broadcast>(y.op) &&
         c.type(x.operands[0]).shape == c.type(y.operands[0]).shape;
}

}  // namespace

ValueId computeBeforeRepeating(Canonical& c, const Node& node) {
  ValueId repeated;
  for (ValueId v : node.operands) {
    if (c.op<Broadcast>(v)) {
      if (repeated.valid() && !repeatAlike(c, repeated, v)) return {};
      repeated = v;
    } else if (!c.splat(v)) {
      return {};
    }
  }
  if (!repeated.valid()) return {};
  const auto axes = c.op<Broadcast>(repeated)->axes;
  const Shape small = c.type(c.def(repeated).operands[0]).shape;
  std::vector<ValueId> operands;
  for (ValueId v : node.operands) {
    const auto splat = c.splat(v);
    operands.push_back(splat ? c.emit.full(*splat, c.type(v).dtype, small) : c.def(v).operands[0]);
  }
  return broadcasted(c.emit, c.make(node.op, std::move(operands), {node.type.dtype, small}), axes, node.type.shape);
}

}  // namespace tokamak
