#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "sparse/einsum/syntax.h"
#include "sparse/table/table.h"

namespace tokamak::sparse {

namespace {

std::string trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(at, begin), text.size());
    out.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return out;
}

template <class T>
bool number(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

class TableParser {
 public:
  TableParser(std::string_view text, std::string_view file) : in_(std::string(text)), file_(file) {}

  Result<Table> run() {
    for (std::string line; std::getline(in_, line);) {
      ++line_;
      line = trimmed(line);
      if (line.empty() || line.starts_with("//")) continue;
      if (line.starts_with("table "))
        TK_RETURN_IF_ERROR(head(line));
      else if (line.starts_with("tensor "))
        TK_RETURN_IF_ERROR(tensor(line));
      else if (line.starts_with("|"))
        TK_RETURN_IF_ERROR(grid(line));
      else
        return fail("this is no line of a table", "lines begin with table, tensor or |");
    }
    return finish();
  }

 private:
  Diagnostic fail(std::string message, std::string hint) const {
    return {"T0978", {file_, line_, 1}, std::move(message), std::move(hint)};
  }

  Result<> head(const std::string& line) {
    const size_t order = line.find(" order");
    if (order == std::string::npos) return fail("the order of the rows is missing", "write table NAME order i, j");
    out_.name = trimmed(std::string_view(line).substr(6, order - 6));
    if (const std::string rows = trimmed(std::string_view(line).substr(order + 6)); !rows.empty())
      out_.rows = split(rows, ',');
    return Unit{};
  }

  Result<> tensor(const std::string& line) {
    std::istringstream words(line);
    std::string word, equals, source;
    TableTensor t;
    words >> word >> t.name >> equals >> source >> t.of;
    const size_t open = line.find('['), close = line.find(']');
    const auto kind = fromName<TableSource>(source);
    if (equals != "=" || !kind || open == std::string::npos || close == std::string::npos || close < open)
      return fail("this is no tensor", "write tensor A = data A [64, 64] csr");
    t.source = *kind;
    if (const std::string sizes = trimmed(std::string_view(line).substr(open + 1, close - open - 1)); !sizes.empty())
      for (const std::string& size : split(sizes, ',')) {
        t.sizes.push_back(0);
        if (!number(size, t.sizes.back())) return fail("a size is not a number", "write [64, 64]");
      }
    const std::string format = trimmed(std::string_view(line).substr(close + 1));
    TK_TRY(Cursor cursor, Cursor::over(format, file_));
    TK_TRY(t.format, parseFormat(cursor, rankOf(format, t.sizes.size()), /*loose=*/true));
    if (t.format.levels.size() != t.sizes.size())
      return fail(fmt::format("{} levels and {} sizes", t.format.levels.size(), t.sizes.size()),
                  "give each level a size");
    out_.tensors.push_back(std::move(t));
    return Unit{};
  }

  /// The number of axes that a format's text speaks of.
  static int rankOf(const std::string& format, size_t levels) {
    if (format.starts_with("bcsr")) return 2;
    int rank = static_cast<int>(levels);
    if (format.starts_with("{"))
      rank -= static_cast<int>(std::count(format.begin(), format.end(), '%'));  // a split axis has two levels
    return rank;
  }

  Result<> grid(const std::string& line) {
    std::vector<std::string> texts = split(line, '|');
    if (texts.size() < 3) return fail("the line is not closed", "write | row | cell | ... |");
    texts.erase(texts.begin());
    texts.pop_back();
    if (out_.columns.empty()) {
      out_.columns.assign(texts.begin() + 1, texts.end());
      return Unit{};
    }
    if (texts.size() != out_.columns.size() + 1)
      return fail(fmt::format("{} cells in {} columns", texts.size() - 1, out_.columns.size()),
                  "a line has a cell for each column, if only an empty one");
    if (!texts[0].empty()) {
      const auto row = std::find(out_.rows.begin(), out_.rows.end(), texts[0]);
      if (row == out_.rows.end() && texts[0] != "val")
        return fail(fmt::format("there is no row {}", texts[0]), "rows are the variables of the order, and val");
      row_ = static_cast<int>(row - out_.rows.begin());
    }
    for (size_t column = 1; column < texts.size(); ++column)
      if (!texts[column].empty()) TK_RETURN_IF_ERROR(cell(texts[column], static_cast<int>(column) - 1));
    return Unit{};
  }

  Result<> cell(const std::string& text, int column) {
    const auto wrong = [&](std::string_view what) {
      return fail(fmt::format("'{}': {}", text, what), "write %4 = scan A 1 %2.1");
    };
    std::istringstream in(text);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    size_t id = 0;
    if (words.size() == 2 && words[0] == "->" && words[1][0] == '%') {
      if (!number(std::string_view(words[1]).substr(1), id)) return wrong("this is no pointer");
      pointers_.push_back({row_, column, CellId(id)});
      return Unit{};
    }
    if (words.size() < 3 || words[0][0] != '%' || !number(std::string_view(words[0]).substr(1), id) || words[1] != "=")
      return wrong("this is no cell");
    const auto kind = fromName<CellKind>(words[2]);
    if (!kind) return wrong("there is no such kind of cell");
    Cell c;
    c.kind = *kind;
    c.row = row_;
    c.column = column;
    size_t at = 3;
    if (!parameters(c, words, at)) return wrong("its parameters are wrong");
    for (; at < words.size(); ++at) {
      if (words[at][0] == '%') {
        Port port;
        if (!portOf(words[at], port)) return wrong("an operand is wrong");
        c.inputs.push_back(port);
        continue;
      }
      double scalar = 0;
      if (c.scalar || !number(words[at], scalar)) return wrong("an operand is wrong");
      c.scalarFirst = c.inputs.empty();
      c.scalar = scalar;
    }
    if (!cells_.try_emplace(id, std::move(c)).second) return wrong("its number is taken");
    return Unit{};
  }

  static bool portOf(const std::string& text, Port& out) {
    const size_t dot = text.find('.');
    size_t id = 0;
    if (!number(std::string_view(text).substr(1, dot == std::string::npos ? text.size() : dot - 1), id)) return false;
    out.cell = CellId(id);
    return dot == std::string::npos || number(std::string_view(text).substr(dot + 1), out.index);
  }

  static bool parameters(Cell& c, const std::vector<std::string>& words, size_t& at) {
    const auto next = [&](auto& to) {
      if (at >= words.size()) return false;
      return number(words[at++], to);
    };
    const auto named = [&](auto& to) {
      const auto found = at < words.size() ? fromName<std::decay_t<decltype(to)>>(words[at++]) : std::nullopt;
      if (found) to = *found;
      return found.has_value();
    };
    switch (c.kind) {
      case CellKind::root:
      case CellKind::value:
      case CellKind::scan:
      case CellKind::locate:
      case CellKind::write:
        if (at >= words.size()) return false;
        c.tensor = words[at++];
        return c.kind == CellKind::root || c.kind == CellKind::value || next(c.level);
      case CellKind::apply: return named(c.fn);
      case CellKind::reduce: return named(c.fold);
      case CellKind::spacc: return named(c.fold) && next(c.order);
      case CellKind::fork:
      case CellKind::join: return next(c.order);
      default: return true;
    }
  }

  Result<Table> finish() {
    line_ = 0;
    size_t expected = 0;
    for (auto& [id, c] : cells_) {
      if (id != expected++) return fail(fmt::format("cell %{} is missing", expected - 1), "cells are numbered from 0");
      for (const Port& port : c.inputs)
        if (port.cell.index >= id || port.index < 0 || port.index >= outputsOf(out_.cell(port.cell)))
          return fail(fmt::format("%{} uses %{}.{}, which is not made before it", id, port.cell.index, port.index),
                      "cells use cells with smaller numbers");
      out_.append(std::move(c));
    }
    for (const Pointer& pointer : pointers_) {
      if (pointer.cell.index >= out_.cells().size())
        return fail(fmt::format("-> %{} points at nothing", pointer.cell.index), "point at a cell of the table");
      out_.point(pointer.row, pointer.column, pointer.cell);
    }
    return std::move(out_);
  }

  std::istringstream in_;
  std::string file_;
  int line_ = 0, row_ = 0;
  Table out_;
  std::map<size_t, Cell> cells_;
  std::vector<Pointer> pointers_;
};

}  // namespace

Result<Table> parseTable(std::string_view text, std::string_view file) { return TableParser(text, file).run(); }

}  // namespace tokamak::sparse
