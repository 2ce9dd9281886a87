#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "sparse/einsum/evaluate.h"
#include "sparse/stream/run/data.h"
#include "sparse/table/table.h"

namespace tokamak::search {

/// Every tensor of a program, inputs and results, in the formats in which tables read them. Conversions are made once
/// and shared; safe to use from many threads.
class Data {
 public:
  explicit Data(sparse::Bindings tensors) : tensors_(std::move(tensors)) {}

  /// What a table reads as one of its tensors; it may be one of these, and lives as long.
  std::shared_ptr<const sparse::Tensor> tensor(const sparse::TableTensor& wanted) const;
  /// All that a table reads. `keep` holds what the views point to.
  stream::Inputs views(const sparse::Table& table, std::vector<std::shared_ptr<const sparse::Tensor>>& keep) const;
  const sparse::Bindings& tensors() const { return tensors_; }
  /// Names the stored structure of a tensor: equal for equal levels.
  uint64_t digest(const std::string& name) const;
  /// Of everything that a table reads, in its order and as it reads it.
  uint64_t digest(const sparse::Table& table) const;

 private:
  sparse::Bindings tensors_;
  mutable std::mutex lock_;
  mutable std::map<std::string, std::shared_ptr<const sparse::Tensor>> converted_;
  mutable std::map<std::string, uint64_t> digests_;
};

}  // namespace tokamak::search
