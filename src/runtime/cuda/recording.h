#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/cuda/executable.h"

namespace tokamak::runtime::cuda {

/// A call captured as a CUDA graph: all its work is put on a stream by one launch. It owns the memory of its
/// temporaries, so that replays follow one another; the tensors it was captured with must live as long as it is
/// replayed.
class Recording {
 public:
  /// Captures what `work` puts on the stream it is given; what it returns is kept with the graph. The device's context
  /// is current.
  static Result<std::shared_ptr<const Recording>> capture(
      const std::shared_ptr<const Device>& device, const std::string& name,
      const std::function<Result<std::vector<Block>>(Stream)>& work);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  Result<> replay(Stream stream) const;

 private:
  Recording(std::shared_ptr<const Device> device, std::string name)
      : device_(std::move(device)), name_(std::move(name)) {}
  std::shared_ptr<const Device> device_;
  std::string name_;
  GraphExec exec_ = nullptr;
  std::vector<Block> memory_;
};

/// Runs an executable by recordings: one is made when tensors come with addresses or sizes that have not been seen, and
/// replayed when they come again. The last few are kept. One call at a time, on one stream after another.
class Replayer {
 public:
  explicit Replayer(std::shared_ptr<const Executable> executable, size_t kept = 8)
      : executable_(std::move(executable)), kept_(kept) {}

  Result<> run(std::span<const TensorRef> inputs, std::span<const TensorRef> outputs, const RunOptions& options = {});

 private:
  struct Entry {
    std::vector<int64_t> key;  // addresses and extents
    std::shared_ptr<const Recording> recording;
  };
  std::shared_ptr<const Executable> executable_;
  size_t kept_;
  std::mutex mutex_;
  std::vector<Entry> entries_;  // the latest last
};

}  // namespace tokamak::runtime::cuda
