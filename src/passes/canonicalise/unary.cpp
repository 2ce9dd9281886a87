#include "passes/canonicalise/rules.h"

namespace tokamak {

namespace {

bool roundsToInteger(UnaryKind kind) {
  return kind == UnaryKind::floor || kind == UnaryKind::ceil || kind == UnaryKind::round || kind == UnaryKind::trunc;
}

ValueId ofInteger(Canonical& c, const Node& node, UnaryKind kind) {
  if (roundsToInteger(kind)) return node.operands[0];
  auto constant = [&](int64_t v) { return c.emit.full(Scalar::of(v), DType::boolean, node.type.shape); };
  if (kind == UnaryKind::isnan || kind == UnaryKind::isinf) return constant(0);
  if (kind == UnaryKind::isfinite) return constant(1);
  return {};
}

}  // namespace

ValueId simplifyUnary(Canonical& c, const Node& node, const Unary& op) {
  const ValueId x = node.operands[0];
  if (!isFloat(c.type(x).dtype))
    if (const ValueId v = ofInteger(c, node, op.kind); v.valid()) return v;
  const Node& producer = c.def(x);
  const auto* inner = std::get_if<Unary>(&producer.op);
  if (!inner) return {};
  const ValueId y = producer.operands[0];
  const bool same = inner->kind == op.kind;
  switch (op.kind) {
    case UnaryKind::neg:
    case UnaryKind::bitnot:
      if (same) return y;
      break;
    case UnaryKind::logical_not:
      if (same && c.type(y).dtype == DType::boolean) return y;
      break;
    case UnaryKind::abs:
      if (same) return x;
      if (inner->kind == UnaryKind::neg) return c.unary(UnaryKind::abs, y);
      break;
    case UnaryKind::sign:
      if (same) return x;
      break;
    default:
      if (roundsToInteger(op.kind) && roundsToInteger(inner->kind)) return x;
      break;
  }
  return {};
}

}  // namespace tokamak
