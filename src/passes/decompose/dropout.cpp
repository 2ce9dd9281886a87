#include "passes/decompose/expand.h"

namespace tokamak {

/// The uniform numbers are multiples of 2^-24, which halves cannot hold, so they are f32 whatever x is.
ValueId expandDropout(Emitter& emit, const Node& node, const Dropout& op) {
  const ValueId x = emit.widen(node.operands[0]);
  const ValueId uniform =
      emit.append(Random{RandomKind::uniform}, {node.operands[1], node.operands[2]}, {DType::f32, node.type.shape});
  const ValueId keep = emit.binary(BinaryKind::ge, uniform, op.p);
  const ValueId factor = emit.select(keep, emit.fullLike(x, 1.0 / (1.0 - op.p)), emit.fullLike(x, 0.0));
  return emit.narrow(emit.binary(BinaryKind::mul, x, factor), node.type.dtype);
}

}  // namespace tokamak
