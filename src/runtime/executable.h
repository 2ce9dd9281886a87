#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/memory_pool.h"
#include "runtime/parallel.h"
#include "runtime/program.h"
#include "runtime/tensor.h"

namespace tokamak::runtime {

/// One line a step, in order, appended by every profiled run.
struct Profile {
  struct Entry {
    std::string name;
    int64_t nanoseconds = 0;
    int64_t predictedBytes = 0;
    bool skipped = false;  // all its results are empty
  };
  std::vector<Entry> entries;
};

/// Bytes of temporaries and scratch for one binding of the symbols.
struct MemoryReport {
  int64_t peakBytes = 0;          // of the arena: what one call takes
  int64_t withoutReuseBytes = 0;  // were every temporary its own block
  int64_t outputBytes = 0;
  int64_t constantBytes = 0;
};

struct ExecutableOptions {
  std::shared_ptr<MemoryPool> pool;          // required
  std::shared_ptr<const ParallelHost> host;  // required
  int cachedBindings = 64;                   // how many bindings' memory plans are kept
};

struct RunOptions {
  Profile* profile = nullptr;
  /// Values of symbols that no input's shape determines (others are checked against the inputs).
  const DimBindings* dims = nullptr;
  /// The largest arena so far among programs that run one after another, which then share one block of the pool.
  std::atomic<int64_t>* sharedArena = nullptr;
  /// Of arena, outputs and copies of inputs. Fitted or thrifty: for programs whose outputs live long beside each other,
  /// as those of a training step.
  Growth growth = Growth::free;
  /// Told of each input, by its number, when no step reads it any more. Outputs from the pool are then taken as the
  /// first step comes that needs them, so that what was read may serve them.
  const std::function<void(int)>* finished = nullptr;
};

/// A program ready to run. Immutable: any number of threads may run it at once, each call with its own arena.
///
///   TK_TRY(auto executable, Executable::create(std::move(program), {.pool = pool, .host = host}));
///   TK_TRY(std::vector<Tensor> outputs, executable->run(inputs));
///
/// Symbols take their values from the inputs' shapes; the memory plan of a binding is made once and kept. Inputs may
/// alias each other and have any strides (other than dense ones are copied first). Outputs that the caller supplies may
/// overlap inputs or each other: such a one is written to a temporary first. A step all of whose results are empty is
/// skipped.
///
/// Wrong inputs give T0310 (count), T0311 (dtype), T0312 (rank), T0313 (extent), T0314 (no data), T0315 (a symbol
/// without a value); outputs T0316; too much memory T0601; arithmetic on extents T0602.
class Executable {
 public:
  /// Fails with T0603 on a program that breaks its rules (an index out of range, a temp read before it is written).
  static Result<std::shared_ptr<const Executable>> create(Program program, ExecutableOptions options);
  ~Executable();

  const Program& program() const;
  int inputCount() const;
  int outputCount() const;

  /// Outputs from the pool.
  Result<std::vector<Tensor>> run(std::span<const TensorRef> inputs, const RunOptions& options = {}) const;
  /// Outputs into the caller's tensors, which have the right dtype and shape and are dense. Allocates nothing in steady
  /// state.
  Result<> run(std::span<const TensorRef> inputs, std::span<const TensorRef> outputs,
               const RunOptions& options = {}) const;

  /// The shapes of the outputs for these inputs, whose data is not looked at.
  Result<std::vector<std::vector<int64_t>>> outputShapes(std::span<const TensorRef> inputs,
                                                         const RunOptions& options = {}) const;
  Result<MemoryReport> memory(std::span<const TensorRef> inputs, const RunOptions& options = {}) const;
  /// The same for given symbol values.
  Result<MemoryReport> memory(const DimBindings& dims) const;

 private:
  struct State;
  class Invocation;
  explicit Executable(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tokamak::runtime
