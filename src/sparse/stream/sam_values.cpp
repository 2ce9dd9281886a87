#include "sparse/stream/sam_values.h"

#include <cmath>

namespace tokamak::stream::sam {

namespace {

constexpr double kSteep = 1e38;   // finite in single precision too
constexpr double kLarge = 1e300;  // stands for infinity where 0 times it must be 0
constexpr int kMostFactors = 64;  // of a power

}  // namespace

StreamId Values::add(Block block, std::vector<StreamId> inputs) {
  const StreamId out = graph_.addStream(StreamKind::val, graph_.stream(inputs[0]).rank);
  nodes_.push_back({std::move(block), std::move(inputs), {out}, label_, {}});
  return out;
}

StreamId Values::apply(AluOp op, Operand a, Operand b) {
  return b.stream ? apply(op, a.stream, b.stream) : apply(op, a.stream, b.number);
}

StreamId Values::difference(Operand a, Operand b) {
  if (a.stream && b.stream) return apply(AluOp::sub, a.stream, b.stream);
  if (a.stream) return apply(AluOp::add, a.stream, -b.number);
  return apply(AluOp::add, minus(b.stream), a.number);
}

/// 1 or 0.
StreamId Values::isAboveZero(StreamId a) {
  const StreamId half = apply(AluOp::sigmoid, apply(AluOp::mul, a, kSteep));  // 0, a half or 1
  return apply(AluOp::max, apply(AluOp::add, apply(AluOp::mul, half, 2.0), -1.0), 0.0);
}

StreamId Values::isTrue(StreamId a) { return isAboveZero(apply(AluOp::max, a, minus(a))); }

/// 0 where `a` is that infinity: exp(-inf); else exp of next to nothing, which is 1.
StreamId Values::isFinite(StreamId a, double infinity) {
  return apply(AluOp::exp, apply(AluOp::mul, a, infinity < 0 ? 1e-30 : -1e-30));
}

StreamId Values::tanh(StreamId a) {
  const StreamId s = apply(AluOp::sigmoid, apply(AluOp::mul, a, 2.0));
  return apply(AluOp::add, apply(AluOp::mul, s, 2.0), -1.0);
}

/// x * rsqrt(x), where 0 takes the root of 1.
StreamId Values::squareRoot(StreamId a) {
  const StreamId zero = oneMinus(isTrue(a));
  return apply(AluOp::mul, a, apply(AluOp::rsqrt, apply(AluOp::add, a, zero)));
}

/// Without infinities, so that 0 times it is 0.
StreamId Values::within(StreamId a) {
  const StreamId below = apply(AluOp::max, a, -kLarge);
  return minus(apply(AluOp::max, minus(below), -kLarge));
}

StreamId Values::select(StreamId condition, Operand a, Operand b) {
  const auto share = [&](StreamId of, const Operand& value) {
    return value.stream ? apply(AluOp::mul, of, within(value.stream)) : apply(AluOp::mul, of, value.number);
  };
  const bool aIsZero = !a.stream && a.number == 0, bIsZero = !b.stream && b.number == 0;
  if (bIsZero) return share(condition, a);
  const StreamId other = share(oneMinus(condition), b);
  return aIsZero ? other : apply(AluOp::add, share(condition, a), other);
}

StreamId Values::power(StreamId a, double exponent) {
  if (exponent == 0.5) return squareRoot(a);
  if (exponent == -0.5) return apply(AluOp::rsqrt, a);
  if (exponent != std::floor(exponent) || std::fabs(exponent) > kMostFactors) return {};
  if (exponent < 0) return apply(AluOp::div, constant(1, a), power(a, -exponent));
  if (exponent == 0) return constant(1, a);
  if (exponent == 1) return apply(AluOp::mul, a, 1.0);
  const StreamId half = power(a, std::floor(exponent / 2));
  const StreamId square = apply(AluOp::mul, half, half);
  return std::fmod(exponent, 2) == 0 ? square : apply(AluOp::mul, square, a);
}

StreamId Values::unary(AluOp op, StreamId a) {
  switch (op) {
    case AluOp::abs: return apply(AluOp::max, a, minus(a));
    case AluOp::sqrt: return squareRoot(a);
    case AluOp::reciprocal: return apply(AluOp::div, constant(1, a), a);
    case AluOp::tanh: return tanh(a);
    case AluOp::silu: return apply(AluOp::mul, a, apply(AluOp::sigmoid, a));
    case AluOp::gelu_tanh: {
      const StreamId cube = apply(AluOp::mul, power(a, 3), 0.044715);
      const StreamId inner = apply(AluOp::mul, apply(AluOp::add, a, cube), std::sqrt(2 / M_PI));
      return apply(AluOp::mul, apply(AluOp::mul, a, 0.5), apply(AluOp::add, tanh(inner), 1.0));
    }
    case AluOp::logical_not: return oneMinus(isTrue(a));
    default: return {};
  }
}

StreamId Values::compared(AluOp op, Operand a, Operand b) {
  if (!b.stream && std::isinf(b.number)) {
    if (op != AluOp::eq && op != AluOp::ne) return {};
    const StreamId finite = isFinite(a.stream, b.number);
    return op == AluOp::ne ? finite : oneMinus(finite);
  }
  switch (op) {
    case AluOp::lt: return isAboveZero(difference(b, a));
    case AluOp::gt: return isAboveZero(difference(a, b));
    case AluOp::le: return oneMinus(isAboveZero(difference(a, b)));
    case AluOp::ge: return oneMinus(isAboveZero(difference(b, a)));
    case AluOp::ne: return isTrue(difference(a, b));
    case AluOp::eq: return oneMinus(isTrue(difference(a, b)));
    default: return {};
  }
}

StreamId Values::binary(AluOp op, Operand a, Operand b) {
  const auto negated = [&](Operand x) { return x.stream ? Operand{minus(x.stream)} : Operand{{}, -x.number}; };
  const auto truth = [&](Operand x) {
    return x.stream ? Operand{isTrue(x.stream)} : Operand{{}, x.number != 0 ? 1.0 : 0.0};
  };
  if (op >= AluOp::eq && op <= AluOp::ge) {
    if (a.stream) return compared(op, a, b);
    constexpr AluOp kTurned[] = {AluOp::eq, AluOp::ne, AluOp::gt, AluOp::ge, AluOp::lt, AluOp::le};
    return compared(kTurned[static_cast<int>(op) - static_cast<int>(AluOp::eq)], b, a);
  }
  if (!a.stream && op == AluOp::sub) return difference(a, b);
  if (!a.stream && op == AluOp::div) return apply(AluOp::div, constant(a.number, b.stream), b.stream);
  if (op == AluOp::pow) return a.stream && !b.stream ? power(a.stream, b.number) : StreamId{};
  if (!a.stream) std::swap(a, b);
  switch (op) {
    case AluOp::min: return minus(apply(AluOp::max, negated(a), negated(b)));
    case AluOp::logical_and: return apply(AluOp::mul, truth(a), truth(b));
    case AluOp::logical_or: return apply(AluOp::max, truth(a), truth(b));
    default: return {};
  }
}

bool Values::write(const Node& node, const Alu& alu) {
  if (!node.outputs[0] || !graph_.stream(node.outputs[0]).block.isNumber()) return false;
  label_ = node.label;
  std::vector<Operand> operands;
  for (const StreamId input : node.inputs) operands.push_back({input});
  if (alu.scalar) operands.insert(alu.scalarFirst ? operands.begin() : operands.end(), Operand{{}, *alu.scalar});
  const size_t before = nodes_.size();
  StreamId out;
  if (alu.op == AluOp::select && operands[0].stream)
    out = select(isTrue(operands[0].stream), operands[1], operands[2]);
  else if (operands.size() == 1 && !alu.scalar)
    out = unary(alu.op, operands[0].stream);
  else if (operands.size() == 2)
    out = binary(alu.op, operands[0], operands[1]);
  if (!out) {
    nodes_.resize(before);
    return false;
  }
  nodes_.back().outputs = node.outputs;  // the last one is the result
  return true;
}

bool Values::write(const Node& node, const Reduce& reduce) {
  const bool least = reduce.op == FoldOp::min;
  if (reduce.op == FoldOp::mul || (!least && !reduce.init) || !node.outputs[0]) return false;
  if (!graph_.stream(node.outputs[0]).block.isNumber()) return false;
  label_ = node.label;
  StreamId out = least ? minus(node.inputs[0]) : node.inputs[0];
  out = add(Reduce{least ? FoldOp::max : reduce.op, {}}, {out});
  graph_.stream(out).rank = graph_.stream(node.outputs[0]).rank;
  if (reduce.init) {
    const AluOp fold = reduce.op == FoldOp::add ? AluOp::add : AluOp::max;
    out = apply(fold, out, least ? -*reduce.init : *reduce.init);
  }
  if (least) out = minus(out);
  nodes_.back().outputs = node.outputs;
  return true;
}

}  // namespace tokamak::stream::sam
