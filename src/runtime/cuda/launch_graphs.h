#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/cuda/kernel_code.h"

namespace tokamak::runtime::cuda {

/// One launch with all that it needs. `words` are its arguments, as KernelCode::launch takes them.
struct Launch {
  const KernelCode* code = nullptr;
  Variant variant;
  LaunchShape shape;
  std::span<int64_t> words;
};

/// Puts runs of launches on a stream, each run by one launch of a CUDA graph, whose nodes are given new arguments where
/// those have changed: that costs the host half of what a single launch does, and hardly more for sixteen.
///
/// A run is known by its place, the number of its first step. When it comes a second time its graph is made, one for
/// each stream, since launches of one graph wait for each other; beyond a few streams, while the stream is captured,
/// and whenever a graph is refused, the launches go one by one. Safe from many threads.
class LaunchGraphs {
 public:
  LaunchGraphs(std::shared_ptr<const Device> device, size_t places);
  ~LaunchGraphs();
  LaunchGraphs(const LaunchGraphs&) = delete;
  LaunchGraphs& operator=(const LaunchGraphs&) = delete;

  /// The device's context is current. Failures name a kernel and its launch.
  Result<> launch(size_t place, std::span<const Launch> launches, Stream stream);

 private:
  struct Node {
    GraphNode node = nullptr;
    FunctionHandle function = nullptr;
    LaunchShape shape;
    std::vector<int64_t> words;
  };
  struct Run {
    Stream stream = nullptr;
    std::vector<Node> nodes;
    GraphExec exec = nullptr;  // null: seen once
    bool refused = false;
  };

  bool asGraph(size_t place, std::span<const Launch> launches, Stream stream);
  Run* runAt(size_t place, size_t launches, Stream stream);
  bool make(Run& run, std::span<const Launch> launches) const;
  bool update(Run& run, std::span<const Launch> launches) const;

  std::shared_ptr<const Device> device_;
  std::mutex mutex_;
  std::vector<std::vector<Run>> places_;
};

}  // namespace tokamak::runtime::cuda
