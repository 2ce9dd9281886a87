#include "graph/interp/ops.h"
#include "support/scalar_op.h"

namespace tokamak::interp {

Result<Value> apply(const Unary& op, const Call& call) {
  const Value& x = call.operand(0);
  Value out = call.result();
  for (int64_t i = 0; i < out.size(); ++i) {
    if (!isFloat(x.dtype))
      out.ints[i] = evalUnary(op.kind, x.dtype, x.ints[i]);
    else if (isFloat(out.dtype))
      out.floats[i] = evalUnary(op.kind, x.floats[i]);
    else
      out.ints[i] = evalUnary(op.kind, x.floats[i]) != 0;
  }
  return out;
}

Result<Value> apply(const Binary& op, const Call& call) {
  const Value &a = call.operand(0), &b = call.operand(1);
  Value out = call.result();
  for (int64_t i = 0; i < out.size(); ++i) {
    if (!isFloat(a.dtype))
      out.ints[i] = evalBinary(op.kind, a.dtype, a.ints[i], b.ints[i]);
    else if (isFloat(out.dtype))
      out.floats[i] = evalBinary(op.kind, a.floats[i], b.floats[i]);
    else
      out.ints[i] = evalBinary(op.kind, a.floats[i], b.floats[i]) != 0;
  }
  return out;
}

Result<Value> apply(const Select&, const Call& call) {
  const Value &condition = call.operand(0), &a = call.operand(1), &b = call.operand(2);
  Value out = call.result();
  for (size_t i = 0; i < out.floats.size(); ++i) out.floats[i] = condition.ints[i] ? a.floats[i] : b.floats[i];
  for (size_t i = 0; i < out.ints.size(); ++i) out.ints[i] = condition.ints[i] ? a.ints[i] : b.ints[i];
  return out;
}

Result<Value> apply(const Clamp&, const Call& call) {
  const Value &x = call.operand(0), &low = call.operand(1), &high = call.operand(2);
  Value out = call.result();
  for (int64_t i = 0; i < out.size(); ++i) {
    if (isFloat(out.dtype))
      out.floats[i] =
          evalBinary(BinaryKind::min, evalBinary(BinaryKind::max, x.floats[i], low.floats[i]), high.floats[i]);
    else
      out.ints[i] = std::min(std::max(x.ints[i], low.ints[i]), high.ints[i]);
  }
  return out;
}

Result<Value> apply(const Cast& op, const Call& call) {
  const Value& x = call.operand(0);
  Value out = call.result();
  const DType to = out.dtype;
  for (int64_t i = 0; i < out.size(); ++i) {
    if (isFloat(to))
      out.floats[i] = op.synthetic ? x.number(i) : roundTo(to, x.number(i));
    else if (to == DType::boolean)
      out.ints[i] = x.truth(i);
    else
      out.ints[i] = wrapTo(to, isFloat(x.dtype) ? truncateToInt(x.floats[i]) : x.ints[i]);
  }
  return out;
}

}  // namespace tokamak::interp
