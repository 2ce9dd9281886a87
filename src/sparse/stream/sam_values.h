#pragma once

#include "sparse/stream/graph.h"

namespace tokamak::stream::sam {

/// Writes what is computed of values in the operations that the exchange format has: sums, products, quotients, max,
/// exp, rsqrt, sigmoid, and a number as the second operand.
class Values {
 public:
  Values(Graph& graph, std::vector<Node>& nodes) : graph_(graph), nodes_(nodes) {}

  /// Whether the operation was written, its result in the node's own output. The others stay as they are.
  bool write(const Node& node, const Alu& alu);
  bool write(const Node& node, const Reduce& reduce);

 private:
  /// An operand: a stream, or a number.
  struct Operand {
    StreamId stream;
    double number = 0;
  };

  StreamId add(Block block, std::vector<StreamId> inputs);
  StreamId apply(AluOp op, StreamId a) { return add(Alu{op, {}, false}, {a}); }
  StreamId apply(AluOp op, StreamId a, StreamId b) { return add(Alu{op, {}, false}, {a, b}); }
  StreamId apply(AluOp op, StreamId a, double b) { return add(Alu{op, b, false}, {a}); }
  StreamId apply(AluOp op, Operand a, Operand b);

  StreamId minus(StreamId a) { return apply(AluOp::mul, a, -1.0); }
  StreamId oneMinus(StreamId a) { return apply(AluOp::add, minus(a), 1.0); }
  StreamId constant(double number, StreamId like) { return apply(AluOp::add, apply(AluOp::mul, like, 0.0), number); }
  StreamId difference(Operand a, Operand b);
  StreamId isAboveZero(StreamId a);
  StreamId isTrue(StreamId a);
  StreamId isFinite(StreamId a, double infinity);
  StreamId tanh(StreamId a);
  StreamId squareRoot(StreamId a);
  StreamId within(StreamId a);
  StreamId select(StreamId condition, Operand a, Operand b);
  StreamId power(StreamId a, double exponent);

  StreamId unary(AluOp op, StreamId a);
  StreamId compared(AluOp op, Operand a, Operand b);
  StreamId binary(AluOp op, Operand a, Operand b);

  Graph& graph_;
  std::vector<Node>& nodes_;
  std::string label_;
};

}  // namespace tokamak::stream::sam
