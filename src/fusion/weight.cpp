#include "fusion/weight.h"

namespace tokamak {

static int64_t unaryWeight(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::exp:
    case UnaryKind::exp2:
    case UnaryKind::sigmoid:
    case UnaryKind::log:
    case UnaryKind::log2:
    case UnaryKind::log10:
    case UnaryKind::tanh: return 12;
    case UnaryKind::sqrt:
    case UnaryKind::rsqrt:
    case UnaryKind::reciprocal: return 4;
    case UnaryKind::neg:
    case UnaryKind::abs:
    case UnaryKind::floor:
    case UnaryKind::ceil:
    case UnaryKind::round:
    case UnaryKind::trunc:
    case UnaryKind::isnan:
    case UnaryKind::isinf:
    case UnaryKind::isfinite:
    case UnaryKind::logical_not:
    case UnaryKind::bitnot:
    case UnaryKind::sign: return 1;
    default: return 24;
  }
}

static int64_t binaryWeight(BinaryKind kind, bool integer) {
  switch (kind) {
    case BinaryKind::div: return integer ? 24 : 4;
    case BinaryKind::floordiv:
    case BinaryKind::rem:
    case BinaryKind::fmod: return 30;
    case BinaryKind::pow:
    case BinaryKind::atan2: return 40;
    case BinaryKind::max:
    case BinaryKind::min: return 2;
    default: return 1;
  }
}

int64_t opWeight(const Node& node) {
  if (auto* op = std::get_if<Unary>(&node.op)) return unaryWeight(op->kind);
  if (auto* op = std::get_if<Binary>(&node.op)) return binaryWeight(op->kind, !isFloat(node.type.dtype));
  if (auto* op = std::get_if<Pool>(&node.op)) {
    int64_t window = 1;
    for (int64_t w : op->window) window *= w;
    return 3 * window;
  }
  if (std::holds_alternative<AdaptivePool>(node.op) || std::holds_alternative<Resize>(node.op)) return 60;
  if (std::holds_alternative<Random>(node.op)) return 60;
  if (std::holds_alternative<Gather>(node.op) || std::holds_alternative<IndexSelect>(node.op)) return 6;
  if (std::holds_alternative<Concat>(node.op)) return 3 * static_cast<int64_t>(node.operands.size());
  if (std::holds_alternative<Pad>(node.op)) return 3;
  return isFree(node.op) ? 0 : 1;
}

bool isFree(const Op& op) {
  return std::holds_alternative<Full>(op) || std::holds_alternative<Iota>(op) ||
         std::holds_alternative<Broadcast>(op) || std::holds_alternative<Reshape>(op) ||
         std::holds_alternative<Transpose>(op) || std::holds_alternative<Slice>(op) || std::holds_alternative<Flip>(op);
}

}  // namespace tokamak
