#include "sparse/table/emit.h"

namespace tokamak::sparse {

Cell Emitter::cell(CellKind kind, std::vector<Port> inputs) const {
  Cell out;
  out.kind = kind;
  out.row = row_;
  out.column = column_;
  out.inputs = std::move(inputs);
  out.rule = rule_;
  return out;
}

std::vector<Port> Emitter::add(Cell cell) {
  const int count = outputsOf(cell);
  const CellId id = table_.add(std::move(cell));
  table_.point(row_, column_, id);
  std::vector<Port> out;
  for (int i = 0; i < count; ++i) out.push_back({id, i});
  return out;
}

Port Emitter::root(const std::string& tensor) {
  Cell c = cell(CellKind::root, {});
  c.tensor = tensor;
  return add(std::move(c))[0];
}

Emitter::Fiber Emitter::scan(const std::string& tensor, int level, Port ref) {
  Cell c = cell(CellKind::scan, {ref});
  c.tensor = tensor;
  c.level = level;
  const std::vector<Port> out = add(std::move(c));
  return {out[0], out[1]};
}

std::vector<Port> Emitter::merge(CellKind kind, const std::vector<std::pair<Port, Port>>& operands) {
  std::vector<Port> inputs;
  for (const auto& [crd, payload] : operands) {
    inputs.push_back(crd);
    inputs.push_back(payload);
  }
  return add(cell(kind, std::move(inputs)));
}

/// Positions or values that run along the coordinates, if the cell that makes those makes such: the exchange format of
/// SAM graphs repeats along them alone.
Port Emitter::besides(Port crd) {
  const Cell from = table_.cell(crd.cell);
  if (from.kind == CellKind::fork) {  // lanes of what runs along what was forked
    const Port whole = besides(from.inputs[0]);
    return whole == from.inputs[0] ? crd : fork(whole, from.order)[static_cast<size_t>(crd.index)];
  }
  const bool pairs = from.kind == CellKind::scan || from.kind == CellKind::intersect || from.kind == CellKind::unite;
  if (pairs && crd.index == 0) return {crd.cell, 1};
  if (from.kind == CellKind::spacc && crd.index == from.order - 1) return {crd.cell, from.order};
  return crd;
}

Port Emitter::repeat(Port what, Port along) { return add(cell(CellKind::repeat, {what, besides(along)}))[0]; }

Port Emitter::locate(const std::string& tensor, int level, Port crd, Port below) {
  Cell c = cell(CellKind::locate, {crd, below});
  if (level > 0) c.inputs.push_back(below);
  c.tensor = tensor;
  c.level = level;
  return add(std::move(c))[0];
}

Port Emitter::value(const std::string& tensor, Port ref) {
  Cell c = cell(CellKind::value, {ref});
  c.tensor = tensor;
  return add(std::move(c))[0];
}

Port Emitter::apply(Fn fn, const std::vector<Port>& operands) {
  Cell c = cell(CellKind::apply, operands);
  c.fn = fn;
  return add(std::move(c))[0];
}

Port Emitter::applyScalar(Fn fn, Port operand, double scalar, bool scalarFirst) {
  Cell c = cell(CellKind::apply, {operand});
  c.fn = fn;
  c.scalar = scalar;
  c.scalarFirst = scalarFirst;
  return add(std::move(c))[0];
}

Port Emitter::selectScalar(Port condition, Port then, double otherwise) {
  Cell c = cell(CellKind::apply, {condition, then});
  c.fn = Fn::select;
  c.scalar = otherwise;
  return add(std::move(c))[0];
}

Port Emitter::reduce(Fold fold, Port val) {
  Cell c = cell(CellKind::reduce, {val});
  c.fold = fold;
  return add(std::move(c))[0];
}

std::vector<Port> Emitter::spacc(Fold fold, const std::vector<Port>& crds, Port val) {
  Cell c = cell(CellKind::spacc, crds);
  c.inputs.push_back(val);
  c.fold = fold;
  c.order = static_cast<int>(crds.size()) - 1;
  return add(std::move(c));
}

Emitter::Fiber Emitter::drop(Port outer, Port inner) {
  const std::vector<Port> out = add(cell(CellKind::drop, {outer, inner}));
  return {out[0], out[1]};
}

std::vector<Port> Emitter::fork(Port what, int lanes) {
  Cell c = cell(CellKind::fork, {what});
  c.order = lanes;
  return add(std::move(c));
}

Port Emitter::join(const std::vector<Port>& lanes, int depth) {
  Cell c = cell(CellKind::join, lanes);
  c.order = depth;
  return add(std::move(c))[0];
}

void Emitter::write(const std::string& tensor, int level, Port what) {
  Cell c = cell(CellKind::write, {what});
  c.tensor = tensor;
  c.level = level;
  add(std::move(c));
}

}  // namespace tokamak::sparse
