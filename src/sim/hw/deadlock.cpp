#include "sim/hw/deadlock.h"

#include <fmt/format.h>

#include <unordered_map>

namespace tokamak::sim {

using namespace stream;

namespace {

/// What a node that cannot move waits for.
struct Wait {
  size_t on = 0;  // the node that could help
  StreamId stream;
  bool isFull = false;  // room in it; else a token
  size_t port = 0;      // an output's where it is full, else an input's
  uint64_t token = 0;   // the position in the stream of the one that cannot be put, or has not come
};

std::optional<Wait> waitOf(Network<Hw>& network, const std::vector<Links>& links, size_t n) {
  const HwNode::Site& site = network.nodes()[n]->site();
  const Node& node = network.graph().node(site.id);
  for (size_t i = 0; i < site.inputs.size(); ++i)
    if (site.inputs[i]->size() == 0)
      return Wait{links[n].producers[i], node.inputs[i], false, i, site.inputs[i]->put()};
  size_t reader = 0;
  for (size_t i = 0; i < site.outputs.size(); ++i) {
    if (!node.outputs[i]) continue;
    if (site.outputs[i]->room() < 2)
      return Wait{links[n].consumers[reader], node.outputs[i], true, i, site.outputs[i]->put()};
    ++reader;
  }
  for (size_t i = 0; i < site.inputs.size(); ++i)  // it wants to see the token behind the head
    if (site.inputs[i]->size() == 1)
      return Wait{links[n].producers[i], node.inputs[i], false, i, site.inputs[i]->put()};
  return std::nullopt;
}

}  // namespace

std::vector<Links> linksOf(Network<Hw>& network) {
  std::unordered_map<const Fifo*, size_t> producers;
  for (size_t n = 0; n < network.nodes().size(); ++n)
    for (const Fifo* fifo : network.nodes()[n]->site().outputs) producers.emplace(fifo, n);
  std::unordered_map<const Fifo*, size_t> readers;
  std::vector<Links> links(network.nodes().size());
  for (size_t n = 0; n < links.size(); ++n)
    for (const Fifo* fifo : network.nodes()[n]->site().inputs) {
      links[n].producers.push_back(producers.at(fifo));
      readers.emplace(fifo, n);
    }
  for (size_t n = 0; n < links.size(); ++n)
    for (const Fifo* fifo : network.nodes()[n]->site().outputs)
      if (const auto reader = readers.find(fifo); reader != readers.end()) links[n].consumers.push_back(reader->second);
  return links;
}

Diagnostic explainDeadlock(Network<Hw>& network, const std::vector<Links>& links) {
  size_t at = 0;
  while (at < links.size() && network.nodes()[at]->done()) ++at;
  std::vector<bool> seen(links.size(), false);
  while (!seen[at]) {  // follow the waits until they come back
    seen[at] = true;
    const auto wait = waitOf(network, links, at);
    if (!wait || network.nodes()[wait->on]->done()) break;
    at = wait->on;
  }
  std::string text;
  std::vector<std::string> full;
  for (size_t n = at;;) {
    const auto wait = waitOf(network, links, n);
    if (!wait) break;
    const std::string& name = network.graph().stream(wait->stream).name;
    text += fmt::format("\n  {}: {} {}, token {}: waits for {} %{} ({})",
                        describe(network.graph(), network.nodes()[n]->site().id), wait->isFull ? "output" : "input",
                        wait->port, wait->token, wait->isFull ? "room in" : "a token of", name,
                        fmt::format("{} {}", wait->isFull ? "taken by" : "put by",
                                    describe(network.graph(), network.nodes()[wait->on]->site().id)));
    if (wait->isFull) full.push_back("%" + name);
    n = wait->on;
    if (n == at || network.nodes()[n]->done()) break;
  }
  return {"T0981",
          {},
          fmt::format("@{}: the nodes wait for each other:{}", network.graph().name, text),
          full.empty() ? "a stream ends before the others that meet it"
                       : fmt::format("make {} deeper: \"fifo_depths\" of the configuration", full.front())};
}

}  // namespace tokamak::sim
