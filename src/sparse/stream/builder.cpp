#include "sparse/stream/builder.h"

namespace tokamak::stream {

void Builder::input(std::string name, std::vector<Level> levels, std::vector<int64_t> block) {
  graph_.addTensor({std::move(name), std::move(levels), std::move(block), false});
}

void Builder::output(std::string name, std::vector<Level> levels, std::vector<int64_t> block) {
  graph_.addTensor({std::move(name), std::move(levels), std::move(block), true});
}

std::vector<StreamId> Builder::add(Block block, std::vector<StreamId> inputs, const std::vector<StreamKind>& outputs) {
  std::vector<StreamId> results;
  for (StreamKind kind : outputs) results.push_back(graph_.addStream(kind));
  graph_.addNode({std::move(block), std::move(inputs), results, label_, {}});
  return results;
}

StreamId Builder::root(std::string tensor) { return add(Root{std::move(tensor)}, {}, {StreamKind::ref})[0]; }

Builder::Fiber Builder::scan(std::string tensor, int level, StreamId ref) {
  const auto out = add(Scan{std::move(tensor), level}, {ref}, {StreamKind::crd, StreamKind::ref});
  return {out[0], out[1]};
}

Builder::Merged Builder::join(JoinKind kind, const std::vector<Fiber>& operands) {
  std::vector<StreamId> inputs;
  std::vector<StreamKind> kinds = {StreamKind::crd};
  for (const Fiber& operand : operands) {
    inputs.insert(inputs.end(), {operand.crd, operand.ref});
    kinds.push_back(graph_.stream(operand.ref).kind);
  }
  auto out = add(Joiner{kind}, std::move(inputs), kinds);
  return {out[0], {out.begin() + 1, out.end()}};
}

StreamId Builder::repeat(StreamId stream, StreamId along) {
  return add(Repeat{}, {stream, along}, {graph_.stream(stream).kind})[0];
}

Builder::Located Builder::locate(std::string tensor, int level, StreamId crd, StreamId ref, StreamId parent) {
  std::vector<StreamId> inputs = {crd, ref};
  if (parent) inputs.push_back(parent);
  const auto out =
      add(Locate{std::move(tensor), level}, std::move(inputs), {StreamKind::ref, StreamKind::ref, StreamKind::crd});
  return {out[0], out[1], out[2]};
}

StreamId Builder::array(std::string tensor, StreamId ref) {
  return add(Array{std::move(tensor)}, {ref}, {StreamKind::val})[0];
}

StreamId Builder::alu(AluOp op, std::vector<StreamId> operands) {
  return add(Alu{op, {}, false}, std::move(operands), {StreamKind::val})[0];
}

StreamId Builder::aluScalar(AluOp op, std::vector<StreamId> operands, double scalar) {
  return add(Alu{op, scalar, false}, std::move(operands), {StreamKind::val})[0];
}

StreamId Builder::aluScalar(AluOp op, StreamId operand, double scalar) {
  return add(Alu{op, scalar, false}, {operand}, {StreamKind::val})[0];
}

StreamId Builder::aluScalarFirst(AluOp op, double scalar, StreamId operand) {
  return add(Alu{op, scalar, true}, {operand}, {StreamKind::val})[0];
}

StreamId Builder::reduce(FoldOp op, StreamId val, std::optional<double> init) {
  return add(Reduce{op, init}, {val}, {StreamKind::val})[0];
}

Builder::Accumulated Builder::spacc(FoldOp op, const std::vector<StreamId>& outer, StreamId inner, StreamId val) {
  std::vector<StreamId> inputs = outer;
  inputs.insert(inputs.end(), {inner, val});
  std::vector<StreamKind> kinds(outer.size(), StreamKind::crd);
  kinds.push_back(StreamKind::val);
  auto out = add(Spacc{static_cast<int>(outer.size()), op}, std::move(inputs), kinds);
  return {{out.begin(), out.end() - 1}, out.back()};
}

Builder::Pair Builder::drop(StreamId outer, StreamId inner) {
  const auto out = add(CrdDrop{}, {outer, inner}, {StreamKind::crd, graph_.stream(inner).kind});
  return {out[0], out[1]};
}

Builder::Pair Builder::hold(StreamId outer, StreamId inner) {
  const auto out = add(CrdHold{}, {outer, inner}, {StreamKind::crd, StreamKind::crd});
  return {out[0], out[1]};
}

std::vector<StreamId> Builder::fork(StreamId stream, int lanes) {
  return add(Fork{}, {stream}, std::vector<StreamKind>(static_cast<size_t>(lanes), graph_.stream(stream).kind));
}

StreamId Builder::join(const std::vector<StreamId>& lanes, int depth) {
  return add(Join{depth}, lanes, {graph_.stream(lanes.front()).kind})[0];
}

void Builder::writeLevel(std::string tensor, int level, StreamId crd) {
  add(WriteLevel{std::move(tensor), level}, {crd}, {});
}

void Builder::writeValues(std::string tensor, StreamId val) { add(WriteValues{std::move(tensor)}, {val}, {}); }

Result<Graph> Builder::finish() && {
  shareStreams(graph_);
  TK_RETURN_IF_ERROR(verify(graph_));
  return std::move(graph_);
}

}  // namespace tokamak::stream
