#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/binding.h"

namespace tokamak::runtime {

/// A flat program with the bindings that calls have wanted so far: the part of an executable that is the same on every
/// device. Safe from many threads.
class BoundProgram {
 public:
  /// T0603 on a program that breaks its rules.
  static Result<BoundProgram> create(Program program, int cachedBindings);
  ~BoundProgram();
  BoundProgram(BoundProgram&&) noexcept;

  const FlatProgram& flat() const { return *flat_; }

  /// The binding for these inputs, checked; `keep` owns it where the program does not.
  Result<const Binding*> bind(std::span<const TensorRef> inputs, const DimBindings* dims,
                              std::shared_ptr<const Binding>& keep) const;
  Result<std::shared_ptr<const Binding>> bind(const DimBindings& dims) const;

  /// Count, dtypes, shapes and density of a caller's outputs; T0316.
  Result<> checkOutputs(std::span<const TensorRef> outputs, const Binding& binding) const;
  std::vector<std::vector<int64_t>> outputShapes(const Binding& binding) const;

 private:
  class Cache;
  BoundProgram(FlatProgram flat, int cachedBindings);
  Result<> bindSymbols(std::span<const TensorRef> inputs, const DimBindings* dims,
                       std::shared_ptr<const Binding>& keep) const;

  std::unique_ptr<const FlatProgram> flat_;
  std::shared_ptr<const Binding> fixed_;  // of a program without symbols
  std::unique_ptr<Cache> cache_;
};

}  // namespace tokamak::runtime
