#pragma once

#include <span>
#include <vector>

#include "runtime/bound_program.h"
#include "runtime/cuda/executable.h"
#include "runtime/cuda/launch_graphs.h"

namespace tokamak::runtime::cuda {

/// What an executable is made of.
struct Executable::State {
  BoundProgram bound;
  ExecutableOptions options;
  Block constants;                   // of all, one after another
  std::vector<void*> constantBases;  // into it
  std::unique_ptr<LaunchGraphs> graphs;

  const FlatProgram& flat() const { return bound.flat(); }
  const Driver& driver() const { return options.device->driver(); }
  Result<> uploadConstants();
};

/// One call: the table of bases, the operands' addresses made from them, and the memory both point into.
class Executable::Invocation {
 public:
  Invocation(const State& state, const Binding& binding, const RunOptions& options)
      : state_(state),
        flat_(state.flat()),
        binding_(binding),
        options_(options),
        allocator_(options.allocator ? options.allocator : state.options.allocator) {}

  Result<> reserve();
  Result<> setInputs(std::span<const TensorRef> inputs);
  Result<> setOutputs(std::span<const TensorRef> inputs, std::span<const TensorRef> outputs);
  Result<std::vector<Tensor>> makeOutputs();
  /// Puts the steps, and the copies of what was written elsewhere to the caller's outputs, on `stream`.
  Result<> execute(std::span<const TensorRef> outputs, Stream stream);
  /// Loads what `execute` will launch.
  Result<> prepare();
  /// The memory that the steps use, for whoever runs them again.
  std::vector<Block> takeMemory();

 private:
  void placeOperands();
  Variant variantOf(const FlatStep& step) const;
  Launch launchOf(const FlatStep& step, int64_t* words) const;
  Result<> launchFrom(size_t& number, Stream stream) const;
  Result<> call(size_t number, const FlatStep& step, Stream stream) const;
  Result<> measure(Stream stream) const;
  Result<> deliver(std::span<const TensorRef> outputs, Stream stream) const;
  Result<Block> block(int64_t bytes) const {
    return Block::make(state_.options.device, allocator_, bytes, options_.stream);
  }
  void** inputBases() { return bases_.data() + 1; }
  void** outputBases() { return bases_.data() + 1 + flat_.inputCount(); }
  void* const* outputBases() const { return bases_.data() + 1 + flat_.inputCount(); }

  const State& state_;
  const FlatProgram& flat_;
  const Binding& binding_;
  const RunOptions& options_;
  std::shared_ptr<Allocator> allocator_;
  std::vector<void*> bases_, operands_;
  Block arena_, stagedOutputs_;
};

}  // namespace tokamak::runtime::cuda
