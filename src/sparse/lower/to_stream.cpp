#include "sparse/lower/to_stream.h"

#include <fmt/format.h>

#include "sparse/stream/builder.h"

namespace tokamak::sparse {

namespace {

using stream::StreamId;

class Lowering {
 public:
  explicit Lowering(const Table& table) : table_(table), builder_(table.name) {}

  Result<stream::Graph> run() {
    for (const TableTensor& tensor : table_.tensors) declare(tensor);
    for (const Cell& cell : table_.cells()) {
      builder_.label(table_.columns[static_cast<size_t>(cell.column)]);
      outputs_.push_back(lower(cell));
    }
    return std::move(builder_).finish();
  }

 private:
  void declare(const TableTensor& tensor) {
    std::vector<stream::Level> levels;
    for (size_t l = 0; l < tensor.sizes.size(); ++l)
      levels.push_back({static_cast<stream::LevelFormat>(tensor.format.levels[l].kind), tensor.sizes[l]});
    if (tensor.source == TableSource::result)
      builder_.output(tensor.name, std::move(levels));
    else
      builder_.input(tensor.name, std::move(levels));
  }

  StreamId in(const Cell& cell, size_t i) const {
    const Port& port = cell.inputs[i];
    return outputs_[port.cell.index][static_cast<size_t>(port.index)];
  }
  std::vector<StreamId> all(const Cell& cell) const {
    std::vector<StreamId> out;
    for (size_t i = 0; i < cell.inputs.size(); ++i) out.push_back(in(cell, i));
    return out;
  }

  static stream::FoldOp foldOp(Fold fold) {
    return fold == Fold::max ? stream::FoldOp::max : fold == Fold::min ? stream::FoldOp::min : stream::FoldOp::add;
  }

  std::vector<StreamId> lower(const Cell& cell) {
    switch (cell.kind) {
      case CellKind::root: return {builder_.root(cell.tensor)};
      case CellKind::scan: {
        const auto fiber = builder_.scan(cell.tensor, cell.level, in(cell, 0));
        return {fiber.crd, fiber.ref};
      }
      case CellKind::intersect:
      case CellKind::unite: return merge(cell);
      case CellKind::repeat: return {builder_.repeat(in(cell, 0), in(cell, 1))};
      case CellKind::locate:
        return {builder_
                    .locate(cell.tensor, cell.level, in(cell, 0), in(cell, 1),
                            cell.inputs.size() > 2 ? in(cell, 2) : StreamId{})
                    .ref};
      case CellKind::value: return {builder_.array(cell.tensor, in(cell, 0))};
      case CellKind::apply: return {apply(cell)};
      case CellKind::reduce: return {builder_.reduce(foldOp(cell.fold), in(cell, 0))};
      case CellKind::spacc: return spacc(cell);
      case CellKind::drop: {
        const auto pair = builder_.drop(in(cell, 0), in(cell, 1));
        return {pair.outer, pair.inner};
      }
      case CellKind::fork: return builder_.fork(in(cell, 0), cell.order);
      case CellKind::join: return {builder_.join(all(cell), cell.order)};
      case CellKind::write:
        if (static_cast<size_t>(cell.level) == table_.tensor(cell.tensor)->sizes.size())
          builder_.writeValues(cell.tensor, in(cell, 0));
        else
          builder_.writeLevel(cell.tensor, cell.level, in(cell, 0));
        return {};
    }
    return {};
  }

  std::vector<StreamId> merge(const Cell& cell) {
    std::vector<stream::Builder::Fiber> operands;
    for (size_t i = 0; i < cell.inputs.size(); i += 2) operands.push_back({in(cell, i), in(cell, i + 1)});
    const auto kind = cell.kind == CellKind::intersect ? stream::JoinKind::intersect : stream::JoinKind::unite;
    auto merged = builder_.join(kind, operands);
    merged.payloads.insert(merged.payloads.begin(), merged.crd);
    return merged.payloads;
  }

  StreamId apply(const Cell& cell) {
    const stream::AluOp op = *fromName<stream::AluOp>(nameOf(cell.fn));
    if (!cell.scalar) return builder_.alu(op, all(cell));
    if (cell.scalarFirst) return builder_.aluScalarFirst(op, *cell.scalar, in(cell, 0));
    if (cell.inputs.size() == 1) return builder_.aluScalar(op, in(cell, 0), *cell.scalar);
    return builder_.aluScalar(op, all(cell), *cell.scalar);
  }

  std::vector<StreamId> spacc(const Cell& cell) {
    std::vector<StreamId> crds = all(cell);
    const StreamId val = crds.back();
    crds.pop_back();
    const StreamId inner = crds.back();
    crds.pop_back();
    auto out = builder_.spacc(foldOp(cell.fold), crds, inner, val);
    out.crds.push_back(out.val);
    return out.crds;
  }

  const Table& table_;
  stream::Builder builder_;
  std::vector<std::vector<StreamId>> outputs_;  // by cell
};

}  // namespace

Result<stream::Graph> toStream(const Table& table) { return Lowering(table).run(); }

}  // namespace tokamak::sparse
