#pragma once

#include "sparse/einsum/program.h"
#include "sparse/table/table.h"

namespace tokamak::sparse {

/// Makes cells one kind at a time; equal ones once. `at` says where the next cells stand and which rule makes them.
class Emitter {
 public:
  explicit Emitter(Table& table) : table_(table) {}

  void at(int row, int column) { row_ = row, column_ = column; }
  void rule(std::string text) { rule_ = std::move(text); }

  struct Fiber {
    Port crd, ref;
  };
  Port root(const std::string& tensor);
  Fiber scan(const std::string& tensor, int level, Port ref);
  /// Coordinates with payloads in; the coordinates, then the payloads out.
  std::vector<Port> merge(CellKind kind, const std::vector<std::pair<Port, Port>>& operands);
  /// Along coordinates one level below.
  Port repeat(Port what, Port along);
  Port locate(const std::string& tensor, int level, Port crd, Port below);
  Port value(const std::string& tensor, Port ref);
  Port apply(Fn fn, const std::vector<Port>& operands);
  Port applyScalar(Fn fn, Port operand, double scalar, bool scalarFirst);
  Port selectScalar(Port condition, Port then, double otherwise);
  Port reduce(Fold fold, Port val);
  /// crds outermost first; the first is folded. The other crds, then the value.
  std::vector<Port> spacc(Fold fold, const std::vector<Port>& crds, Port val);
  Fiber drop(Port outer, Port inner);
  std::vector<Port> fork(Port what, int lanes);
  Port join(const std::vector<Port>& lanes, int depth);
  void write(const std::string& tensor, int level, Port what);

 private:
  Cell cell(CellKind kind, std::vector<Port> inputs) const;
  std::vector<Port> add(Cell cell);
  Port besides(Port crd);

  Table& table_;
  int row_ = 0, column_ = 0;
  std::string rule_;
};

}  // namespace tokamak::sparse
