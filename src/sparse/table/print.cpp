#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sparse/table/table.h"

namespace tokamak::sparse {

namespace {

std::string portText(const Table& table, const Port& port) {
  const bool several = outputsOf(table.cell(port.cell)) > 1;
  return several ? fmt::format("%{}.{}", port.cell.index, port.index) : fmt::format("%{}", port.cell.index);
}

/// What a cell does, without its number: `scan A 1 %3.1`.
std::string cellText(const Table& table, const Cell& cell) {
  std::string out(nameOf(cell.kind));
  switch (cell.kind) {
    case CellKind::root:
    case CellKind::value: out += " " + cell.tensor; break;
    case CellKind::scan:
    case CellKind::locate:
    case CellKind::write: out += fmt::format(" {} {}", cell.tensor, cell.level); break;
    case CellKind::apply: out += fmt::format(" {}", nameOf(cell.fn)); break;
    case CellKind::reduce: out += fmt::format(" {}", nameOf(cell.fold)); break;
    case CellKind::spacc: out += fmt::format(" {} {}", nameOf(cell.fold), cell.order); break;
    case CellKind::fork:
    case CellKind::join: out += fmt::format(" {}", cell.order); break;
    default: break;
  }
  if (cell.scalar && cell.scalarFirst) out += fmt::format(" {}", *cell.scalar);
  for (const Port& port : cell.inputs) out += " " + portText(table, port);
  if (cell.scalar && !cell.scalarFirst) out += fmt::format(" {}", *cell.scalar);
  return out;
}

std::string gridLine(const std::vector<std::string>& texts, const std::vector<size_t>& widths) {
  std::string out = "|";
  for (size_t i = 0; i < texts.size(); ++i) out += fmt::format(" {:<{}} |", texts[i], widths[i]);
  return out + "\n";
}

}  // namespace

std::string print(const Table& table) {
  std::string out = fmt::format("table {} order {}\n", table.name, fmt::join(table.rows, ", "));
  for (const TableTensor& tensor : table.tensors)
    out += fmt::format("tensor {} = {} {} [{}] {}\n", tensor.name, nameOf(tensor.source), tensor.of,
                       fmt::join(tensor.sizes, ", "), tensor.format.str());
  std::vector<std::vector<std::string>> lines;
  lines.push_back({""});
  lines[0].insert(lines[0].end(), table.columns.begin(), table.columns.end());
  for (size_t row = 0; row <= table.rows.size(); ++row) {
    std::vector<std::vector<std::string>> stacks(table.columns.size());
    for (size_t c = 0; c < table.cells().size(); ++c) {
      const Cell& cell = table.cells()[c];
      if (cell.row == static_cast<int>(row))
        stacks[static_cast<size_t>(cell.column)].push_back(fmt::format("%{} = {}", c, cellText(table, cell)));
    }
    for (const Pointer& pointer : table.pointers())
      if (pointer.row == static_cast<int>(row))
        stacks[static_cast<size_t>(pointer.column)].push_back(fmt::format("-> %{}", pointer.cell.index));
    size_t height = 1;
    for (const auto& stack : stacks) height = std::max(height, stack.size());
    for (size_t h = 0; h < height; ++h) {
      std::vector<std::string> line = {h > 0 ? "" : row < table.rows.size() ? table.rows[row] : "val"};
      for (const auto& stack : stacks) line.push_back(h < stack.size() ? stack[h] : "");
      lines.push_back(std::move(line));
    }
  }
  std::vector<size_t> widths(table.columns.size() + 1, 0);
  for (const auto& line : lines)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  for (const auto& line : lines) out += gridLine(line, widths);
  return out;
}

}  // namespace tokamak::sparse
