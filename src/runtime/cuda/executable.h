#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/cuda/allocator.h"
#include "runtime/executable.h"

namespace tokamak::runtime::cuda {

/// A dense tensor on a device.
class Tensor {
 public:
  Tensor() = default;
  Tensor(Block block, DType dtype, std::vector<int64_t> shape)
      : block_(std::move(block)), dtype_(dtype), shape_(std::move(shape)) {}
  void* data() const { return block_.data(); }
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  TensorRef ref() const { return {block_.data(), dtype_, static_cast<int>(shape_.size()), shape_.data(), nullptr}; }
  int64_t bytes() const { return ref().bytes(); }

 private:
  Block block_;
  DType dtype_ = DType::f32;
  std::vector<int64_t> shape_;
};

struct ExecutableOptions {
  std::shared_ptr<const Device> device;  // required
  std::shared_ptr<Allocator> allocator;  // null: CUDA's own pool of the device
  int cachedBindings = 64;
};

struct RunOptions {
  Stream stream = nullptr;               // null: the default stream
  std::shared_ptr<Allocator> allocator;  // of outputs and temporaries; null: the executable's
  Profile* profile = nullptr;            // measured by events; the call then waits for the device
  const DimBindings* dims = nullptr;     // as runtime::RunOptions has them
  bool freshOutputs = false;             // the caller's outputs overlap nothing: they were allocated for this call
};

class Recording;

/// A program of launches and calls ready to run on one device. Immutable: any number of threads may run it at once,
/// each call with its own arena.
///
/// Tensors lie on the device; work is put on the caller's stream and the call returns without waiting. What is checked,
/// and with which codes, is as runtime::Executable has it; CUDA's own failures are T0611, T0612 and name the kernel and
/// its launch. Inputs are dense (T0615 otherwise).
class Executable {
 public:
  static Result<std::shared_ptr<const Executable>> create(Program program, ExecutableOptions options);
  ~Executable();

  const Program& program() const;
  const Device& device() const;
  int inputCount() const;
  int outputCount() const;

  /// Outputs from the allocator.
  Result<std::vector<Tensor>> run(std::span<const TensorRef> inputs, const RunOptions& options = {}) const;
  /// Outputs into the caller's tensors, which have the right dtype and shape and are dense.
  Result<> run(std::span<const TensorRef> inputs, std::span<const TensorRef> outputs,
               const RunOptions& options = {}) const;

  /// The same call as a CUDA graph, for tensors at these addresses; nothing runs yet. No profile is taken.
  Result<std::shared_ptr<const Recording>> record(std::span<const TensorRef> inputs, std::span<const TensorRef> outputs,
                                                  const RunOptions& options = {}) const;

  Result<std::vector<std::vector<int64_t>>> outputShapes(std::span<const TensorRef> inputs,
                                                         const DimBindings* dims = nullptr) const;
  Result<MemoryReport> memory(std::span<const TensorRef> inputs, const DimBindings* dims = nullptr) const;

 private:
  struct State;
  class Invocation;
  explicit Executable(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Copies operand 0 to operand 1 on the device; dims: [bytes].
std::shared_ptr<const Call> makeCopyCall(std::shared_ptr<const Device> device);

}  // namespace tokamak::runtime::cuda
