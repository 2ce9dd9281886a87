#include "sparse/table/table.h"

#include <algorithm>

namespace tokamak::sparse {

namespace {

size_t hashOf(const Cell& c) {
  size_t out = static_cast<size_t>(c.kind);
  const auto mix = [&](size_t v) { out = (out ^ v) * 0x9E3779B97F4A7C15ull + (out >> 29); };
  mix(std::hash<std::string>{}(c.tensor));
  mix(static_cast<size_t>(c.level) * 64 + static_cast<size_t>(c.fn));
  mix(static_cast<size_t>(c.order) * 8 + static_cast<size_t>(c.fold));
  if (c.scalar) mix(std::hash<double>{}(*c.scalar) + (c.scalarFirst ? 2 : 1));
  for (const Port& p : c.inputs) mix(std::hash<Port>{}(p) + 3);
  return out;
}

bool makesTheSame(const Cell& a, const Cell& b) {
  return a.kind == b.kind && a.tensor == b.tensor && a.level == b.level && a.fn == b.fn && a.scalar == b.scalar &&
         a.scalarFirst == b.scalarFirst && a.fold == b.fold && a.order == b.order && a.inputs == b.inputs;
}

}  // namespace

bool Cell::operator==(const Cell& other) const {
  return makesTheSame(*this, other) && row == other.row && column == other.column;
}

int outputsOf(const Cell& cell) {
  switch (cell.kind) {
    case CellKind::scan:
    case CellKind::drop: return 2;
    case CellKind::intersect:
    case CellKind::unite: return static_cast<int>(cell.inputs.size()) / 2 + 1;
    case CellKind::spacc: return cell.order + 1;
    case CellKind::fork: return cell.order;
    case CellKind::write: return 0;
    default: return 1;
  }
}

CellId Table::add(Cell cell) {
  const size_t hash = hashOf(cell);
  for (auto [at, end] = known_.equal_range(hash); at != end; ++at)
    if (makesTheSame(cells_[at->second.index], cell)) return at->second;
  return append(std::move(cell));
}

CellId Table::append(Cell cell) {
  const CellId id(cells_.size());
  known_.emplace(hashOf(cell), id);
  cells_.push_back(std::move(cell));
  return id;
}

void Table::point(int row, int column, CellId cell) {
  if (cells_[cell.index].row != row || cells_[cell.index].column != column) pointers_.insert({row, column, cell});
}

int Table::column(const std::string& name) {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found != columns.end()) return static_cast<int>(found - columns.begin());
  columns.push_back(name);
  return static_cast<int>(columns.size()) - 1;
}

const TableTensor* Table::tensor(std::string_view name) const {
  for (const TableTensor& tensor : tensors)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

bool Table::operator==(const Table& other) const {
  return name == other.name && rows == other.rows && columns == other.columns && tensors == other.tensors &&
         cells_ == other.cells_ && pointers_ == other.pointers_;
}

}  // namespace tokamak::sparse
