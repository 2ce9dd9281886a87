#include "runtime/cuda/launch_graphs.h"

#include <algorithm>

namespace tokamak::runtime::cuda {

namespace {

constexpr size_t kMaxRuns = 4;  // graphs of one place

/// A launch as the driver takes it for a node. Points at itself and at the launch's words: not to be moved.
struct NodeOf {
  NodeOf(FunctionHandle function, const LaunchShape& shape, std::span<int64_t> words)
      : bytes(words.size_bytes()),
        extra{kParameterBuffer, words.data(), kParameterBufferSize, &bytes, kParameterEnd},
        parameters{function,
                   word(shape.grid[0]),
                   word(shape.grid[1]),
                   word(shape.grid[2]),
                   word(shape.block[0]),
                   word(shape.block[1]),
                   word(shape.block[2]),
                   word(shape.sharedBytes),
                   nullptr,
                   extra} {}
  NodeOf(const NodeOf&) = delete;
  NodeOf& operator=(const NodeOf&) = delete;

  static unsigned word(int64_t value) { return static_cast<unsigned>(value); }

  size_t bytes;
  void* extra[5];
  KernelNodeParameters parameters;
};

}  // namespace

LaunchGraphs::LaunchGraphs(std::shared_ptr<const Device> device, size_t places)
    : device_(std::move(device)), places_(places) {}

LaunchGraphs::~LaunchGraphs() {
  const Device::Current current(*device_);
  for (const auto& runs : places_)
    for (const Run& run : runs)
      if (run.exec) device_->api().destroyGraphExec(run.exec);
}

Result<> LaunchGraphs::launch(size_t place, std::span<const Launch> launches, Stream stream) {
  if (asGraph(place, launches, stream)) return Unit{};
  for (const Launch& l : launches)
    TK_RETURN_IF_ERROR(l.code->launch(l.variant, l.shape, l.words.data(), l.words.size(), stream));
  return Unit{};
}

/// Whether the launches are on the stream. Where a graph is refused the launches are made singly, which either works or
/// says what is wrong with which of them.
bool LaunchGraphs::asGraph(size_t place, std::span<const Launch> launches, Stream stream) {
  int capturing = 0;
  if (device_->api().isCapturing(stream, &capturing) != 0 || capturing != 0) return false;
  const std::lock_guard lock(mutex_);
  Run* run = runAt(place, launches.size(), stream);
  if (!run || run->refused) return false;
  run->refused = !(run->exec ? update(*run, launches) : make(*run, launches)) ||
                 device_->api().launchGraph(run->exec, stream) != 0;
  return !run->refused;
}

/// The run's graph, made or yet to be made; null where it has not been seen before or there are too many already.
LaunchGraphs::Run* LaunchGraphs::runAt(size_t place, size_t launches, Stream stream) {
  std::vector<Run>& runs = places_[place];
  const auto found = std::find_if(runs.begin(), runs.end(),
                                  [&](const Run& run) { return run.stream == stream && run.nodes.size() == launches; });
  if (found != runs.end()) return &*found;
  if (runs.size() < kMaxRuns) runs.push_back({stream, std::vector<Node>(launches), nullptr, false});
  return nullptr;
}

bool LaunchGraphs::make(Run& run, std::span<const Launch> launches) const {
  const Api& api = device_->api();
  Graph graph = nullptr;
  if (api.createGraph(&graph, 0) != 0) return false;
  const auto destroy = [&](Graph g) { api.destroyGraph(g); };
  const std::unique_ptr<GraphHandle, decltype(destroy)> owner(graph, destroy);
  for (size_t i = 0; i < launches.size(); ++i) {
    const Launch& l = launches[i];
    const auto function = l.code->function(l.variant, l.shape);
    if (!function) return false;
    const NodeOf as(*function, l.shape, l.words);
    Node& node = run.nodes[i];
    const GraphNode* before = i == 0 ? nullptr : &run.nodes[i - 1].node;
    if (api.addKernelNode(&node.node, graph, before, before ? 1 : 0, &as.parameters) != 0) return false;
    node.function = *function, node.shape = l.shape, node.words.assign(l.words.begin(), l.words.end());
  }
  return api.instantiate(&run.exec, graph, 0) == 0;
}

/// Launches that wait on a stream keep the arguments they were given.
bool LaunchGraphs::update(Run& run, std::span<const Launch> launches) const {
  for (size_t i = 0; i < launches.size(); ++i) {
    const Launch& l = launches[i];
    Node& node = run.nodes[i];
    const auto function = l.code->function(l.variant, l.shape);
    if (!function) return false;
    if (node.function == *function && node.shape == l.shape && std::ranges::equal(node.words, l.words)) continue;
    const NodeOf as(*function, l.shape, l.words);
    if (device_->api().setKernelNode(run.exec, node.node, &as.parameters) != 0) return false;
    node.function = *function, node.shape = l.shape, node.words.assign(l.words.begin(), l.words.end());
  }
  return true;
}

}  // namespace tokamak::runtime::cuda
