#include "runtime/cuda/recording.h"

#include <fmt/format.h>

#include <algorithm>

namespace tokamak::runtime::cuda {

Result<std::shared_ptr<const Recording>> Recording::capture(
    const std::shared_ptr<const Device>& device, const std::string& name,
    const std::function<Result<std::vector<Block>>(Stream)>& work) {
  const Driver& driver = device->driver();
  const Api& api = driver.api;
  const std::string doing = fmt::format("capture of {} on cuda:{}", name, device->ordinal());
  std::shared_ptr<Recording> out(new Recording(device, name));
  // A stream of its own: what others put on the caller's meanwhile is none of the graph's.
  Stream stream = nullptr;
  TK_RETURN_IF_ERROR(driver.check(api.createStream(&stream, kStreamNonBlocking), doing));
  const auto destroy = [&](Stream s) { api.destroyStream(s); };
  const std::unique_ptr<StreamHandle, decltype(destroy)> owner(stream, destroy);
  TK_RETURN_IF_ERROR(driver.check(api.beginCapture(stream, kCaptureThreadLocal), doing));
  auto memory = work(stream);
  Graph graph = nullptr;
  const Status ended = api.endCapture(stream, &graph);  // also after a failure, or the thread stays in capture
  const auto destroyGraph = [&](Graph g) { api.destroyGraph(g); };
  const std::unique_ptr<GraphHandle, decltype(destroyGraph)> graphOwner(graph, destroyGraph);
  if (!memory) return memory.error();
  TK_RETURN_IF_ERROR(driver.check(ended, doing));
  TK_RETURN_IF_ERROR(driver.check(api.instantiate(&out->exec_, graph, 0), doing));
  out->memory_ = std::move(*memory);
  return std::shared_ptr<const Recording>(std::move(out));
}

Recording::~Recording() {
  const Device::Current current(*device_);
  if (exec_) device_->api().destroyGraphExec(exec_);
}

Result<> Recording::replay(Stream stream) const {
  const Device::Current current(*device_);
  return device_->driver().check(device_->api().launchGraph(exec_, stream),
                                 fmt::format("replay of {} on cuda:{}", name_, device_->ordinal()));
}

Result<> Replayer::run(std::span<const TensorRef> inputs, std::span<const TensorRef> outputs,
                       const RunOptions& options) {
  std::vector<int64_t> key;
  for (const auto& tensors : {inputs, outputs})
    for (const TensorRef& tensor : tensors) {
      key.push_back(reinterpret_cast<int64_t>(tensor.data));
      key.push_back(static_cast<int64_t>(tensor.dtype));
      key.insert(key.end(), tensor.shape, tensor.shape + tensor.rank);
    }
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
  if (found != entries_.end()) {
    std::rotate(found, found + 1, entries_.end());
  } else {
    TK_TRY(auto recording, executable_->record(inputs, outputs, options));
    if (entries_.size() >= kept_) entries_.erase(entries_.begin());
    entries_.push_back({std::move(key), std::move(recording)});
  }
  return entries_.back().recording->replay(options.stream);
}

}  // namespace tokamak::runtime::cuda
