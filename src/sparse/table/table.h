#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sparse/einsum/function.h"
#include "sparse/format/format.h"
#include "support/ids.h"
#include "support/result.h"

namespace tokamak::sparse {

struct CellTag;
using CellId = Id<CellTag>;

/// One stream that a cell makes.
struct Port {
  CellId cell;
  int index = 0;
  auto operator<=>(const Port&) const = default;
};

/// What makes a stream. Inputs -> outputs; `crd` are coordinates, `ref` positions in a stored level, `val` values.
///   root       -> ref                        the one position above a tensor's first level
///   scan       ref -> crd, ref               walks `level` of `tensor` below each position
///   intersect  crd, p, crd, p, ... -> crd, p, p, ...   coordinates that all have, with their payloads (ref or val)
///   unite      the same                      coordinates that any has; no payload where it has not
///   repeat     p, along -> p                 once for each element of the deeper stream `along`
///   locate     crd, ref, [ref] -> ref        the position of a coordinate in a dense level, below a third stream's
///   value      ref -> val                    reads `tensor`
///   apply      val, ... -> val               `fn`; `scalar` stands for the last operand (or the first)
///   reduce     val -> val                    folds each innermost fiber
///   spacc      crd x (order + 1), val -> crd x order, val    folds the first coordinate, workspace over the others
///   drop       crd, p -> crd, p              outer coordinates whose inner fiber is empty go
///   fork       p -> p x lanes                elements in turn to the lanes
///   join       p x lanes -> p                fibers back in their order; `order` levels below the fork
///   write      crd ->, or val ->             stores `level` of the result `tensor`; the values as its last level
enum class CellKind : uint8_t {
  root,
  scan,
  intersect,
  unite,
  repeat,
  locate,
  value,
  apply,
  reduce,
  spacc,
  drop,
  fork,
  join,
  write
};

struct Cell {
  CellKind kind = CellKind::root;
  int row = 0;     // of Table::rows; the last is that of values
  int column = 0;  // of Table::columns
  std::string tensor;
  int level = 0;
  Fn fn = Fn::add;
  std::optional<double> scalar;
  bool scalarFirst = false;
  Fold fold = Fold::sum;
  int order = 0;  // of a spacc or join; the number of lanes of a fork
  std::vector<Port> inputs;
  std::string rule;  // which rule made it, for explain; not part of equality

  bool operator==(const Cell&) const;
};

/// A place in a table that another place's cell serves: `-> %2`.
struct Pointer {
  int row = 0, column = 0;
  CellId cell;
  auto operator<=>(const Pointer&) const = default;
};

/// How many streams a cell makes.
int outputsOf(const Cell& cell);

/// A tensor as a table reads or writes it: its levels in storage order.
///   data    the tensor `of` of the program, in `format` (another than its own: a copy is made)
///   ones    the same levels with 1 for every value: says what is stored
///   range   the coordinates below `of`, in one dense level or in blocks; has no values that matter (they are 1)
///   result  written
enum class TableSource : uint8_t { data, ones, range, result };

struct TableTensor {
  std::string name;
  TableSource source = TableSource::data;
  std::string of;              // the program's tensor; of a range, how many coordinates
  Format format;               // of the tensor
  std::vector<int64_t> sizes;  // of the levels; -1 unknown
  bool operator==(const TableTensor&) const = default;
};

/// A fusion table: how one region of a program runs as streams. Rows are index variables in the one order of all loops
/// of the region, and a last row for values; columns are tensor views and the statements of the region. A cell stands
/// where its stream belongs: the view that it walks or computes, at the variable that it runs over. Cells are listed
/// producers first; equal cells are one cell, so views that are used many times are walked once, and the other places
/// point there.
///
///   table y order i, j
///   tensor A = data A [64, 64] csr
///   tensor x = data x [64] dense
///   tensor y = result y [64] dense
///   |     | y                    | A[i, j]            | x[j]                    |
///   | i   | %11 = write y 0 %1.0 | %0 = root A        | %3 = root x             |
///   |     |                      | %1 = scan A 0 %0   | %4 = repeat %3 %1.1     |
///   | j   | %10 = reduce sum %9  | %2 = scan A 1 %1.1 | %5 = repeat %4 %2.1     |
///   |     |                      |                    | %6 = locate x 0 %2.0 %5 |
///   | val | %9 = apply mul %7 %8 | %7 = value A %2.1  | %8 = value x %6         |
///   |     | %12 = write y 1 %10  |                    |                         |
class Table {
 public:
  std::string name;
  std::vector<std::string> rows;  // index variables, outermost first
  std::vector<std::string> columns;
  std::vector<TableTensor> tensors;

  /// The cell that is equal but for its place and rule, or a new one.
  CellId add(Cell cell);
  CellId append(Cell cell);  // new whatever it is
  /// Notes that (row, column) uses a cell that stands elsewhere.
  void point(int row, int column, CellId cell);
  int column(const std::string& name);  // found or added
  const TableTensor* tensor(std::string_view name) const;

  const std::vector<Cell>& cells() const { return cells_; }
  const std::set<Pointer>& pointers() const { return pointers_; }
  const Cell& cell(CellId id) const { return cells_[id.index]; }
  bool operator==(const Table& other) const;

 private:
  std::vector<Cell> cells_;
  std::set<Pointer> pointers_;
  std::unordered_multimap<size_t, CellId> known_;
};

/// The table as text; `parseTable(print(t)) == t`.
std::string print(const Table& table);
Result<Table> parseTable(std::string_view text, std::string_view file = {});

}  // namespace tokamak::sparse

template <>
struct std::hash<tokamak::sparse::Port> {
  size_t operator()(const tokamak::sparse::Port& p) const noexcept { return p.cell.index * 31ull + p.index; }
};

template <>
struct tokamak::EnumNames<tokamak::sparse::CellKind> {
  static constexpr std::array<std::string_view, 14> names = {"root",   "scan",  "intersect", "union",  "repeat",
                                                             "locate", "value", "apply",     "reduce", "spacc",
                                                             "drop",   "fork",  "join",      "write"};
};
template <>
struct tokamak::EnumNames<tokamak::sparse::TableSource> {
  static constexpr std::array<std::string_view, 4> names = {"data", "ones", "range", "result"};
};
