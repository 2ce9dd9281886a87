#pragma once

#include <map>
#include <memory>
#include <string>

#include "sparse/cost/estimate.h"
#include "sparse/einsum/evaluate.h"
#include "sparse/table/table.h"

namespace tokamak::sparse {

/// What tables read, as the counting cost model wants it: which entries are stored, in the format of the table. Inputs
/// come from the data. What one region hands on to another does not exist yet: it stores what a walked operand stores
/// where the table says so (a mask, say), and is spread evenly elsewhere. Each structure is made once.
class Structures {
 public:
  explicit Structures(const Bindings& data) : data_(data) {}

  /// Whether counting on these data is quick enough to be done in every compilation.
  static bool areQuick(const Bindings& data);

  /// Null: too large to be made for a guess.
  const Tensor* of(const TableTensor& wanted);
  bool has(const Table& table);

  /// A region writes the tensor `name` of this shape, which the program stores as `stored`, with so many children a
  /// position of each level.
  void keep(const std::string& name, const Table& table, const std::vector<int64_t>& shape, const Format& stored,
            const LevelStatistics& levels);

 private:
  std::shared_ptr<const Tensor> make(const TableTensor& wanted);
  std::shared_ptr<Tensor> walked(const std::string& name, const Table& table, const Format& stored);

  const Bindings& data_;
  std::map<std::string, std::shared_ptr<const Tensor>> handedOn_;
  std::map<std::string, std::map<std::string, std::shared_ptr<const Tensor>>> made_;  // by tensor and format
};

}  // namespace tokamak::sparse
